/** Guessing codes on the page of recipients: chosen codes have budgets, generated codes are always found. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, visitorAt } from '../support/browser.ts';
import { openStaffedShop, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import type { TestResponse } from '../support/service.ts';

const environment = { TRUSTED_PROXIES: '127.0.0.1' };
const asksAddress = /name="email"/;
const unknown = 'zzzzzzzzzzzzzzzz';

type Visitor = (form: Readonly<Record<string, string>>) => Promise<TestResponse>;

/** A visitor of the page with an address of its own. */
function visitor({ service }: StaffedShop, address: string): Visitor {
  const post = visitorAt(service, address);
  return (form) => post('/b', form);
}

/** The body of a page, in which the client's address and the time do not show. */
function shown({ status, text }: TestResponse): object {
  return { status, text };
}

/** A 16-digit code as plastic cards have: every digit is also a symbol of generated codes. */
function plastic(number: number): string {
  return `600649${String(number).padStart(10, '0')}`;
}

test('a client with an exhausted budget finds no plastic card of a range, and still finds a generated code', async () => {
  await using shop = await openStaffedShop({ environment });
  const guesses = 1_500;
  for (let number = 40; number < guesses; number += 70) await shop.issue({ code: plastic(number) });
  const generated = await shop.issue();
  const guesser = visitor(shop, '203.0.113.7');
  let found = 0;
  for (let from = 0; from < guesses; from += 10) {
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, place) => guesser({ code: plastic(from + place) })),
    );
    found += responses.filter(({ status }) => status === 200).length;
    // The limit on requests allows no faster guesses.
    shop.service.clock.advance(1_000);
  }
  assert.equal(found, 0);
  assert.equal((await guesser({ code: generated.code })).status, 200);
  assert.equal((await guesser({ code: plastic(40) })).status, 429);
  assert.equal((await visitor(shop, '198.51.100.7')({ code: plastic(40) })).status, 200);
});

test('600 addresses find no short code after the budget of the store, until the address of the card is given', async () => {
  await using shop = await openStaffedShop({ environment });
  const short = (number: number): string => `rose${String(number).padStart(4, '0')}`;
  for (let number = 120; number < 600; number += 40) await shop.issue({ code: short(number) });
  const people = { email: 'ada@example.com', recipient_email: 'Grace@example.com' };
  await shop.issue({ code: 'tulip-0001', ...people });
  const generated = await shop.issue(people);
  const owner = await shop.as('owner');
  assert.doesNotMatch(textOfPage(await owner.get('/today')), /wrong codes/);
  let found = 0;
  for (let from = 0; from < 600; from += 20) {
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, place) => {
        const number = from + place;
        return visitor(shop, `10.${number >> 8}.${number & 255}.7`)({ code: short(number) });
      }),
    );
    found += responses.filter(({ status }) => status === 200).length;
  }
  assert.equal(found, 0);

  const customer = visitor(shop, '192.0.2.1');
  const missed = await customer({ code: unknown });
  assert.equal(missed.status, 404);
  assert.match(missed.text, asksAddress);
  assert.match((await openBrowser(shop.service).get('/b')).text, asksAddress);
  const wrong = { email: 'eve@example.com' };
  for (const form of [{ code: 'tulip-0001' }, { code: 'tulip-0001', ...wrong }, { code: 'tulip-0001', email: 'x' }])
    assert.deepEqual(shown(await customer(form)), shown(missed));
  for (const email of ['ADA@example.com', ' grace@example.com'])
    assert.match((await customer({ code: 'TULIP 0001', email })).text, /€50\.00/);
  // Without an address, and with a wrong one.
  for (const form of [{}, wrong])
    assert.equal((await customer({ code: generated.code, ...form })).status, 200);
  assert.match(textOfPage(await owner.get('/today')), /wrong codes/);
  // A caller with a credential is not affected.
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code: 'tulip-0001' } })).status, 200);

  shop.service.clock.advance(3_600_000);
  assert.doesNotMatch((await openBrowser(shop.service).get('/b')).text, asksAddress);
  assert.equal((await customer({ code: 'tulip-0001' })).status, 200);
}); // prettier-ignore

test('a card that was found with its address is shown in another language with both', async () => {
  await using shop = await openStaffedShop({ environment, store: { lookupFailuresPerHour: 1 } });
  await shop.issue({ code: 'tulip-0001', recipient_email: 'grace@example.com' });
  for (let number = 0; number < 5; number += 1) await visitor(shop, `10.0.${number}.1`)({ code: unknown });
  const customer = visitor(shop, '192.0.2.1');
  assert.equal((await customer({ code: 'tulip-0001' })).status, 404);
  const { text } = await customer({ code: 'tulip-0001', email: 'grace@example.com' });
  assert.match(text, /type="hidden" name="code" value="tulip0001"/);
  assert.match(text, /type="hidden" name="email" value="grace@example\.com"/);
});

test('wrong addresses use up the budget of the client, and asking for the address does not', async () => {
  await using shop = await openStaffedShop({ environment, store: { lookupFailuresPerHour: 2 } });
  const own = { code: 'tulip-0001', email: 'grace@example.com' };
  await shop.issue({ code: own.code, recipient_email: own.email });
  for (let number = 0; number < 10; number += 1) await visitor(shop, `10.0.${number}.1`)({ code: unknown });
  const customer = visitor(shop, '192.0.2.1');
  for (let count = 0; count < 5; count += 1) assert.equal((await customer({ code: own.code })).status, 404);
  for (const email of ['eve@example.com', 'mallory@example.com'])
    assert.equal((await customer({ ...own, email })).status, 404);
  assert.equal((await customer(own)).status, 429);
  assert.equal((await visitor(shop, '192.0.2.2')(own)).status, 200);
});

test('pages without a session are limited per client and network, and people who are signed in are not', async () => {
  await using shop = await openStaffedShop({ environment });
  const owner = await shop.as('owner');
  // The budgets do not refill during the requests, however slow the machine is.
  shop.service.clock.stop();
  const limited = '203.0.113.7';
  /** @returns how many of the requests were rejected. */
  const ask = async (address: string, count: number): Promise<number> => {
    const browser = openBrowser(shop.service);
    const responses = await Promise.all(
      Array.from({ length: count }, () =>
        browser.request('/sign-in', { headers: { 'x-forwarded-for': address } }),
      ),
    );
    return responses.filter(({ status }) => status === 429).length;
  };
  const askAll = async (addresses: readonly string[]): Promise<number> => {
    const rejected = await Promise.all(addresses.map((address) => ask(address, 30)));
    return rejected.reduce((sum, each) => sum + each, 0);
  };
  assert.equal(await ask(limited, 100), 0);
  assert.ok((await ask(limited, 300)) > 100);
  assert.equal(await ask('203.0.113.8', 1), 0);
  const today = await owner.request('/today', { headers: { 'x-forwarded-for': limited } });
  assert.equal(today.status, 200);
  // Each of them sends few requests.
  const hosts = Array.from({ length: 40 }, (_, host) => `198.51.100.${host}`);
  assert.ok((await askAll(hosts)) > 100);
  assert.equal(await ask('198.51.101.1', 1), 0, 'another network');
  // One customer of a provider can have a /48, which has 65,536 networks of the size that clients have.
  const subnets = Array.from({ length: 40 }, (_, subnet) => `2001:db8:1:${subnet.toString(16)}::1`);
  assert.ok((await askAll(subnets)) > 100);
  assert.equal(await ask('2001:db8:2::1', 1), 0, 'another network');
  shop.service.clock.advance(10_000);
  assert.equal(await ask(limited, 1), 0);
});
