/** Selling at the till, cancelling a sale, refunding to a card and adding money to one. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Browser } from '../support/browser.ts';
import { hiddenValue, joinAs } from '../support/counter.ts';
import { until } from '../support/delivering.ts';
import { staffPassword } from '../support/console.ts';
import { shopOf } from '../support/shop.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { findCard, locationOf, plainText, redeem as redeemAtTill } from '../support/till.ts';

async function openShop(): Promise<TestService> {
  return await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
}

type Line = Readonly<Record<string, string | null>>;

type SaleForm = Readonly<Record<string, string>>;

/** Submits the form of a sale with a new code. @returns the response to the form. */
async function submitSale(
  browser: Browser,
  amount: string,
  form: SaleForm = { how: 'new' },
): Promise<TestResponse> {
  const page = await browser.get(`/till/sell?amount=${amount}`);
  assert.equal(page.status, 200, page.text);
  return await browser.post('/till/sell', { amount, key: hiddenValue(page, 'key'), ...form });
}

function hiddenValues(page: TestResponse, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, hiddenValue(page, name)]));
}

/** Sells a card with a new code. @returns the page of the result, and its path. */
async function sell(browser: Browser, amount: string, form?: SaleForm) {
  const response = await submitSale(browser, amount, form);
  assert.equal(response.status, 303, response.text);
  const path = response.headers.get('location') ?? '';
  const page = await browser.get(path);
  const code = /id="new-code">([^<]+)</.exec(page.text)?.[1]?.replaceAll(' ', '').toLowerCase();
  const entry = /\/till\/receipts\/(\d{16})"/.exec(page.text)?.[1] ?? assert.fail(page.text);
  return { path, page, code, entry };
}

/** Redeems an amount through the API. @returns the id of the transaction. */
async function redeem(service: TestService, code: string, amount: string): Promise<string> {
  const token = await service.token('flowers.example');
  const { json, status, text } = await service.request('/gift_card/redeem', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code, amount }),
  });
  assert.equal(status, 201, text);
  return String((json as { readonly transaction: { readonly id: number } }).transaction.id);
}

async function cardsOf(service: TestService) {
  return await service.query('select balance, disabled_at from gift_cards order by id');
}

test('a sale with a new code shows the code once, and only to the person who sold it', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const ben = await joinAs(service, { role: 'cashier', name: 'ben' });
  const start = await ann.get('/till/sell');
  for (const usual of ['20.00', '30.00', '50.00', '100.00'])
    assert.ok(start.text.includes(`type="button" data-fill="${usual}"`), 'the presets of the office');
  const { path, page, code, entry } = await sell(ann, '25.00');
  assert.match(code ?? '', /^[0-9a-z]{16}$/);
  assert.match(page.text, /<svg[^>]+aria-label="QR code of the card"/);
  assert.equal((await ben.get(path)).status, 404, 'another person does not see the result');
  const receipt = await ann.get(`/till/receipts/${entry}`);
  const title = /<title>([^<]*)/.exec(page.text)?.[1] ?? '';
  for (const text of [receipt.text, path, title, service.log()])
    assert.ok(
      !text
        .toLowerCase()
        .replaceAll(' ', '')
        .includes(code ?? 'missing'),
      text,
    );
  await redeem(service, code ?? '', '5.00');
});

test('a form that is submitted twice, also at the same time, sells one card', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  for (const fields of [{ how: 'new' }, { how: 'card', code: 'PLASTIC-0001' }]) {
    const key = hiddenValue(await ann.get('/till/sell?amount=25.00'), 'key');
    const submit = () => ann.post('/till/sell', { amount: '25.00', key, ...fields });
    const responses = [...(await Promise.all([submit(), submit(), submit()])), await submit()];
    for (const { status, headers, text } of responses) {
      assert.equal(status, 303, text);
      assert.equal(headers.get('location'), `/till/sold/${key}`);
    }
  }
  assert.equal((await cardsOf(service)).length, 2);
});

test('a blank card is sold with its own code, once', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const plastic = { how: 'card', code: 'TULI-P000-0002' };
  const { page, code } = await sell(ann, '10.00', plastic);
  assert.equal(code, undefined, 'the customer has the code');
  assert.match(page.text, /•••• 0002/);
  const again = await submitSale(ann, '10.00', plastic);
  assert.equal(again.status, 422);
  assert.match(again.text, /was sold before/);
  assert.doesNotMatch(again.text, /TULI-?P/i, 'the code is not shown again');
  for (const wrong of ['', 'abc', 'x'.repeat(21), 'ÄÖÜß1234'])
    assert.equal((await submitSale(ann, '10.00', { how: 'card', code: wrong })).status, 422, wrong);
  assert.equal((await cardsOf(service)).length, 1);
});

test('the first step of a sale sells with a new code at once, and asks for a printed card or an address', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const start = await ann.get('/till/sell');
  const submit = async (fields: SaleForm) =>
    await ann.post('/till/sell', { key: hiddenValue(start, 'key'), ...fields });
  for (const how of ['card', 'email']) {
    const next = await submit({ amount: '25', how });
    assert.equal(next.headers.get('location'), `/till/sell?amount=25.00&how=${how}`, next.text);
  }
  const email = await ann.get('/till/sell?amount=25.00&how=email');
  const key = hiddenValue(email, 'key');
  const missing = await ann.post('/till/sell', { key, amount: '25.00', how: 'email', email: '' });
  assert.equal(missing.status, 422);
  assert.match(missing.text, /Enter an email address/);
  const wrong = await submit({ amount: 'abc', how: 'email' });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /value="abc"/);
  assert.match(wrong.text, /value="email"[^>]* checked/);
  assert.equal((await cardsOf(service)).length, 0);
  assert.equal(
    (await submit({ amount: '25', how: 'new' })).headers.get('location')?.slice(0, 11),
    '/till/sold/',
  );
  const sold = await ann.post('/till/sell', { key, amount: '25.00', how: 'email', email: 'lin@example.com' });
  assert.match(
    (await ann.get(sold.headers.get('location') ?? '')).text,
    /The email to lin@example\.com is kept on this machine/,
  );
  assert.equal((await cardsOf(service)).length, 2);
});

test('a sale or a refund after the session has ended does nothing, and its amount is kept', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const { code = '' } = await sell(ann, '25.00');
  const receipt = await redeem(service, code, '20.00');
  await ann.post('/sign-out');
  for (const [path, fields] of [
    ['/till/sell', { amount: '30', how: 'new' }],
    [`/till/refund/entry/${receipt}`, { amount: '7.50' }],
  ] as const) {
    const ended = await ann.post(path, fields);
    const signIn = await ann.get(ended.headers.get('location') ?? '');
    assert.match(signIn.text, /Nothing was redeemed, sold or refunded/);
    const next = hiddenValue(signIn, 'next').replaceAll('&amp;', '&');
    const again = await ann.post('/sign-in', { email: 'ann@flowers.example', password: staffPassword, next });
    const page = await ann.get(again.headers.get('location') ?? '');
    assert.match(page.text, /id="amount"[^>]* value="(?:30\.00|7\.50)"/);
    await ann.post('/sign-out');
  }
  assert.equal((await cardsOf(service)).length, 1);
});

test('a sale above the limit of the person or of the store is rejected, also if the limit is new', async () => {
  await using service = await startService({
    stores: [{ domain: 'flowers.example', name: 'Flowers' }],
  });
  const ann = await joinAs(service, { role: 'cashier', name: 'ann', saleLimit: '5000' });
  const start = await ann.get('/till/sell');
  assert.match(start.text, /Up to \$50\.00/);
  assert.match(start.text, /data-fill="50\.00"/);
  assert.doesNotMatch(start.text, /data-fill="100\.00"/);
  const above = await submitSale(ann, '50.01');
  assert.equal(above.status, 422);
  assert.match(above.text, /at most \$50\.00/);
  const page = await ann.get('/till/sell?amount=50.00');
  await service.database.meddle(`update staff set sale_limit = 4000 where name = 'ann'`);
  const lowered = await ann.post('/till/sell', {
    amount: '50.00',
    how: 'new',
    key: hiddenValue(page, 'key'),
  });
  assert.match(lowered.text, /at most \$40\.00/);
  await service.database.meddle('update stores set issue_limit = 3000');
  assert.match((await submitSale(ann, '35.00')).text, /A card of this store has at most \$30\.00/);
  assert.equal((await cardsOf(service)).length, 0);
  for (const amount of ['0', '-1', '1.001', 'abc', ''])
    assert.equal((await ann.get(`/till/sell?amount=${amount}`)).status, 422, amount);
});

test('a sale is cancelled by the person who made it, while nothing has happened to the card', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const { path, page, code } = await sell(ann, '25.00');
  const key = hiddenValue(page, 'key');
  const cancels = await Promise.all([1, 2].map(() => ann.post(`${path}/cancel`, { key })));
  for (const { status, headers, text } of cancels) {
    assert.equal(status, 303, text);
    assert.equal(headers.get('location'), path);
  }
  const cancelled = await ann.get(path);
  assert.match(cancelled.text, /Sale cancelled/);
  assert.ok(
    !cancelled.text
      .toLowerCase()
      .replaceAll(' ', '')
      .includes(code ?? 'missing'),
  );
  const [card] = await cardsOf(service);
  assert.equal(Number(card?.['balance']), 0);
  assert.notEqual(card?.['disabled_at'], null);
  const entries = await service.query('select kind, amount from transfers order by id');
  assert.deepEqual(
    entries.map(({ kind, amount }) => [kind, Number(amount)]),
    [
      ['issue', 2500],
      ['reversal', 2500],
    ],
  );
  const shop = await shopOf(service, 'flowers.example');
  const { json } = await shop.ask('GET /reports/liability');
  const { liability } = json as { readonly liability: Readonly<Record<string, string | number>> };
  assert.deepEqual(
    ['issued', 'topped_up', 'adjusted', 'outstanding', 'cards_disabled'].map((name) => liability[name]),
    ['0.00', '0.00', '0.00', '0.00', 1],
  );
});

test('a cancelled sale of a single-purpose card takes its VAT back', async () => {
  await using service = await startService({
    stores: [{ domain: 'flowers.example', name: 'Flowers', vat: { kind: 'single_purpose', rate: '19' } }],
  });
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const { path, page } = await sell(ann, '119.00');
  const shop = await shopOf(service, 'flowers.example');
  const today = new Date(service.clock.now()).toISOString().slice(0, 10);
  const sumsOf = async (kinds: readonly string[]): Promise<Readonly<Record<string, number>>> => {
    const { json, status, text } = await shop.ask(`GET /reports/journal?from=${today}&to=${today}`);
    assert.equal(status, 200, text);
    const { journal } = json as { readonly journal: { readonly lines: readonly Line[] } };
    const sums: Record<string, number> = {};
    for (const { kind, account = '', debit, credit } of journal.lines) {
      // The card can be disabled in the millisecond of its cancellation, or after it.
      const name = String(account).replace(/_(?:active|disabled)$/, '');
      if (kinds.includes(String(kind))) sums[name] = (sums[name] ?? 0) + Number(debit) - Number(credit);
    }
    return sums;
  };
  assert.deepEqual(await sumsOf(['issue']), { sales: 119, liability: -100, vat_payable: -19 });
  await ann.post(`${path}/cancel`, { key: hiddenValue(page, 'key') });
  assert.deepEqual(await sumsOf(['issue']), { sales: 119, liability: -100, vat_payable: -19 });
  assert.deepEqual(await sumsOf(['cancellation']), { sales: -119, liability: 100, vat_payable: 19 });
  assert.equal((await sumsOf(['disable']))['liability'] ?? 0, 0);
});

test('Today, the till and the card say the same of an undo and a cancelled sale', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'owner', name: 'ann' });
  const { code = assert.fail() } = await sell(ann, '50.00');
  const undone = locationOf(await redeemAtTill(ann, await findCard(ann, code), { amount: '20.00' }));
  assert.equal(locationOf(await ann.post(`${undone}/undo`)), undone);
  await redeemAtTill(ann, await findCard(ann, code), { amount: '5.00' });
  const { path, page } = await sell(ann, '25.00');
  await ann.post(`${path}/cancel`, { key: hiddenValue(page, 'key') });
  const textAt = async (at: string): Promise<string> =>
    plainText(await ann.get(at))
      .replaceAll(/[$€]\s*/g, '')
      .replaceAll(/\s+/g, ' ');
  assert.match(
    await textAt('/till/day'),
    /Redeemed 5\.00 1 time.* Sold 1 card · 50\.00 Refunded 0 · 0\.00 Undone 1 · 20\.00 Cancelled sales 1 · 25\.00 /,
  );
  assert.match(
    await textAt('/today'),
    /Sold 1 card · 50\.00 Redeemed 1 time · 5\.00 Refunded none yet Undone 1 time · 20\.00 Cancelled sales 1 time · 25\.00 Emails/,
  );
  const feed = /Recent activity.*? Today /.exec(await textAt('/today'))?.[0] ?? '';
  assert.match(feed, /Sale cancelled.*Sold.*Redeemed at the till.*Undone.*Redeemed at the till.*Sold/);
  assert.doesNotMatch(feed, /Refunded/);
  const { path: amountPath } = await findCard(ann, code);
  const history = await textAt(amountPath.replace('/till/card', '/cards'));
  assert.match(history, /History.*Redeemed.*Undone.*Redeemed.*Sold/);
  assert.doesNotMatch(history, /Refunded/);
  const cancelled = await ann.get('/cards?status=disabled');
  const [, cancelledAt = assert.fail(cancelled.text)] =
    /href="([^"]*\/cards\/\d{16})"/.exec(cancelled.text) ?? [];
  assert.match(
    await textAt(cancelledAt.replace(/^.*(?=\/cards)/, '')),
    /History.*Disabled.*Sale cancelled −25\.00.*Sold \+25\.00/,
  );
});

test('a sale is not cancelled after the card was used, or after 15 minutes', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const used = await sell(ann, '25.00');
  await redeem(service, used.code ?? '', '1.00');
  const rejected = await ann.post(`${used.path}/cancel`, { key: hiddenValue(used.page, 'key') });
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /can no longer be cancelled/);
  const old = await sell(ann, '25.00');
  service.clock.advance(15 * 60_000);
  assert.doesNotMatch((await ann.get(old.path)).text, /Cancel this sale/);
  const late = await ann.post(`${old.path}/cancel`, { key: hiddenValue(old.page, 'key') });
  assert.equal(late.status, 422);
  const cards = await cardsOf(service);
  assert.deepEqual(new Set(cards.map(({ balance }) => Number(balance))), new Set([2400, 2500]));
});

test('a redemption is found by its receipt or its card, and refunded in parts', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann', refundLimit: '800' });
  const { code = '' } = await sell(ann, '25.00');
  const receipt = await redeem(service, code, '20.00');
  const grouped = receipt.replace(/(.{4})(?=.)/g, '$1 ');
  const byReceipt = await ann.post('/till/refund/find', { find: grouped });
  const path = `/till/refund/entry/${receipt}`;
  assert.equal(byReceipt.headers.get('location'), path, byReceipt.text);
  const byCode = await ann.post('/till/refund/find', { find: code });
  const listed = await ann.get(byCode.headers.get('location') ?? '');
  assert.match(listed.text, new RegExp(`href="${path}"`));
  assert.doesNotMatch(listed.text, /Add money/, 'only managers add money');

  const refund = async (amount: string) =>
    await ann.post(path, { amount, key: hiddenValue(await ann.get(path), 'key') });
  const above = await refund('8.01');
  assert.equal(above.status, 422);
  assert.match(
    above.text,
    /You can refund at most \$8\.00 now: your limit for one redemption and for one day/,
  );
  const form = await ann.get(path);
  assert.match(form.text, /value="20\.00"/);
  const twice = { amount: '8.00', key: hiddenValue(form, 'key') };
  const responses = await Promise.all([1, 2, 3].map(() => ann.post(path, twice)));
  for (const { status, text } of responses) assert.equal(status, 303, text);
  const done = await ann.get(responses[0]?.headers.get('location') ?? '');
  assert.match(done.text, /Balance: \$13\.00/);
  const second = await refund('0.01');
  assert.equal(second.status, 422);
  assert.match(second.text, /You can refund at most \$0\.00 now: .* for one day is \$8\.00/);
  await service.database.meddle(`update staff set refund_limit = null where name = 'ann'`);
  assert.equal((await refund('8.00')).status, 303);
  const more = await refund('4.01');
  assert.match(more.text, /At most \$4\.00 can be refunded/);
  assert.equal((await refund('4.00')).status, 303);
  assert.match((await ann.get(path)).text, /already refunded in full/);
  const [card] = await cardsOf(service);
  assert.equal(Number(card?.['balance']), 2500);
  for (const find of ['', 'nothing-here', '9007199254740991', '4503599627370496'])
    assert.ok([404, 422].includes((await ann.post('/till/refund/find', { find })).status), find);
});

test('a disabled card gets no refund', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const { code = '' } = await sell(ann, '25.00');
  const receipt = await redeem(service, code, '20.00');
  const path = `/till/refund/entry/${receipt}`;
  const key = hiddenValue(await ann.get(path), 'key');
  await service.database.meddle('update gift_cards set disabled_at = 1');
  const response = await ann.post(path, { amount: '1.00', key });
  assert.equal(response.status, 422);
  assert.match(response.text, /disabled/);
});

test('unknown receipts and codes use up a budget', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  await service.database.meddle('update stores set lookup_failures_per_hour = 3');
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1)
    statuses.push((await ann.post('/till/refund/find', { find: `unknown${count}` })).status);
  assert.deepEqual(statuses, [404, 404, 404, 429, 429]);
});

test('only people who can change cards add money to one, within their sale limit', async () => {
  await using service = await openShop();
  const manager = await joinAs(service, { role: 'manager', saleLimit: '3000' });
  const cashier = await joinAs(service, { role: 'cashier' });
  const { code = '' } = await sell(manager, '10.00');
  const found = await manager.post('/till/refund/find', { find: code });
  const card = found.headers.get('location') ?? '';
  assert.match((await manager.get(card)).text, /Add money/);
  assert.equal((await cashier.get(`${card}/add`)).status, 403);
  assert.equal((await cashier.post(`${card}/add`, { amount: '5.00' })).status, 403);
  const add = async (amount: string) =>
    await manager.post(`${card}/add`, { amount, key: hiddenValue(await manager.get(`${card}/add`), 'key') });
  const added = await add('5.00');
  assert.match((await manager.get(added.headers.get('location') ?? '')).text, /Balance: \$15\.00/);
  assert.match((await add('30.01')).text, /You can add at most \$30\.00/);
});

test('a till activates a printed card with the value of its stock, once, and says if its code was tried', async () => {
  await using service = await startService({
    stores: [{ domain: 'flowers.example', name: 'Flowers', stockRequired: 'yes' }],
    limits: { retiredCodesPeriodMs: 20 },
  });
  const shop = await shopOf(service, 'flowers.example');
  const [code, other, third] = ['PRINTED-0001', 'PRINTED-0002', 'PRINTED-0003'];
  await shop.ask('POST /stocks', { json: { codes: [code, other], fixed_value: '25.00' } });
  await until(async () => {
    const { stocks } = (await shop.ask('GET /stocks')).json as {
      readonly stocks: readonly { readonly state: string }[];
    };
    return stocks[0]?.state === 'complete';
  });
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const start = await ann.get('/till/sell');
  assert.doesNotMatch(start.text, /value="new"/);
  const scanned = await ann.post('/till/find', { code });
  assert.match(plainText(scanned), /The card •••• 0001 is not sold yet. Take the payment/);
  const wrong = await submitSale(ann, '30.00', { how: 'card', code });
  assert.equal(wrong.status, 422);
  assert.match(plainText(wrong), /This printed card is sold for \$25\.00/);
  const unknown = await submitSale(ann, '25.00', { how: 'card', code: third });
  assert.match(plainText(unknown), /•••• 0003 is not one of your printed cards/);
  assert.equal((await submitSale(ann, '25.00', { how: 'new' })).status, 422);
  assert.deepEqual(await cardsOf(service), []);
  const sold = await submitSale(ann, '25.00', { how: 'card', code });
  assert.equal(sold.status, 303, sold.text);
  const result = await ann.get(sold.headers.get('location') ?? '');
  assert.doesNotMatch(plainText(result), /was tried before the sale/);
  const again = await submitSale(ann, '25.00', { how: 'card', code });
  assert.equal(again.status, 422);
  assert.match(plainText(again), /This card was sold before/);
  const redeeming = await shop.tokenFor('redeem_gift_cards');
  await shop.ask('POST /gift_card/lookup', { json: { code: other }, token: redeeming });
  await until(
    async () => (await service.query('select 1 from stock_codes where tried_at is not null')).length > 0,
  );
  const second = await submitSale(ann, '25.00', { how: 'card', code: other });
  const tried = await ann.get(second.headers.get('location') ?? '');
  assert.match(plainText(tried), /was tried before the sale/);
  const cancelled = await ann.post(`${second.headers.get('location')}/cancel`, {
    key: hiddenValue(tried, 'key'),
  });
  assert.equal(cancelled.status, 303, cancelled.text);
  assert.equal(
    (await submitSale(ann, '25.00', { how: 'card', code: other })).status,
    422,
    'it never returns',
  );
  assert.deepEqual(
    (await cardsOf(service)).map(({ balance }) => Number(balance)),
    [2_500, 0],
  );
});

test('from its first stock on, a store asks before it sells a code that is in no stock', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
  const shop = await shopOf(service, 'flowers.example');
  const [cashier, manager] = [
    await joinAs(service, { role: 'cashier', name: 'ann' }),
    await joinAs(service, { role: 'manager', name: 'eve' }),
  ];
  const checked = async (): Promise<string | undefined> =>
    /value="(\w+)"[^>]* checked/.exec((await cashier.get('/till/sell')).text)?.[1];
  assert.equal(await checked(), 'new', 'a store without stock sells codes on slips');
  const blank = await submitSale(cashier, '25.00', { how: 'card', code: 'BLANK-CARD-0001' });
  assert.equal(blank.status, 303, blank.text);

  await shop.ask('POST /stocks', { json: { codes: ['qpwx-00yz-0001', 'qpwx-00yz-0002'] } });
  await until(async () => (await service.query('select 1 from stock_codes')).length === 2);
  assert.equal(await checked(), 'card');
  const wrong = 'QPWX-00YZ-0009';
  const asked = await submitSale(cashier, '25.00', { how: 'card', code: wrong });
  assert.equal(asked.status, 422);
  assert.match(plainText(asked), /•••• 0009 is not one of your printed cards Nothing was sold/);
  assert.match(plainText(asked), /\$25\.00 is kept for the next scan/);
  assert.doesNotMatch(asked.text, /till\/sell\/own|qpwx00yz0009/i);
  // Scanned again, on a German keyboard, and typed with O for 0.
  const again = await cashier.post('/till/sell', {
    ...hiddenValues(asked, ['key', 'amount', 'how', 'email']),
    code: 'QPWX-00ZY-0001',
  });
  assert.equal(again.status, 303, again.text);
  assert.equal((await submitSale(cashier, '25.00', { how: 'card', code: 'QPWX-OOYZ-OOO2' })).status, 303);
  assert.equal((await service.query('select 1 from stock_codes where sold_at is not null')).length, 2);

  const offered = await submitSale(manager, '30.00', { how: 'card', code: wrong });
  assert.match(plainText(offered), /Sell \$30\.00 onto •••• 0009/);
  const own = hiddenValues(offered, ['key', 'amount', 'email', 'sealed']);
  assert.equal((await cashier.post('/till/sell/own', own)).status, 403);
  const sold = await manager.post('/till/sell/own', own);
  assert.equal(sold.status, 303, sold.text);
  assert.equal(
    (await manager.post('/till/sell/own', own)).headers.get('location'),
    sold.headers.get('location'),
  );
  assert.equal((await shop.lookUp(wrong)).balance, '30.00');
  for (const [code, reason] of [
    ['12345678', /it is a run such as 12345678/],
    ['QPWX', /8 to 20 letters or digits/],
    ['XXXX-XXXX-1234', /is masked/],
  ] as const) {
    const rejected = await submitSale(manager, '30.00', { how: 'card', code });
    assert.equal(rejected.status, 422);
    assert.match(plainText(rejected), reason);
  }
  assert.equal((await submitSale(cashier, '5.00', { how: 'new' })).status, 303, 'slips are not concerned');
});
