/** Staff of a test's store, and their browsers. */

import assert from 'node:assert/strict';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import { openBrowser, type Browser } from './browser.ts';
import { command } from './served.ts';
import { startService, type TestResponse, type TestService } from './service.ts';

export const consoleDomain = 'flowers.example';
export const staffPassword = 'correct horse battery';

/** A service with one store and no staff. */
export async function openStoreWithStaff(
  environment: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  return await startService({ stores: [{ domain: consoleDomain, name: 'Flowers' }], environment });
}

/** The path of a new link to join. */
export async function invite(
  service: Pick<TestService, 'environment'>,
  email: string,
  role: Role,
): Promise<string> {
  const args = ['staff', 'invite', email, '--role', role, '--json'] as const;
  const { code, output, errors } = await command(service.environment, ...args);
  assert.equal(code, 0, errors);
  return new URL((JSON.parse(output) as { readonly link: string }).link).pathname;
}

/** Invites `<role>@flowers.example`, who sets the password and is signed in. */
export async function join(
  service: Pick<TestService, 'url' | 'environment' | 'request'>,
  role: Role,
  browser: Browser = openBrowser(service),
): Promise<Browser> {
  const path = await invite(service, `${role}@${consoleDomain}`, role);
  const response = await browser.post(path, { password: staffPassword });
  assert.equal(response.status, 303, response.text);
  return browser;
}

/** The forms of a page that are posted: the path, and the hidden fields. */
function formsOf(text: string): readonly { readonly action: string; readonly fields: Map<string, string> }[] {
  return Array.from(
    text.matchAll(/<form\b[^>]*method="post"[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs),
    ([, action = '', content = '']) => ({
      action,
      fields: new Map(
        Array.from(
          content.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g),
          ([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&').replaceAll('&quot;', '"')],
        ),
      ),
    }),
  );
}

/**
 * Requests a page, fills in its form with the action, and submits it.
 * @returns the response, which is usually a redirect.
 */
export async function submitForm(
  browser: Browser,
  path: string,
  { action, fields = {} }: { readonly action?: string; readonly fields?: Readonly<Record<string, string>> },
): Promise<TestResponse> {
  const page = await browser.get(path);
  // Most forms are submitted to the path of their page, with or without its query.
  const actions = action === undefined ? [path, path.replace(/\?.*/, '')] : [action];
  const form = formsOf(page.text).find((each) => actions.includes(each.action));
  assert.ok(form, `${path} (status ${page.status}) has no form with the action ${actions.join(' or ')}`);
  return await browser.post(form.action, { ...Object.fromEntries(form.fields), ...fields });
}
