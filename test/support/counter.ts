/** People and devices of a store, for tests of the pages. */

import assert from 'node:assert/strict';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import { openBrowser, type Browser } from './browser.ts';
import { consoleDomain, invite, staffPassword } from './console.ts';
import type { TestResponse, TestService } from './service.ts';

export type Person = {
  readonly role: Role;
  readonly name?: string;
  readonly saleLimit?: string;
  readonly refundLimit?: string;
};

/** Joins a person by a link, as `<name>@flowers.example`. @returns the browser, signed in with a password. */
export async function joinAs(service: TestService, person: Person): Promise<Browser> {
  const { role, name = role } = person;
  const address = `${name}@${consoleDomain}`;
  const browser = openBrowser(service);
  const response = await browser.post(await invite(service, address, role), { password: staffPassword });
  assert.equal(response.status, 303, response.text);
  if (person.saleLimit !== undefined || person.refundLimit !== undefined)
    await service.database.meddle(
      `update staff set sale_limit = ${person.saleLimit ?? 'null'}, refund_limit = ${person.refundLimit ?? 'null'} where email = '${address}'`,
    );
  return browser;
}

/** Enrolls a browser of a manager or an owner, who is signed out. @returns a browser of the device. */
export async function enrollDevice(service: TestService, by: Browser, name = 'Counter'): Promise<Browser> {
  const response = await by.post('/tills', { name });
  assert.equal(response.status, 303, response.text);
  assert.equal(response.headers.get('location'), '/till/pin');
  const device = openBrowser(service);
  device.cookies.set('largesse-till', by.cookies.get('largesse-till') ?? '');
  return device;
}

/** The id of a person on the PIN page. */
export function idOn(page: TestResponse, name: string): string {
  return (
    new RegExp(`value="(\\d+)" required(?: checked)?>${name}`).exec(page.text)?.[1] ?? assert.fail(page.text)
  );
}

export async function enterPin(device: Browser, name: string, pin: string): Promise<TestResponse> {
  return await device.post('/till/pin', { staff: idOn(await device.get('/till/pin'), name), pin });
}

/** The value of a hidden field. */
export function hiddenValue({ text }: TestResponse, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? assert.fail(text);
}
