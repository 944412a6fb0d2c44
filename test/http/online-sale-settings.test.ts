/** The settings of online sales, from the pasted key to the first paid sale and its notification. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';
import { stripeHint, stripeService, stripeThinHint } from '../support/stripe.ts';

const path = '/settings/online-sales';
const origin = 'https://cards.flowers.example';
const key = 'sk_live_0123456789abcdef';
const secret = 'whsec_0123456789abcdef0123456789abcdef';

let clock = Date.now;
const stripe = await stripeService(() => clock());
after(() => stripe[Symbol.asyncDispose]());
stripe.keys.set(key, []);
stripe.keys.set('sk_test_0123456789abcdef', []);

const shop = await openStaffedShop({
  store: { vat: null },
  environment: { PUBLIC_URL: origin },
  emailNetwork: stripe.network,
});
after(() => shop[Symbol.asyncDispose]());
const { service } = shop;
clock = () => service.clock.now();
const visitor = (): Browser => openBrowser({ ...service, url: origin });
const owner = await join(service, 'owner', visitor());

async function send(action: string, changes: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
  return await owner.post(action, { ...formOf(await owner.get(path), action), ...changes });
}

async function saveKey(fields: Readonly<Record<string, string>>): Promise<TestResponse> {
  return await send(`${path}/provider`, { hint_secret: '', ...fields });
}

/** The address of the notifications, as the page shows it. */
async function hintPath(): Promise<string> {
  const [, found = ''] =
    /https:\/\/cards\.flowers\.example(\/payments\/stripe\/\d+)/.exec((await owner.get(path)).text) ?? [];
  assert.notEqual(found, '');
  return found;
}

async function notify(
  event: { readonly type: string; readonly object: object },
  { secrets = [secret], to }: { readonly secrets?: readonly string[]; readonly to?: string } = {},
): Promise<TestResponse> {
  const { body, headers } = stripeHint(event, { secrets, at: service.clock.now(), isLive: true });
  return await visitor().request(to ?? (await hintPath()), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

const states = async (): Promise<readonly unknown[]> =>
  (await service.query('select state from online_sales order by id')).map(({ state }) => state);

test('the page names what has to be done before it can be opened', async () => {
  const page = textOfPage(await owner.get(path));
  for (const reason of ['address of your terms', 'kind of VAT', 'Set up a payment provider'])
    assert.match(page, new RegExp(reason));
  const response = await send(`${path}/open`);
  assert.equal(response.status, 422);
  assert.match(textOfPage(response), /cannot be opened yet/);
});

test('a key that is not one, or that the provider rejects, is not stored', async () => {
  const cases = [
    [{ kind: '', provider_key: key }, /Choose a provider/],
    [{ kind: 'sandbox', provider_key: '' }, /Choose a provider/],
    [{ kind: 'stripe', provider_key: 'pk_live_0123456789abcdef' }, /not a secret key of Stripe/],
    [{ kind: 'stripe', provider_key: `sk_live_${'x'.repeat(400)}` }, /not a secret key of Stripe/],
    [{ kind: 'mollie', provider_key: key }, /not an API key of Mollie/],
    [{ kind: 'stripe', provider_key: key, hint_secret: 'secret' }, /not a signing secret/],
    [
      { kind: 'stripe', provider_key: 'sk_live_unknown0123456' },
      /has not accepted the key: responded with 401/,
    ],
  ] as const;
  for (const [fields, expected] of cases) {
    const response = await saveKey(fields);
    assert.equal(response.status, 422);
    assert.match(textOfPage(response), expected);
    const typed = fields.provider_key;
    assert.ok(typed === '' || !response.text.includes(typed), 'a key is never shown');
  }
  stripe.keys.set('rk_live_0123456789abcdef', ['/v1/refunds']);
  const lacking = await saveKey({ kind: 'stripe', provider_key: 'rk_live_0123456789abcdef' });
  assert.match(textOfPage(lacking), /does not have the required permissions/);
  assert.deepEqual(await service.query('select 1 as one from payment_providers'), []);
});

test('a test key is shown as one, and a live key is stored encrypted', async () => {
  const tested = await saveKey({ kind: 'stripe', provider_key: 'sk_test_0123456789abcdef' });
  assert.equal(tested.headers.get('location'), `${path}?done=savedTest`);
  assert.match(textOfPage(await owner.get(path)), /Test mode: the provider takes no real money/);
  const saved = await saveKey({ kind: 'stripe', provider_key: key, hint_secret: secret });
  assert.equal(saved.headers.get('location'), `${path}?done=saved`, textOfPage(saved));
  const page = await owner.get(path);
  assert.match(textOfPage(page), /Flowers \(acct_1PgafTB7WZ01zgkW\).*signed by Stripe/);
  for (const text of [page.text, await service.state(), service.log()])
    for (const each of [key, secret]) assert.ok(!text.includes(each));
});

test('the settings reject what makes no sense, at their fields', async () => {
  const cases = [
    [{ presets: '10; 20; 30; 40; 50; 60; 70' }, /at most six amounts/],
    [{ presets: '5; 500' }, /between the smallest and the largest/],
    [{ min: '0' }, /greater than 0/],
    [{ min: '300', presets: '' }, /must not be below the smallest/],
    [{ terms_url: 'javascript:alert(1)' }, /starts with https/],
    [{ terms_text: 'x'.repeat(40_001) }, /at most 40,000 characters/],
    [{ terms_text: 'x'.repeat(400_000) }, /at most 40,000 characters/],
    [{ terms_text: 'bell \u0007' }, /without control characters/],
    [{ frame_domains: 'flowers.example nonsense!' }, /at most ten domains/],
    [{ validity_months: '0' }, /1 to 600 months/],
    [{ review_hours: '121' }, /1 to 120 hours/],
    [{ reviews_foreign: 'yes', country: '' }, /Enter your country/],
    [{ country: 'Germany' }, /two letters/],
  ] as const;
  for (const [fields, expected] of cases) {
    const response = await send(path, fields);
    assert.equal(response.status, 422, JSON.stringify(fields));
    assert.match(textOfPage(response), expected);
  }
});

test('the settings are saved, and not over those of another person', async () => {
  const before = await owner.get(path);
  const response = await send(path, {
    presets: '25; 100; 50',
    terms_url: 'https://flowers.example/terms',
    frame_domains: 'https://www.flowers.example/shop, flowers.example',
    terms_text: `§ 1\r\n${'😀'.repeat(39_996)}`,
    country: 'de',
    validity_months: '12',
  });
  assert.equal(response.headers.get('location'), `${path}?done=saved`, textOfPage(response));
  const page = await owner.get(path);
  const form = formOf(page, path);
  assert.deepEqual(
    [form['presets'], form['frame_domains'], form['country']],
    ['25.00; 50.00; 100.00', 'www.flowers.example flowers.example', 'DE'],
  );
  const [saved] = await service.query('select terms_text from sale_pages');
  assert.equal(saved?.['terms_text'], `§ 1\n${'😀'.repeat(39_996)}`);
  assert.ok(!service.log().includes('😀'));
  assert.match(textOfPage(page), /does not accept so short a validity/);
  const late = await owner.post(path, { ...formOf(before, path), terms_url: '' });
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /Another person has changed these settings/);
});

test('the page opens when nothing is missing, and its link is in the window and on the website', async () => {
  const vat = await owner.post('/settings/limits', {
    ...formOf(await owner.get('/settings/limits'), '/settings/limits'),
    vat: 'multi_purpose',
  });
  assert.equal(vat.status, 303, textOfPage(vat));
  const { text } = await owner.get(path);
  assert.ok(text.includes(`${origin}/buy/${consoleDomain}?frame`));
  assert.equal((await send(`${path}/open`)).headers.get('location'), `${path}?done=opened`);
  const code = await owner.get(`${path}/window.svg`);
  assert.deepEqual(
    [code.headers.get('content-type'), code.text.slice(0, 40)],
    ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" '],
  );
  assert.equal((await visitor().get(`/buy/${consoleDomain}`)).status, 200);
});

/** A visitor sends the form. @returns the id of the session. */
async function order(): Promise<string> {
  const buyer = visitor();
  const buy = `/buy/${consoleDomain}`;
  const page = await buyer.get(buy);
  const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(page.text) ?? [];
  const sent = await buyer.post(action, {
    ...formOf(page, action),
    amount: 'own',
    own: '30',
    for: 'other',
    to: 'Grace',
    email: 'grace@example.com',
    from: 'Ada',
    buyer_email: 'ada@example.com',
  });
  assert.equal(sent.status, 303, textOfPage(sent));
  const location = sent.headers.get('location') ?? '';
  assert.match(location, /^https:\/\/checkout\.stripe\.com\//);
  const session = [...stripe.sessions.values()].find(({ url }) => url === location);
  assert.ok(session);
  return session.id;
}

test('a notification has the payment read, and a forged one does nothing', async () => {
  const id = await order();
  stripe.pay(id);
  const event = stripe.events.at(-1) ?? assert.fail();
  const before = stripe.requests.length;
  const forged = await notify(event, { secrets: ['whsec_fedcba9876543210fedcba9876543210'] });
  assert.deepEqual([forged.status, forged.text], [200, '']);
  assert.deepEqual([stripe.requests.length, await states()], [before, ['open']]);
  const real = await notify(event);
  assert.deepEqual([real.status, real.text], [200, '']);
  await until(async () => (await states()).at(-1) === 'issued');
  for (const _attempt of [1, 2]) assert.equal((await notify(event)).status, 200);
  const cards = await service.query('select 1 as one from gift_cards');
  assert.equal(cards.length, 1);
});

test('a thin event has the payment of its object read, and is sent again if the provider does not respond', async () => {
  const thin = async (id: string, type: string): Promise<number> => {
    const options = { secrets: [secret], at: service.clock.now(), isLive: true };
    const { body, headers } = stripeThinHint({ type: `v1.${type}`, related: { id, type } }, options);
    const to = await hintPath();
    const sent = { ...headers, 'content-type': 'application/json' };
    return (await visitor().request(to, { method: 'POST', headers: sent, body })).status;
  };
  const id = await order();
  stripe.pay(id);
  assert.equal(await thin(id, 'checkout.session'), 200);
  await until(async () => (await states()).at(-1) === 'issued');
  const refund = stripe.refund(id, 3_000);
  stripe.fault = () => 'lost-before';
  assert.equal(await thin(refund, 'refund'), 503);
  stripe.fault = () => undefined;
  assert.equal(await thin(refund, 'refund'), 200);
  // A finished sale is read later.
  service.clock.advance(30_000);
  const refunded = async () =>
    Number((await service.query('select refunded from online_sales order by id')).at(-1)?.['refunded']);
  await until(async () => (await refunded()) === 3_000);
});

test('a notification about another store, provider or payment gets the same response', async () => {
  const to = await hintPath();
  const event = { type: 'charge.refunded', object: { id: 'ch_1', payment_intent: 'pi_unknown' } };
  assert.equal((await notify(event)).status, 200);
  for (const other of [to.replace('stripe', 'mollie'), `${to.slice(0, -1)}${to.endsWith('1') ? '2' : '1'}`]) {
    const { status, text } = await notify(event, { to: other });
    assert.ok((status === 200 && text === '') || status === 404, other);
  }
  assert.equal((await notify(event, { to: to.replace('stripe', 'sandbox') })).status, 404);
  const long = await visitor().request(to, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: 'x'.repeat(300_000),
  });
  assert.equal(long.status, 413);
});

test('a key that the provider no longer accepts is shown to the owner, until it is accepted again', async () => {
  stripe.pay(await order());
  const event = stripe.events.at(-1) ?? assert.fail();
  stripe.keys.delete(key);
  assert.equal((await notify(event)).status, 200);
  const rejected = /has not accepted requests since .* responded with 401: Invalid API Key/;
  await until(async () => rejected.test(textOfPage(await owner.get(path))));
  assert.deepEqual((await states()).at(-1), 'open');
  stripe.keys.set(key, []);
  assert.equal((await notify(event)).status, 200);
  await until(async () => (await states()).at(-1) === 'issued');
  assert.doesNotMatch(textOfPage(await owner.get(path)), /has not accepted requests/);
});

test('the key is removed, and the page sells nothing', async () => {
  const form = { ...formOf(await owner.get(path), `${path}/provider/remove`), kind: 'stripe', test: '' };
  const removed = await owner.post(`${path}/provider/remove`, form);
  assert.equal(removed.headers.get('location'), `${path}?done=removed`, textOfPage(removed));
  const page = textOfPage(await owner.get(path));
  assert.doesNotMatch(page, /signed by Stripe/);
  assert.equal((await send(`${path}/close`)).headers.get('location'), `${path}?done=closed`);
});
