/** Staff of a test's store, and their browsers. */

import assert from 'node:assert/strict';
import type { Role } from '../../src/domain/staff.ts';
import { openBrowser, type Browser } from './browser.ts';
import { command } from './served.ts';
import { startService, type TestService } from './service.ts';

export const consoleDomain = 'flowers.example';
export const staffPassword = 'correct horse battery';

/** A service with one store and no staff. */
export async function openStoreWithStaff(
  environment: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  return await startService({ stores: [{ domain: consoleDomain, name: 'Flowers' }], environment });
}

/** The path of a new link to join. */
export async function invite(service: TestService, email: string, role: Role): Promise<string> {
  const args = ['staff', 'invite', email, '--role', role, '--json'] as const;
  const { code, output, errors } = await command(service.environment, ...args);
  assert.equal(code, 0, errors);
  return new URL((JSON.parse(output) as { readonly link: string }).link).pathname;
}

/** Invites `<role>@flowers.example`, who sets the password and is signed in. */
export async function join(
  service: TestService,
  role: Role,
  browser: Browser = openBrowser(service),
): Promise<Browser> {
  const path = await invite(service, `${role}@${consoleDomain}`, role);
  const response = await browser.post(path, { password: staffPassword });
  assert.equal(response.status, 303, response.text);
  return browser;
}
