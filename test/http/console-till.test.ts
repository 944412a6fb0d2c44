/** The till: a card is found, and redeemed once, whatever happens to the request. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openBrowser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff, staffPassword } from '../support/console.ts';
import { cardIssuer, findCard, locationOf, plainText, redeem } from '../support/till.ts';

const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const issue = await cardIssuer(service);
const cashier = await join(service, 'cashier');
const manager = await join(service, 'manager');

/** The path of the result. */
const resultPath = /^\/till\/redeemed\/([\w-]{22})$/;

test('a scanned code leads to the amount page, and the amount to the result', async () => {
  const card = await issue({ initial_value: '47.00', recipient_name: 'Grace' });
  const found = await findCard(cashier, card.code);
  assert.match(found.path, new RegExp(`^/till/card/${card.id}\\?k=[\\w-]{22}$`));
  assert.match(plainText(found.page), /Grace.*\$47\.00/);
  const path = locationOf(await redeem(cashier, found, { amount: '24.50', reference: 'Receipt 1017' }));
  assert.match(path, resultPath);
  const result = await cashier.get(path);
  assert.equal(result.status, 200);
  assert.match(plainText(result), /\$ ?24\.50 redeemed from •••• \w{4} \$22\.50 left for Grace/);
  assert.match(result.text, /href="\/till\/receipts\/\d{16}"/);
  assert.equal(await card.balance(), '22.50');
  assert.match((await cashier.get(path)).text, /24\.50/, 'a reload shows the same');
  assert.equal(await card.balance(), '22.50');
});

test('the ledger and the audit log have the person', async () => {
  const card = await issue({ initial_value: '10' });
  await redeem(cashier, await findCard(cashier, card.code), { amount: '4' });
  const [entry] = await service.query(
    `select actor, reference from transfers where kind = 'debit' order by id desc limit 1`,
  );
  assert.match(String(entry?.['actor']), /^staff:\d+$/);
  const [action] = await service.query(
    `select staff_id, details from staff_actions where action = 'card-redeemed' order by id desc limit 1`,
  );
  assert.equal(`staff:${String(action?.['staff_id'])}`, entry?.['actor']);
  assert.equal((JSON.parse(String(action?.['details'])) as { readonly amount: string }).amount, '4.00');
});

test('a code is found in any grouping and case, and with the letters that look like digits', async (t) => {
  const card = await issue({ initial_value: '10', code: 'ab10cdef20gh' });
  for (const typed of [
    'AB10CDEF20GH',
    'ab10 cdef 20gh',
    'AB10-CDEF-20GH',
    'AB10.CDEF.20GH',
    ' AB10–CDEF–20GH\r\n',
    'ABlOCDEF2OGH',
  ])
    await t.test(typed.trim(), async () => {
      assert.match(
        locationOf(await cashier.post('/till/find', { code: typed })),
        new RegExp(`/${card.id}\\?`),
      );
    });
});

test('what cannot be a code is rejected, and no page repeats a typed code', async () => {
  for (const code of [
    '',
    'abc',
    'ab'.repeat(20),
    'https://example.com/b/card#x',
    'kürzer',
    'x'.repeat(5_000),
  ]) {
    const { status, text } = await cashier.post('/till/find', { code });
    assert.equal(status, 422, code);
    assert.match(text, /This is not the code of a card/);
  }
  const unknown = await cashier.post('/till/find', { code: 'ZZZZ ZZZZ ZZZZ ZZ34' });
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /ends with zz34/);
  assert.doesNotMatch(unknown.text, /zzzz/i);
});

test('a scanner that types for another keyboard finds the card, and the till says so once a day', async () => {
  const { code } = await issue({ initial_value: '10', code: 'qpwx-00yz-7741' });
  const notice = /Your scanner types for another keyboard/;
  await findCard(cashier, code);
  assert.doesNotMatch((await cashier.get('/till')).text, notice, 'the code was given exactly');
  await findCard(cashier, code.replaceAll('y', 'Y').replaceAll('z', 'y').replaceAll('Y', 'z'));
  const idle = await cashier.get('/till');
  assert.match(plainText(idle), /Set the scanner to the German keyboard , so that every program reads/);
  assert.doesNotMatch((await cashier.get('/till')).text, notice);
  await findCard(cashier, code.replaceAll('y', 'Y').replaceAll('z', 'y').replaceAll('Y', 'z'));
  assert.doesNotMatch((await cashier.get('/till')).text, notice, 'it appears once a day');
});

test('staff with the code of a card that cannot be redeemed see why, the amount and what to do', async (t) => {
  const [expired, disabled, empty] = [
    await issue({ initial_value: '25' }),
    await issue({ initial_value: '10' }),
    await issue({ initial_value: '9' }),
  ];
  await expired.change({ expires_on: '2020-01-31' });
  await disabled.change({ disable: true });
  await redeem(cashier, await findCard(cashier, empty.code), { choice: '9.00' });
  const cases = [
    {
      card: expired,
      shown: /Expired on January 31, 2020 •••• \w{4} · \$25\.00 was left · nothing was redeemed/,
    },
    { card: disabled, shown: /Disabled on \w+ \d+, \d{4} •••• \w{4} · by token “test” · \$10\.00 is on it/ },
    { card: empty, shown: /Used up: \$0\.00 is left •••• \w{4} · last \$9\.00 on \w+ \d+, \d{4}/ },
  ];
  for (const { card, shown } of cases)
    for (const browser of [cashier, manager])
      await t.test(String(shown), async () => {
        const { page } = await findCard(browser, card.code);
        const text = plainText(page);
        assert.match(text, shown);
        assert.match(text, /Say to the customer “.+” What you can do/);
        assert.doesNotMatch(
          page.text,
          /id="amount"|class="gift"/,
          'it does not look like a card that can be used',
        );
      });
  const extend = new RegExp(`href="/cards/${expired.id}/edit"`);
  assert.match((await findCard(manager, expired.code)).page.text, extend);
  assert.doesNotMatch((await findCard(cashier, expired.code)).page.text, extend);
});

test('a code that was replaced is not an unknown one', async () => {
  const card = await issue({ initial_value: '10', recipient_email: 'grace@example.com' });
  const token = await service.token(consoleDomain);
  await service.request(`/gift_card/${card.id}/rotate_code`, { method: 'POST', token });
  const { status, text } = await cashier.post('/till/find', { code: card.code });
  assert.equal(status, 404);
  assert.match(text, /was replaced by a new one/);
});

test('of a code and what it can have been misread from, the usable card is found', async () => {
  const expired = await issue({ initial_value: '10', code: 'ab10cdef30gh' });
  await expired.change({ expires_on: '2020-01-01' });
  const usable = await issue({ initial_value: '10', code: 'abl0cdef30gh' });
  assert.match((await findCard(cashier, 'ABl0CDEF30GH')).path, new RegExp(`/${usable.id}\\?`));
});

test('the same form redeems once: double submit, reload and Back show the first result', async () => {
  const card = await issue({ initial_value: '47.00' });
  const found = await findCard(cashier, card.code);
  const paths = await Promise.all(
    Array.from({ length: 8 }, async () => locationOf(await redeem(cashier, found, { amount: '10' }))),
  );
  assert.equal(new Set(paths).size, 1);
  assert.equal(await card.balance(), '37.00');
  assert.equal(locationOf(await redeem(cashier, found, { amount: '10' })), paths[0]);
  assert.equal(locationOf(await cashier.get(found.path)), paths[0], 'Back leads to the result');
  assert.equal(await card.balance(), '37.00');
  assert.deepEqual(await card.entries(), ['issue', 'debit']);
});

test('a double submit of all that a card has shows its result twice', async () => {
  for (let round = 0; round < 5; round += 1) {
    const card = await issue({ initial_value: '47.00' });
    const found = await findCard(cashier, card.code);
    const paths = await Promise.all(
      Array.from({ length: 4 }, async () => locationOf(await redeem(cashier, found, { choice: '47.00' }))),
    );
    assert.deepEqual(new Set(paths), new Set([`/till/redeemed/${found.key}`]));
    assert.deepEqual(await card.entries(), ['issue', 'debit']);
  }
});

test('a second submission with another amount shows the first result, and says so', async () => {
  const card = await issue({ initial_value: '47.00' });
  const found = await findCard(cashier, card.code);
  await redeem(cashier, found, { amount: '10' });
  const path = locationOf(await redeem(cashier, found, { amount: '20' }));
  const page = plainText(await cashier.get(path));
  assert.match(page, /submitted twice\. Only the first amount counts/);
  assert.match(page, /10\.00 redeemed/);
  assert.equal(await card.balance(), '37.00');
  const raced = await findCard(cashier, card.code);
  const both = await Promise.all(
    ['1', '2'].map(async (amount) => locationOf(await redeem(cashier, raced, { amount }))),
  );
  assert.equal(both.filter((each) => each.endsWith('?differs')).length, 1);
  assert.equal((await card.entries()).length, 3);
});

test('more than the card has is offered first, with the rest to pay', async () => {
  const card = await issue({ initial_value: '47.00' });
  const found = await findCard(cashier, card.code);
  const offer = await redeem(cashier, found, { amount: '59.50' });
  assert.equal(offer.status, 422);
  assert.match(
    plainText(offer),
    /The card has \$47\.00 of \$59\.50\. \$ ?47\.00 \$12\.50 left to pay another way/,
  );
  assert.match(plainText(offer), /Redeem \$47\.00/);
  assert.equal(await card.balance(), '47.00', 'nothing happens before it is accepted');
  const path = locationOf(await redeem(cashier, found, { choice: '47.00', total: '59.50' }));
  const page = plainText(await cashier.get(path));
  assert.match(page, /47\.00 redeemed.*\$0\.00 left \$12\.50 left to pay another way/);
  assert.equal(await card.balance(), '0.00');
  const { page: empty } = await findCard(cashier, card.code);
  assert.match(plainText(empty), /Used up: \$0\.00 is left/);
});

test('buttons with amounts fill the field: none of them submits the form', async () => {
  const card = await issue({ initial_value: '47.00' });
  const { page } = await findCard(cashier, card.code);
  for (const [value, label] of [
    ['47.00', 'All $47.00'],
    ['10.00', '$10'],
    ['20.00', '$20'],
  ] as const)
    assert.ok(
      page.text.includes(`<button class="button" type="button" data-fill="${value}">${label}</button>`),
      label,
    );
  assert.doesNotMatch(page.text, /name="choice"/);
});

test('an expired code uses up the budget of a cashier as an unknown one does', async () => {
  await using own = await openStoreWithStaff({ LOOKUP_MISSES: '2' });
  const make = await cardIssuer(own);
  const [person, other] = [await join(own, 'cashier'), await join(own, 'manager')];
  const expired = await make({ initial_value: '47' });
  await expired.change({ expires_on: '2020-01-01' });
  const find = async (by: typeof person) => (await by.post('/till/find', { code: expired.code })).status;
  assert.deepEqual([await find(person), await find(person), await find(person)], [303, 303, 429]);
  assert.deepEqual([await find(other), await find(other), await find(other)], [303, 303, 303]);
});

test('an email address in the field of the code finds the cards of its customer', async () => {
  const card = await issue({ initial_value: '47', email: 'ada.by.field@example.com' });
  const found = await cashier.post('/till/find', { code: 'Ada.by.field@example.com' });
  assert.equal(found.status, 200);
  assert.match(found.text, new RegExp(`href="/till/card/${card.id}\\?k=`));
  assert.equal((await cashier.post('/till/find', { code: 'unknown@example.com' })).status, 404);
  assert.equal((await cashier.post('/till/find', { code: 'not@an address' })).status, 422);
});

test('a redemption after the session has ended redeems nothing, and its amount is kept', async () => {
  const card = await issue({ initial_value: '47' });
  const person = await join(service, 'owner');
  const found = await findCard(person, card.code);
  const session = person.cookies.get('largesse-session') ?? '';
  await person.post('/sign-out');
  person.cookies.set('largesse-session', session);
  const ended = await redeem(person, found, { amount: '12.50', reference: '1017' });
  const path = locationOf(ended);
  assert.match(path, /^\/sign-in\?next=/);
  const signIn = await person.get(path);
  assert.match(plainText(signIn), /Your session has ended\. Nothing was redeemed/);
  const next = /name="next" value="([^"]*)"/.exec(signIn.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const credentials = { email: `owner@${consoleDomain}`, password: staffPassword };
  const wrong = await person.post('/sign-in', { ...credentials, next, password: 'wrong password' });
  assert.ok(wrong.text.includes(`value="${next.replaceAll('&', '&amp;')}"`), 'a wrong password keeps it');
  const again = await person.get(locationOf(await person.post('/sign-in', { ...credentials, next })));
  assert.equal(again.status, 200);
  assert.match(again.text, /id="amount"[^>]* value="12\.50"/);
  assert.match(again.text, /id="reference"[^>]* value="1017"/);
  assert.match(plainText(again), /the session had ended\. The amount was kept/);
  assert.equal(await card.balance(), '47.00');
  assert.equal((await redeem(person, found, { amount: '12.50' })).status, 303);
  assert.equal(await card.balance(), '34.50');
});

test('a code in the amount field is not in the URL after the session has ended', async () => {
  const [card, other] = [await issue({ initial_value: '47' }), await issue({ initial_value: '10' })];
  const found = await findCard(cashier, card.code);
  const visitor = openBrowser(service);
  for (const amount of [other.code, '12345678'])
    assert.ok(!locationOf(await redeem(visitor, found, { amount })).includes(amount));
});

test('the menu of the till leads every role to other pages', async () => {
  for (const [browser, office] of [
    [cashier, false],
    [manager, true],
  ] as const) {
    const { text } = await browser.get('/till');
    assert.match(text, /href="\/account"/);
    assert.match(text, /action="\/sign-out"/);
    assert.equal(text.includes('href="/today"'), office);
    assert.doesNotMatch(text, /\/till\/lock/, 'without an enrolled device there is no PIN page to lock to');
  }
});

test('a card that changes between the form and its submission is not overspent', async () => {
  const card = await issue({ initial_value: '47.00' });
  const found = await findCard(cashier, card.code);
  await card.change({ balance: '5.00' });
  const offer = await redeem(cashier, found, { amount: '20' });
  assert.equal(offer.status, 422);
  assert.match(plainText(offer), /The card has \$5\.00 of \$20\.00/);
  await card.change({ disable: true });
  const disabled = await redeem(cashier, found, { amount: '5' });
  assert.equal(disabled.status, 422);
  assert.match(disabled.text, /Disabled on/);
  const other = await issue({ initial_value: '47.00' });
  const form = await findCard(cashier, other.code);
  await other.change({ expires_on: '2020-01-01' });
  assert.match((await redeem(cashier, form, { amount: '5' })).text, /Expired on January 1, 2020/);
  assert.deepEqual(await other.entries(), ['issue']);
});

test('cashiers who redeem the same card at once never overspend it', async () => {
  const card = await issue({ initial_value: '30.00' });
  const forms = await Promise.all([1, 2, 3, 4, 5].map(() => findCard(cashier, card.code)));
  const statuses = await Promise.all(
    forms.map(async (form) => (await redeem(cashier, form, { amount: '10' })).status),
  );
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [303, 303, 303, 422, 422],
  );
  assert.equal(await card.balance(), '0.00');
});

test('a scanned code in the amount field redeems nothing, and is not repeated', async () => {
  const [card, other] = [await issue({ initial_value: '47' }), await issue({ initial_value: '10' })];
  const found = await findCard(cashier, card.code);
  for (const scanned of [other.code, other.code.toUpperCase(), '12345678', '0012 3456 7890 1234']) {
    const page = await redeem(cashier, found, { amount: scanned });
    assert.equal(page.status, 422);
    assert.match(page.text, /This was a scanned code, not an amount/);
    assert.ok(!page.text.toLowerCase().includes(scanned.toLowerCase()));
  }
  for (const amount of ['', '0', '-5', '1.234', 'abc', '1e3', '9'.repeat(100)]) {
    const page = await redeem(cashier, found, { amount });
    assert.equal(page.status, 422, amount);
    assert.match(page.text, /Enter an amount such as 24\.50|scanned code/);
  }
  assert.equal(await card.balance(), '47.00');
  assert.equal((await redeem(cashier, found, { amount: '24,5' })).status, 303, 'a comma is a decimal point');
});

test('a receipt number that is too long is rejected', async () => {
  const card = await issue({ initial_value: '47' });
  const found = await findCard(cashier, card.code);
  const page = await redeem(cashier, found, { amount: '5', reference: 'x'.repeat(256) });
  assert.equal(page.status, 422);
  assert.match(page.text, /at most 255 characters/);
  assert.equal(await card.balance(), '47.00');
});

test('the result is undone once, and its page says so', async () => {
  const card = await issue({ initial_value: '47' });
  const path = locationOf(await redeem(cashier, await findCard(cashier, card.code), { amount: '20' }));
  const undone = await Promise.all([1, 2, 3].map(async () => locationOf(await cashier.post(`${path}/undo`))));
  assert.deepEqual(new Set(undone), new Set([path]));
  const page = await cashier.get(path);
  assert.match(plainText(page), /back on •••• \w{4}/);
  assert.doesNotMatch(page.text, /\/undo"/);
  assert.equal(await card.balance(), '47.00');
  assert.deepEqual(await card.entries(), ['issue', 'debit', 'reversal']);
});

test('after 15 minutes only a person who may refund the amount can undo', async () => {
  await using own = await openStoreWithStaff();
  const make = await cardIssuer(own);
  const person = await join(own, 'cashier');
  await own.database.meddle('update staff set refund_limit = 500');
  const card = await make({ initial_value: '47' });
  const path = locationOf(await redeem(person, await findCard(person, card.code), { amount: '20' }));
  own.clock.advance(15 * 60_000);
  assert.doesNotMatch((await person.get(path)).text, /\/undo"/);
  const rejected = await person.post(`${path}/undo`);
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /needs a manager/);
  assert.equal(await card.balance(), '27.00');
});

test('a redemption that was refunded in part is not undone as a whole', async () => {
  const card = await issue({ initial_value: '47' });
  const path = locationOf(await redeem(cashier, await findCard(cashier, card.code), { amount: '20' }));
  const entry = /\/till\/receipts\/(\d+)/.exec((await cashier.get(path)).text)?.[1] ?? '';
  const token = await service.token(consoleDomain);
  const json = { amount: '5' };
  await service.request(`/transactions/${entry}/reverse`, { method: 'POST', token, json });
  const rejected = await cashier.post(`${path}/undo`);
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /part of it was refunded before/);
  assert.equal(await card.balance(), '32.00');
});

test('the result of a person is not found by another one', async () => {
  const card = await issue({ initial_value: '47' });
  const path = locationOf(await redeem(cashier, await findCard(cashier, card.code), { amount: '20' }));
  assert.equal((await manager.get(path)).status, 404);
  assert.equal((await manager.post(`${path}/undo`)).status, 404);
  assert.equal(await card.balance(), '27.00');
});

test('a manager undoes the redemption of another person by its entry', async () => {
  const card = await issue({ initial_value: '47' });
  const path = locationOf(await redeem(cashier, await findCard(cashier, card.code), { amount: '20' }));
  const entry = /\/till\/receipts\/(\d+)/.exec((await cashier.get(path)).text)?.[1] ?? '';
  assert.equal((await cashier.get(`/till/undo/${entry}`)).status, 403);
  const page = await manager.get(`/till/undo/${entry}`);
  assert.match(plainText(page), /20\.00 redeemed from/);
  const key = /name="key" value="([\w-]{22})"/.exec(page.text)?.[1] ?? '';
  const done = await Promise.all(
    [1, 2].map(async () => locationOf(await manager.post(`/till/undo/${entry}`, { key }))),
  );
  assert.deepEqual(new Set(done), new Set([`/till/undo/${entry}`]));
  assert.match(plainText(await manager.get(`/till/undo/${entry}`)), /back on/);
  assert.match(plainText(await cashier.get(path)), /back on/);
  assert.deepEqual(await card.entries(), ['issue', 'debit', 'reversal']);
  assert.equal((await manager.get(`/till/undo/${card.id}`)).status, 404);
});

test('a cancelled key redeems nothing, however late its request arrives', async () => {
  const card = await issue({ initial_value: '47' });
  const found = await findCard(cashier, card.code);
  const path = locationOf(await cashier.post(`/till/redeemed/${found.key}/cancel`));
  assert.match(plainText(await cashier.get(path)), /Nothing was redeemed/);
  assert.equal(locationOf(await redeem(cashier, found, { amount: '20' })), path);
  assert.match(plainText(await cashier.get(path)), /Nothing was redeemed/);
  assert.deepEqual(await card.entries(), ['issue']);
});

test('cancelling undoes a redemption that happened', async () => {
  const card = await issue({ initial_value: '47' });
  const found = await findCard(cashier, card.code);
  await redeem(cashier, found, { amount: '20' });
  const path = locationOf(await cashier.post(`/till/redeemed/${found.key}/cancel`));
  assert.match(plainText(await cashier.get(path)), /back on/);
  assert.equal(await card.balance(), '47.00');
});

test('of a redemption and its cancellation at once, the money stays on the card', async () => {
  for (let round = 0; round < 6; round += 1) {
    const card = await issue({ initial_value: '47' });
    const found = await findCard(cashier, card.code);
    const requests = [
      () => redeem(cashier, found, { amount: '20' }),
      () => cashier.post(`/till/redeemed/${found.key}/cancel`),
      () => redeem(cashier, found, { amount: '20' }),
    ];
    const inOrder = round % 2 === 0 ? requests : requests.toReversed();
    const paths = await Promise.all(inOrder.map(async (send) => locationOf(await send())));
    assert.equal(new Set(paths).size, 1);
    assert.equal(await card.balance(), '47.00');
    assert.match(plainText(await cashier.get(paths[0] ?? '')), /Nothing was redeemed|back on/);
  }
});

test('a redemption that has not happened can be tried again with its key', async () => {
  const card = await issue({ initial_value: '47' });
  const found = await findCard(cashier, card.code);
  const query = new URLSearchParams({ card: String(card.id), amount: '20', tail: card.code.slice(-4) });
  const page = await cashier.get(`/till/redeemed/${found.key}?${query.toString()}`);
  assert.equal(page.status, 200);
  assert.match(plainText(page), /20\.00 Not redeemed from •••• \w{4}/);
  assert.match(page.text, new RegExp(`action="/till/card/${card.id}\\?k=${found.key}"`));
  assert.match(page.text, /name="amount" value="20"/);
  assert.match(page.text, new RegExp(`name="key" value="${found.key}"`));
  const path = locationOf(await redeem(cashier, found, { amount: '20' }));
  assert.equal((await cashier.get(`${path}?${query.toString()}`)).status, 200);
});

test('a key whose result is no longer stored redeems nothing, and says nothing', async () => {
  await using own = await openStoreWithStaff();
  const make = await cardIssuer(own);
  const person = await join(own, 'cashier');
  const card = await make({ initial_value: '47' });
  const found = await findCard(person, card.code);
  await redeem(person, found, { amount: '20' });
  const hour = 60 * 60_000;
  // The session is used every ten hours.
  own.clock.advance(10 * hour);
  await person.get('/till');
  own.clock.advance(10 * hour + 60_000);
  assert.equal(locationOf(await redeem(person, found, { amount: '20' })), '/till');
  assert.equal(await card.balance(), '27.00');
  own.clock.advance(4 * hour);
  const page = await person.get(`/till/redeemed/${found.key}?card=${card.id}&amount=20`);
  assert.match(plainText(page), /more than 20 hours ago/);
  assert.equal((await person.post(`/till/redeemed/${found.key}/cancel`)).status, 404);
});

test('the id of a card redeems nothing: a cashier finds it by its code or an address', async () => {
  const [card, other] = [await issue({ initial_value: '47' }), await issue({ initial_value: '47' })];
  const found = await findCard(cashier, other.code);
  const own = `/till/card/${card.id}`;
  const invented = Buffer.from(found.key, 'base64url').fill(7, 4).toString('base64url');
  for (const key of [found.key, invented, 'x', '']) {
    assert.equal(locationOf(await cashier.get(`${own}?k=${key}`)), '/till', key);
    const posted = await cashier.post(`${own}?k=${key}`, { key, amount: '5' });
    assert.equal(locationOf(posted), '/till', key);
  }
  assert.equal((await cashier.get(`/cards/${card.id}/redeem`)).status, 403);
  assert.equal(
    (await cashier.post(`/cards/${card.id}/redeem`, { key: 'D'.repeat(22), amount: '5' })).status,
    403,
  );
  const foreign = await findCard(manager, card.code);
  assert.equal(locationOf(await cashier.post(foreign.path, { key: foreign.key, amount: '5' })), '/till');
  assert.match(locationOf(await manager.get(own)), new RegExp(`^${own}\\?k=[\\w-]{22}$`));
  assert.equal(await card.balance(), '47.00');
});

test('failed searches use up the budget of the person, and then the right code is not looked up', async () => {
  await using own = await openStoreWithStaff({ LOOKUP_MISSES: '5' });
  const make = await cardIssuer(own);
  const [one, other] = [await join(own, 'cashier'), await join(own, 'manager')];
  const card = await make({ initial_value: '47', email: 'ada@example.com' });
  const statuses: number[] = [];
  const misses = [
    () => one.post('/till/find', { code: 'zzzz zzzz zzzz zzzz' }),
    () => one.post('/till/email', { email: 'unknown@example.com' }),
    () => one.get(`/till/card/${2 ** 52 + 4711}`),
    () => one.post(`/till/card/${2 ** 52 + 4711}`),
    () => one.post('/till/find', { code: 'oooo oooo oooo oooo' }),
  ];
  for (const miss of misses) statuses.push((await miss()).status);
  assert.deepEqual(statuses, [404, 404, 404, 404, 404]);
  const throttled = await one.post('/till/find', { code: card.code });
  assert.equal(throttled.status, 429);
  assert.match(plainText(throttled), /Try again in 12 minutes/);
  assert.equal((await one.post('/till/email', { email: 'ada@example.com' })).status, 429);
  assert.equal((await one.get(`/till/card/${card.id}`)).status, 429);
  assert.equal(
    (await other.post('/till/find', { code: card.code })).status,
    303,
    'another person has a budget',
  );
  own.clock.advance(12 * 60_000);
  for (let count = 0; count < 10; count += 1)
    assert.equal((await one.post('/till/find', { code: card.code })).status, 303, 'a find costs nothing');
});

test('concurrent guesses cannot exceed the budget', async () => {
  await using own = await openStoreWithStaff({ LOOKUP_MISSES: '5' });
  const person = await join(own, 'cashier');
  const statuses = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const code = `zzzz zzzz zzzz zz${String(index).padStart(2, '0')}`;
      return (await person.post('/till/find', { code })).status;
    }),
  );
  assert.equal(statuses.filter((status) => status === 404).length, 5);
  assert.equal(statuses.filter((status) => status === 429).length, 15);
});

test('a replaced code is not found, and its use is published', async () => {
  const card = await issue({ initial_value: '47', recipient_email: 'grace@example.com' });
  const token = await service.token(consoleDomain);
  const rotated = await service.request(`/gift_card/${card.id}/rotate_code`, { method: 'POST', token });
  assert.equal(rotated.status, 200, rotated.text);
  assert.equal((await cashier.post('/till/find', { code: card.code })).status, 404);
  service.clock.advance(10_000);
  for (let count = 0; ; count += 1) {
    const rows = await service.query(`select type from events where type = 'gift_card.retired_code_used'`);
    if (rows.length > 0) break;
    assert.ok(count < 600, 'the event is not published');
    await wait(100);
  }
});

test('a card is found by the email of its customer or recipient, if it can be spent', async () => {
  const email = `ada-${Date.now()}@example.com`;
  const own = await issue({ initial_value: '47', email, recipient_name: 'Grace' });
  const received = await issue({ initial_value: '11', recipient_email: email });
  const unusable = await issue({ initial_value: '13', email });
  await unusable.change({ disable: true });
  const page = await cashier.post('/till/email', { email: email.toUpperCase() });
  assert.equal(page.status, 200);
  for (const { id } of [own, received]) {
    const [, path = ''] = new RegExp(`href="(/till/card/${id}\\?k=[\\w-]{22})"`).exec(page.text) ?? [];
    assert.equal((await cashier.get(path)).status, 200);
  }
  assert.ok(!page.text.includes(String(unusable.id)));
  assert.match(plainText(page), /Grace •••• \w{4} \$47\.00 available/);
  const missed = await cashier.post('/till/email', { email: 'unknown@example.com' });
  assert.equal(missed.status, 404);
  assert.equal((await cashier.post('/till/email', { email: 'not an address' })).status, 422);
});

test('an error of the service says that the result is unknown, and checks it with the same key', async () => {
  await using own = await openStoreWithStaff();
  const make = await cardIssuer(own);
  const person = await join(own, 'cashier');
  const card = await make({ initial_value: '47' });
  const found = await findCard(person, card.code);
  // The audit log cannot be written.
  await own.database.meddle('alter table staff_actions rename to staff_actions_gone');
  const failed = await redeem(person, found, { amount: '20', currency: 'USD', tail: card.code.slice(-4) });
  assert.equal(failed.status, 500);
  assert.match(plainText(failed), /20\.00 We don’t know yet whether this went through/);
  const scanned = await redeem(person, found, { amount: card.code });
  assert.equal(scanned.status, 422);
  const refresh = /^5;url=(\/till\/redeemed\/.+)$/.exec(failed.headers.get('refresh') ?? '')?.[1] ?? '';
  await own.database.meddle('alter table staff_actions_gone rename to staff_actions');
  const checked = await person.get(refresh);
  assert.equal(checked.status, 200);
  assert.match(plainText(checked), /20\.00 Not redeemed/);
  assert.equal(await card.balance(), '47.00');
  assert.equal((await redeem(person, found, { amount: '20' })).status, 303);
  assert.equal(await card.balance(), '27.00');
});

test('only the page that scans may compile WebAssembly, and every script comes from the service', async () => {
  const policy = async (path: string): Promise<string> =>
    (await cashier.get(path)).headers.get('content-security-policy') ?? '';
  assert.match(await policy('/till'), /script-src 'self' 'wasm-unsafe-eval';/);
  assert.doesNotMatch(await policy('/till/email'), /unsafe/);
  const { text } = await cashier.get('/till');
  const urls = [...text.matchAll(/(?:src|data-detector|data-reader)="([^"]+)"/g)].map(([, url = '']) => url);
  assert.equal(urls.length, 6);
  for (const url of urls) {
    assert.match(url, /^\/assets\//);
    assert.equal((await cashier.get(url)).status, 200, url);
  }
});

test('no code is in a URL, a page, the log or the audit log', async () => {
  const card = await issue({ initial_value: '47' });
  const found = await findCard(cashier, card.code);
  const path = locationOf(await redeem(cashier, found, { amount: '5' }));
  const pages = [found.path, found.page.text, path, (await cashier.get(path)).text, service.log()];
  const audit = await service.query('select details from staff_actions');
  const all = [...pages, JSON.stringify(audit.map(({ details }) => details))].join('\n').toLowerCase();
  for (const part of [card.code, card.code.slice(4, 12)]) assert.ok(!all.includes(part));
});

test('the pages are in the language of the browser', async () => {
  const card = await issue({ initial_value: '47' });
  const { path } = await findCard(cashier, card.code);
  const languages = [
    ['de', /Einlösen/],
    ['fr', /Utiliser/],
    ['es-ES', /Canjear/],
  ] as const;
  for (const [language, verb] of languages) {
    const page = await cashier.request(path, { headers: { 'accept-language': language } });
    assert.match(page.text, verb, language);
    assert.match(page.text, /47,00/, language);
  }
});

test('a browser can install the till: its manifest, its worker and the page without a connection', async () => {
  const stranger = openBrowser(service);
  const page = await cashier.get('/till');
  assert.match(
    page.text,
    /<link rel="manifest" href="\/till\/app\.webmanifest" crossorigin="use-credentials">/,
  );
  assert.match(String(page.headers.get('content-security-policy')), /manifest-src 'self'/);
  const named = JSON.parse((await cashier.get('/till/app.webmanifest')).text) as { readonly name: string };
  const manifest = JSON.parse((await stranger.get('/till/app.webmanifest')).text) as typeof named & {
    readonly icons: readonly { readonly src: string }[];
  };
  assert.equal(manifest.name, 'Gift card till', 'a stranger does not learn the name of a store');
  assert.match(named.name, /^Gift card till · ./);
  const worker = await stranger.get('/till/worker.js');
  assert.equal(worker.headers.get('service-worker-allowed'), '/till');
  assert.match(String(worker.headers.get('content-type')), /^text\/javascript/);
  const [, json = '{}'] = /^globalThis\.till = (.*);$/m.exec(worker.text) ?? [];
  const till = JSON.parse(json) as { readonly page: string; readonly files: readonly string[] };
  const offline = await stranger.get(till.page);
  assert.equal(offline.status, 200);
  assert.match(plainText(offline), /No connection/);
  const used = [...offline.text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
  assert.ok(used.length >= 4);
  for (const path of used)
    assert.ok(till.files.includes(String(path)), `${path} is not in the worker's cache`);
  for (const path of [...till.files, ...manifest.icons.map(({ src }) => src)])
    assert.equal((await stranger.get(path)).status, 200, path);
});
