/** Top-ups: credits of the kind `top_up`, their limits, the later expiry that they can set, and their reversals. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { addDays } from '../../src/core/domain/day.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { lastEvent, shopOf } from '../support/shop.ts';

const usd = currencyOf('USD');
const service = await startService({
  stores: [
    { domain: 'flowers.example' },
    { domain: 'limited.example', issueLimit: { minor: 100_00n, currency: usd } },
    { domain: 'taxed.example', vat: { kind: 'single_purpose', rate: '19' } },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const credited = { events: ['gift_card.credited'] };
const extended = { events: ['gift_card.credited', 'gift_card.updated'] };
const kind = 'top_up';
const today = new Date(service.clock.now()).toISOString().slice(0, 10);

async function liabilityOf(domain: string): Promise<Readonly<Record<string, string>>> {
  const token = await service.token(domain, ['read_reports']);
  const response = await service.request('/reports/liability', { method: 'GET', token });
  assert.equal(response.status, 200, response.text);
  return (response.json as { readonly liability: Readonly<Record<string, string>> }).liability;
}

test('a top-up is a transaction of its own kind and account, with one event', async () => {
  const { id } = await shop.issue();
  const json = { kind, amount: '10', reference: 'till 7', note: 'cash', order_id: 77, expires_on: null };
  const made = await shop.does(`POST /gift_card/${id}/credit`, { json }, credited);
  const { id: transactionId, actor, created_at: _at, ...rest } = made.transaction;
  assert.deepEqual(rest, {
    gift_card_id: id,
    kind,
    amount: '10.00',
    currency: 'USD',
    balance_after: '35.00',
    reference: 'till 7',
    note: 'cash',
    order_id: 77,
    order_reference: null,
    external_id: null,
    location_id: null,
    hold_id: null,
    reverses: null,
  });
  assert.match(actor, /^api_client:\d+$/);
  assert.deepEqual([made.gift_card.balance, made.gift_card.initial_value], ['35.00', '25.00']);
  assert.deepEqual((await lastEvent(service, id, 'gift_card.credited'))['transaction'], made.transaction);
  const [row] = await service.query(
    'select debit_account, credit_account from transfers where id = ?',
    service.internalId(transactionId),
  );
  assert.deepEqual([row?.['debit_account'], row?.['credit_account']], ['top_ups', 'card']);
});

test('a form tops up a card, and a null kind is a credit', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/credit`;
  const form =
    'transaction[amount]=5&transaction[kind]=top_up&transaction[expires_on]=&transaction[notify]=0';
  assert.equal((await shop.does(line, { form }, credited)).transaction.kind, kind);
  const plain = await shop.does(line, { json: { amount: '5', kind: null } }, credited);
  assert.equal(plain.transaction.kind, 'credit');
  const [row] = await service.query(
    'select debit_account from transfers where id = ?',
    service.internalId(plain.transaction.id),
  );
  assert.equal(row?.['debit_account'], 'sales');
});

test('a credit has neither an expiry nor a receipt, and knows no other kind', async () => {
  const { id } = await shop.issue({ expires_on: addDays(today, 30) });
  const line = `POST /gift_card/${id}/credit`;
  const needsKind = ['is accepted only with the kind top_up'];
  await shop.rejects(
    line,
    { json: { amount: '5', expires_on: addDays(today, 60), notify: false } },
    { code: 'invalid-parameter', errors: { expires_on: needsKind, notify: needsKind } },
  );
  for (const other of ['credit', 'sale', 'TOP_UP', '', 1, true])
    await shop.rejects(
      line,
      { json: { amount: '5', kind: other } },
      { code: 'invalid-parameter', errors: { kind: ['must be top_up'] } },
    );
});

test('a top-up can set a later expiry, in the same transaction and in the history', async () => {
  const first = addDays(today, 30);
  const { id } = await shop.issue({ expires_on: first });
  const line = `POST /gift_card/${id}/credit`;
  const day = addDays(today, 365);
  const { gift_card: card, response } = await shop.does(line, { json: { kind, amount: '5', expires_on: day } }, extended);
  assert.deepEqual([card.balance, card.expires_on], ['30.00', day]);
  assert.equal(response.headers.get('etag'), (await shop.ask(`GET /gift_card/${id}`)).headers.get('etag'));
  const { changed, gift_card: published } = await lastEvent(service, id, 'gift_card.updated');
  assert.deepEqual([changed, (published as { expires_on: string }).expires_on], [['expires_on'], day]);
  const { json } = await shop.ask(`GET /gift_card/${id}/history`);
  const [change] = (json as { readonly history: readonly { readonly changes: readonly object[] }[] }).history;
  assert.deepEqual(change?.changes, [{ field: 'expires_on', old: first, new: day, is_erased: false }]);

  // The same day changes nothing; an earlier one is rejected with the amount's error, and nothing changes.
  await shop.does(line, { json: { kind, amount: '1', expires_on: day } }, credited);
  await shop.rejects(
    line,
    { json: { kind, amount: '999999999999', expires_on: first } },
    {
      code: 'invalid-parameter',
      errors: {
        amount: ['cannot raise the balance to 1000000000030.00: the limit is 999999999999.99'],
        expires_on: [`cannot be before ${day}, the gift card's last valid day`],
      },
    },
  );
}); // prettier-ignore

test('a card that never expires gets no expiry by a top-up', async () => {
  const { id } = await shop.issue();
  await shop.rejects(
    `POST /gift_card/${id}/credit`,
    { json: { kind, amount: '5', expires_on: addDays(today, 60) } },
    {
      code: 'invalid-parameter',
      errors: { expires_on: ['cannot be set, because the gift card never expires'] },
    },
  );
});

test('an expired or disabled card cannot be topped up, even with a later expiry', async () => {
  const expired = await shop.issue({ expires_on: today });
  await shop.does(`PUT /gift_card/${expired.id}`, { json: { expires_on: addDays(today, -1) } }, { events: ['gift_card.updated'] });
  for (const expires_on of [null, addDays(today, 60)])
    await shop.rejects(`POST /gift_card/${expired.id}/credit`, { json: { kind, amount: '5', expires_on } }, { code: 'card-expired' });
  const disabled = await shop.issue();
  await shop.does(`PUT /gift_card/${disabled.id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  await shop.rejects(`POST /gift_card/${disabled.id}/credit`, { json: { kind, amount: '5' } }, { code: 'card-disabled' });
}); // prettier-ignore

test('a top-up cannot raise the balance above the limit of the store', async () => {
  const limited = await shopOf(service, 'limited.example');
  const { id } = await limited.issue({ initial_value: '60' });
  const line = `POST /gift_card/${id}/credit`;
  const errors = { amount: ['cannot raise the balance to 100.01: the limit is 100.00'] };
  await limited.rejects(line, { json: { kind, amount: '40.01' } }, { code: 'invalid-parameter', errors });
  const { gift_card: card } = await limited.does(line, { json: { kind, amount: '40' } }, credited);
  assert.equal(card.balance, '100.00');
});

test('a top-up needs write_gift_cards, and so does its reversal', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/credit`;
  const { transaction } = await shop.does(line, { json: { kind, amount: '5' } }, credited);
  const token = await service.token('flowers.example', ['redeem_gift_cards']);
  const reversal = `POST /transactions/${transaction.id}/reverse`;
  await shop.rejects(line, { json: { kind, amount: '5' }, token }, { code: 'insufficient-scope' });
  await shop.rejects(reversal, { json: {}, token }, { code: 'insufficient-scope' });
});

test('a dry run and a stale If-Match top nothing up, and a repetition does it once', async () => {
  const { id } = await shop.issue({ expires_on: addDays(today, 30) });
  const line = `POST /gift_card/${id}/credit`;
  const json = { kind, amount: '5', expires_on: addDays(today, 60) };
  const etag = (await shop.ask(`GET /gift_card/${id}`)).headers.get('etag') ?? assert.fail();
  const dry = await shop.does(`${line}?dry_run=true`, { json }, { events: [] });
  assert.deepEqual([dry.gift_card.balance, dry.gift_card.expires_on], ['30.00', json.expires_on]);
  assert.equal((await shop.read(id)).balance, '25.00');
  const headers = { 'if-match': etag, 'idempotency-key': 'top-up-1' };
  const one = await shop.does(line, { json, headers }, extended);
  const again = await shop.ask(line, { json, headers });
  assert.deepEqual(again.text, one.response.text);
  assert.equal((await shop.read(id)).balance, '30.00');
  await shop.rejects(line, { json, headers: { 'if-match': etag } }, { code: 'precondition-failed' });
});

test('the sale and the VAT of a top-up are those of the card, and its reversal takes both back', async () => {
  const taxed = await shopOf(service, 'taxed.example');
  const { id } = await taxed.issue({ initial_value: '119.00' });
  const line = `POST /gift_card/${id}/credit`;
  const { transaction } = await taxed.does(line, { json: { kind, amount: '11.90' } }, credited);
  const before = await liabilityOf('taxed.example');
  assert.deepEqual(
    [before['issued'], before['topped_up'], before['outstanding_vat'], before['outstanding_net']],
    ['119.00', '11.90', '20.90', '110.00'],
  );
  const reversal = `POST /transactions/${transaction.id}/reverse`;
  const reversed = { events: ['gift_card.reversed'] };
  await taxed.does(reversal, { json: { amount: '5.95' } }, reversed);
  await taxed.debits(id, '120');
  await taxed.rejects(reversal, { json: {} }, { code: 'insufficient-balance', available: '4.95' });
  await taxed.does(reversal, { json: { amount: '4.95' } }, reversed);
  const left = await liabilityOf('taxed.example');
  assert.deepEqual(
    [left['issued'], left['topped_up'], left['redeemed'], left['outstanding'], left['outstanding_vat']],
    ['119.00', '1.00', '120.00', '0.00', '0.00'],
  );
});

test('the holder of the card gets a receipt, of what was added and the balance after it', async () => {
  await using server = await smtpServer();
  await using mailing = await startService({
    stores: [{ domain: 'mailing.example' }],
    environment: { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@mailing.example' },
  });
  const sender = await shopOf(mailing, 'mailing.example');
  const { id } = await sender.issue({
    email: 'ada@example.com',
    recipient_email: 'grace@example.com',
    notify: false,
  });
  const line = `POST /gift_card/${id}/credit`;
  await sender.does(line, { json: { kind, amount: '3', notify: false } }, credited);
  await sender.does(line, { json: { amount: '4' } }, credited);
  const json = { kind, amount: '10', order_id: 1017, reference: 'till 7', note: 'cash' };
  await sender.does(line, { json }, credited);
  await sender.debits(id, '30');
  const deliveries = async () =>
    (
      (await sender.ask(`GET /gift_card/${id}/deliveries`)).json as {
        readonly deliveries: readonly {
          readonly kind: string;
          readonly status: string;
          readonly recipient: string;
        }[];
      }
    ).deliveries;
  await until(async () => (await deliveries()).every(({ status }) => status === 'sent'));
  assert.deepEqual(
    (await deliveries()).map(({ kind: sent, recipient }) => [sent, recipient]),
    [['top_up', 'grace@example.com']],
  );
  const [receipt, ...others] = receivedEmails(server);
  assert.deepEqual([others.length, receipt?.code], [0, '']);
  const text = receipt?.text ?? '';
  for (const part of ['$10.00', '$42.00', '1017']) assert.ok(text.includes(part), part);
  for (const part of ['till 7', 'cash', '$12.00']) assert.ok(!text.includes(part), part);

  const alone = await sender.issue({ notify: false });
  await sender.does(`POST /gift_card/${alone.id}/credit`, { json: { kind, amount: '10' } }, credited);
  assert.equal((await mailing.query('select 1 from email_deliveries')).length, 1);
});
