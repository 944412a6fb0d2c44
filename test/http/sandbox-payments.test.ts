/** The payments of a sandbox: a visitor buys, and a tester decides on the page of the sandbox what happens. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join } from '../support/console.ts';
import { formOf, textOfPage } from '../support/counter-staff.ts';
import { freePort } from '../support/postgres-port.ts';
import { startService } from '../support/service.ts';

const path = '/settings/online-sales';
const origin = 'https://cards.flowers.example';

const sandbox = {
  isSandbox: true,
  stores: [{ domain: consoleDomain, name: 'Flowers', currency: 'EUR', vat: { kind: 'multi_purpose' } }],
} as const;
const service = await startService({ ...sandbox, environment: { PUBLIC_URL: origin } });
after(() => service[Symbol.asyncDispose]());
const at = { ...service, url: origin };
const visitor = (): Browser => openBrowser(at);
const owner = await join(service, 'owner', visitor());

async function send(
  by: Browser,
  action: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  const response = await by.post(action, { ...formOf(await by.get(path), action), ...changes });
  assert.equal(response.status, 303, textOfPage(response));
}

async function openBuyPage(by: Browser): Promise<void> {
  await send(by, `${path}/provider`, { kind: 'sandbox', provider_key: '', hint_secret: '' });
  await send(by, path, { terms_url: 'https://flowers.example/terms', review_above: '' });
  await send(by, `${path}/open`);
}

test('the provider of the sandbox needs no key, and its page opens', async () => {
  await openBuyPage(owner);
  assert.match(textOfPage(await owner.get(path)), /This is a sandbox/);
});

let orders = 0;

type Order = { readonly pay: string; readonly buyer: Browser };

async function order(buyer = visitor(), base = origin): Promise<Order> {
  orders += 1;
  const page = await buyer.get(`/buy/${consoleDomain}`);
  const [, action = ''] = /<form[^>]* action="(\/buy[^"]*)"/.exec(page.text) ?? [];
  const sent = await buyer.post(action, {
    ...formOf(page, action),
    amount: 'own',
    own: '30',
    for: 'other',
    to: 'Grace',
    from: 'Ada',
    email: 'grace@example.com',
    buyer_email: `ada${orders}@example.com`,
  });
  assert.equal(sent.status, 303, textOfPage(sent));
  const { href, pathname } = new URL(sent.headers.get('location') ?? '');
  assert.equal(href, `${base}${pathname}`);
  return { pay: pathname, buyer };
}

async function act({ pay, buyer }: Order, action: string, method = 'card'): Promise<string> {
  const response = await buyer.post(pay, { action, method });
  assert.equal(response.status, 303, textOfPage(response));
  return response.headers.get('location') ?? '';
}

async function saleOf({ pay }: Order): Promise<Readonly<Record<string, unknown>>> {
  const id = pay.split('/').at(-1) ?? '';
  const rows = await service.query(
    'select state, dispute, refunded, card_id, method from online_sales where session_id = ?',
    id,
  );
  return rows[0] ?? assert.fail(id);
}

test('a payment leads to the order, and makes one card', async () => {
  const ordered = await order();
  assert.match(textOfPage(await ordered.buyer.get(ordered.pay)), /No money moves.*€30\.00.*open/);
  const back = await act(ordered, 'pay');
  assert.match(back, new RegExp(`^/buy/${consoleDomain}/order/`));
  assert.equal((await ordered.buyer.get(back)).status, 200);
  const { state, method } = await saleOf(ordered);
  assert.deepEqual([state, method], ['issued', 'Visa •••• 4242']);
  await act(ordered, 'pay');
  assert.equal((await service.query('select 1 as one from gift_cards')).length, 1);
});

test('a transfer waits, and pays or not', async () => {
  for (const [action, expected] of [
    ['arrive', 'issued'],
    ['fail', 'failed'],
  ] as const) {
    const ordered = await order();
    await act(ordered, 'pay-later');
    assert.equal((await saleOf(ordered))['state'], 'waiting');
    assert.match(textOfPage(await ordered.buyer.get(ordered.pay)), /waits for the money/);
    await act(ordered, action);
    assert.equal((await saleOf(ordered))['state'], expected);
  }
});

test('a declined payment fails, and a cancelled one leads back to the form', async () => {
  const declined = await order();
  await act(declined, 'decline');
  assert.equal((await saleOf(declined))['state'], 'failed');
  const cancelled = await order();
  assert.match(await act(cancelled, 'cancel'), new RegExp(`^/buy/${consoleDomain}\\?order=`));
  assert.equal((await saleOf(cancelled))['state'], 'expired');
});

test('a warning, a dispute and its end reach the sale', async () => {
  const ordered = await order();
  await act(ordered, 'pay', 'foreign');
  for (const [action, state] of [
    ['warn', 'warning'],
    ['dispute', 'open'],
    ['win', 'won'],
  ] as const) {
    assert.equal(await act(ordered, action), ordered.pay);
    assert.equal((await saleOf(ordered))['dispute'], state);
  }
});

test('a refund at the provider reaches the sale, and a risky payment is reviewed', async () => {
  const ordered = await order();
  await act(ordered, 'pay');
  await act(ordered, 'refund');
  assert.equal(Number((await saleOf(ordered))['refunded']), 3_000);
  assert.match(textOfPage(await ordered.buyer.get(ordered.pay)), /Refunds €30\.00 \(paid\)/);
  const risky = await order();
  await act(risky, 'pay', 'risky');
  assert.equal((await saleOf(risky))['state'], 'review');
});

test('the page exists only for sessions, and only for actions that are possible', async () => {
  const ordered = await order();
  for (const action of ['refund', 'arrive', 'nonsense']) {
    await ordered.buyer.post(ordered.pay, { action });
    assert.equal((await saleOf(ordered))['state'], 'open');
  }
  for (const wrong of ['sb_1_0000000000000000000000', 'cs_test_1', `${ordered.pay.split('/').at(-1)}x`])
    assert.equal((await visitor().get(`/sandbox/pay/${wrong}`)).status, 404);
  const crossSite = await visitor().request(ordered.pay, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
    body: 'action=pay',
  });
  assert.equal(crossSite.status, 403);
});

test('a sandbox without a public URL sells on this machine', async () => {
  const port = await freePort();
  await using local = await startService({ ...sandbox, environment: { PORT: String(port) } });
  await openBuyPage(await join(local, 'owner'));
  const ordered = await order(openBrowser(local), `http://localhost:${port}`);
  assert.match(await act(ordered, 'pay'), new RegExp(`^/buy/${consoleDomain}/order/`));
  assert.deepEqual(await local.query('select state from online_sales'), [{ state: 'issued' }]);
});
