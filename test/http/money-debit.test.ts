/** Debit, credit and redeem: parameters, responses, errors and events. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { shopOf, lastEvent } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const undoWindowMinutes = 0;
const usd = currencyOf('USD');
const service = await startService({
  stores: [
    { domain: 'flowers.example', undoWindowMinutes },
    { domain: 'yen.example', currency: 'JPY', undoWindowMinutes },
    { domain: 'dinar.example', currency: 'KWD', undoWindowMinutes },
    { domain: 'limited.example', undoWindowMinutes, issueLimit: { minor: 100_00n, currency: usd } },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const redeemed = { events: ['gift_card.redeemed'] };
const credited = { events: ['gift_card.credited'] };

test('a debit returns 201 with its transaction and the card, and publishes one event', async () => {
  const { id } = await shop.issue();
  const json = { amount: '10.5', currency: 'USD', reference: 'receipt-1017', note: 'Roses', order_id: 1001 };
  const { transaction, gift_card: card, response } = await shop.does(`POST /gift_card/${id}/debit`, { json }, redeemed);
  const { id: transactionId, actor, created_at: at, ...rest } = transaction;
  assert.deepEqual(rest, {
    gift_card_id: id, kind: 'debit', amount: '-10.50', currency: 'USD', balance_after: '14.50', reference: 'receipt-1017',
    note: 'Roses', order_id: 1001, order_reference: null, external_id: null, location_id: null, hold_id: null, reverses: null,
  });
  assert.match(actor, /^api_client:\d+$/);
  assert.ok(Math.abs(Date.parse(at) - service.clock.now()) < 5_000, at);
  assert.deepEqual([card.balance, card.held, card.available, card.initial_value], ['14.50', '0.00', '14.50', '25.00']);
  assert.equal((await shop.read(id)).balance, '14.50');
  const { gift_card: published, transaction: publishedTransaction } = await lastEvent(service, id, 'gift_card.redeemed');
  assert.deepEqual(publishedTransaction, transaction);
  assert.equal((published as { balance: string }).balance, '14.50');
  const { headers } = await shop.ask(`GET /gift_card/${id}`);
  assert.equal(headers.get('etag'), response.headers.get('etag'));
  assert.deepEqual((await shop.transactions(id)).map((one) => one.id)[0], transactionId);
}); // prettier-ignore

test('a debit of the whole balance leaves 0.00, and the next one is rejected', async () => {
  const { id } = await shop.issue();
  await shop.debits(id, '25');
  const line = `POST /gift_card/${id}/debit`;
  const errors = { amount: ['must be at most 0.00, the available amount'] };
  for (const partial of [false, true]) {
    await shop.rejects(
      line,
      { json: { amount: '0.01', partial } },
      { code: 'insufficient-balance', errors, available: '0.00' },
    );
  }
});

test('a debit above the available amount is rejected with that amount, which excludes holds', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/debit`;
  await shop.rejects(
    line,
    { json: { amount: '25.01' } },
    {
      code: 'insufficient-balance',
      errors: { amount: ['must be at most 25.00, the available amount'] },
      available: '25.00',
    },
  );
  await shop.holds(id, '20');
  await shop.rejects(
    line,
    { json: { amount: '5.01' } },
    { code: 'insufficient-balance', errors: { amount: ['must be at most 5.00, the available amount'] } },
  );
  const { gift_card: card } = await shop.does(line, { json: { amount: 5 } }, redeemed);
  assert.deepEqual([card.balance, card.held, card.available], ['20.00', '20.00', '0.00']);
});

test('a partial debit takes the available amount and returns it', async () => {
  const { id, code } = await shop.issue();
  await shop.holds(id, '20');
  const line = `POST /gift_card/${id}/debit`;
  const some = await shop.does(line, { json: { amount: '100', partial: true } }, redeemed);
  assert.deepEqual([some.transaction.amount, some.gift_card.available], ['-5.00', '0.00']);
  await shop.rejects(
    line,
    { json: { amount: '1', partial: true } },
    { code: 'insufficient-balance', available: '0.00' },
  );

  const other = await shop.issue();
  const form = `transaction[code]=${other.code}&transaction[amount]=30.00&transaction[partial]=1`;
  const all = await shop.does('POST /gift_card/redeem', { form }, redeemed);
  assert.deepEqual([all.transaction.amount, all.gift_card.balance], ['-25.00', '0.00']);
  const enough = await shop.issue();
  const whole = await shop.does(
    `POST /gift_card/${enough.id}/debit`,
    { form: 'amount=7&partial=true' },
    redeemed,
  );
  assert.equal(whole.transaction.amount, '-7.00');
  assert.equal((await shop.lookUp(code)).available, '0.00');
});

test('redeem debits the card with the code in one step, in any spelling of the code', async () => {
  const { id, code } = await shop.issue({ code: 'SPRING-2031-0001' });
  shop.codes.add('spring-2031-0001');
  assert.equal(code, 'spring20310001');
  const json = { code: ' Spring 2031-0001', amount: '4', reference: 'till 7', note: null, order_id: 77 };
  const one = await shop.does('POST /gift_card/redeem', { json }, redeemed);
  assert.deepEqual(
    [one.transaction.gift_card_id, one.transaction.kind, one.transaction.amount, one.gift_card.balance],
    [id, 'debit', '-4.00', '21.00'],
  );
  assert.deepEqual([one.transaction.reference, one.transaction.order_id], ['till 7', 77]);
  await shop.rejects(
    'POST /gift_card/redeem',
    { json: { code, amount: 22 } },
    { code: 'insufficient-balance', available: '21.00' },
  );
});

test('a credit adds value, with one event and one transaction', async () => {
  const { id } = await shop.issue();
  const made = await shop.does(
    `POST /gift_card/${id}/credit`,
    { json: { amount: '10', reference: 'top-up' } },
    credited,
  );
  const { kind, amount, balance_after: after10, reference } = made.transaction;
  assert.deepEqual([kind, amount, after10, reference], ['credit', '10.00', '35.00', 'top-up']);
  assert.deepEqual([made.gift_card.available, made.gift_card.initial_value], ['35.00', '25.00']);
  assert.deepEqual((await lastEvent(service, id, 'gift_card.credited'))['transaction'], made.transaction);
  await shop.rejects(
    `POST /gift_card/${id}/credit`,
    { json: { amount: 1, partial: true } },
    { code: 'invalid-parameter', errors: { partial: ['is not a known parameter'] } },
  );
});

test('credits cannot exceed the limit of the store', async () => {
  const limited = await shopOf(service, 'limited.example');
  const { id, code } = await limited.issue({ initial_value: '99.99' });
  const line = `POST /gift_card/${id}/credit`;
  await limited.rejects(line, { json: { amount: '0.02' } }, { code: 'invalid-parameter' });
  const { gift_card: card } = await limited.does(line, { json: { amount: '0.01' } }, credited);
  assert.equal(card.balance, '100.00');
  const response = await limited.returnsError(
    line,
    { json: { amount: '0.01' } },
    { code: 'invalid-parameter' },
  );
  assert.match(response.text, /"errors":\{"amount":\["[^"]*100\.00/);
  await limited.debits(id, '60');
  await limited.does(line, { json: { amount: '60' } }, credited);
  assert.equal((await limited.lookUp(code)).balance, '100.00');
  // A debit above the limit lacks balance. The limit does not reject it.
  await limited.rejects(
    `POST /gift_card/${id}/debit`,
    { json: { amount: 500 } },
    { code: 'insufficient-balance' },
  );
  await limited.assertNoCodeLeaked();
});

test('without a limit of the store, a balance has at most 12 digits before the point', async () => {
  const { id } = await shop.issue({ initial_value: '999999999999.98' });
  const line = `POST /gift_card/${id}/credit`;
  await shop.does(line, { json: { amount: '0.01' } }, credited);
  await shop.rejects(line, { json: { amount: '0.01' } }, { code: 'invalid-parameter' });
  await shop.rejects(line, { json: { amount: '999999999999.99' } }, { code: 'invalid-parameter' });
});

test('a disabled card rejects debits and credits with its own error code', async () => {
  const { id, code } = await shop.issue();
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const json = { amount: 1 };
  const disabled = { code: 'card-disabled' } as const;
  for (const what of ['debit', 'credit', 'holds'])
    await shop.rejects(`POST /gift_card/${id}/${what}`, { json }, disabled);
  await shop.rejects(`POST /gift_card/${id}/debit`, { json: { ...json, partial: true } }, disabled);
  await shop.rejects('POST /gift_card/redeem', { json: { ...json, code } }, disabled);
});

test('an expired card rejects debits and credits; on its last day it accepts both', async () => {
  const today = Temporal.Instant.fromEpochMilliseconds(service.clock.now()).toZonedDateTimeISO('UTC').toPlainDate();
  const { id, code } = await shop.issue({ expires_on: today.toString() });
  await shop.debits(id, '1');
  await shop.does(`POST /gift_card/${id}/credit`, { json: { amount: 1 } }, credited);
  const yesterday = today.subtract({ days: 1 }).toString();
  await shop.does(`PUT /gift_card/${id}`, { json: { expires_on: yesterday } }, { events: ['gift_card.updated'] });
  const json = { amount: 1 };
  for (const what of ['debit', 'credit', 'holds'])
    await shop.rejects(`POST /gift_card/${id}/${what}`, { json }, { code: 'card-expired' });
  await shop.rejects('POST /gift_card/redeem', { json: { ...json, code } }, { code: 'card-expired' });
  await shop.does(`PUT /gift_card/${id}`, { json: { expires_on: null } }, { events: ['gift_card.updated'] });
  await shop.debits(id, '1');
}); // prettier-ignore

test('another currency than that of the card is rejected with its own error code', async () => {
  const { id, code } = await shop.issue();
  const errors = { currency: ['is EUR, but the gift card is in USD'] };
  const json = { amount: 1, currency: 'EUR' };
  for (const what of ['debit', 'credit', 'holds'])
    await shop.rejects(`POST /gift_card/${id}/${what}`, { json }, { code: 'currency-mismatch', errors });
  await shop.rejects(
    'POST /gift_card/redeem',
    { json: { ...json, code } },
    { code: 'currency-mismatch', errors },
  );
});

for (const { domain, amounts } of [
  { domain: 'yen.example', amounts: ['15', '4', '11', '1', '15.5', '6'] },
  { domain: 'dinar.example', amounts: ['15.000', '4.125', '10.875', '0.001', '0.0005', '5.876'] },
] as const) {
  test(`amounts have exactly the decimals of the currency: ${domain}`, async () => {
    const local = await shopOf(service, domain);
    const [value, taken, rest, least, tooFine, left] = amounts;
    const { id, code } = await local.issue({ initial_value: value });
    const debit = await local.debits(id, taken);
    assert.deepEqual([debit.amount, debit.balance_after], [`-${taken}`, rest]);
    await local.rejects(
      `POST /gift_card/${id}/debit`,
      { json: { amount: tooFine } },
      { code: 'invalid-parameter' },
    );
    const hold = await local.holds(id, least);
    assert.deepEqual([hold.amount, hold.captured_amount.length], [least, least.length]);
    const { gift_card: credit } = await local.does(
      `POST /gift_card/${id}/credit`,
      { json: { amount: least } },
      credited,
    );
    assert.equal(credit.available, rest);
    await local.does(`POST /holds/${hold.id}/void`, {}, { status: 200, events: ['gift_card.hold_released'] });
    const { gift_card: reversed } = await local.does(
      `POST /transactions/${debit.id}/reverse`,
      {},
      { events: ['gift_card.reversed'] },
    );
    assert.match(reversed.balance, domain === 'yen.example' ? /^16$/ : /^15\.001$/);
    assert.equal((await local.debits(id, left)).amount, `-${left}`);
    assert.ok((await local.lookUp(code)).balance);
    await local.assertNoCodeLeaked();
  });
}

test('the log and the database contain no code, and only a creation returns one', () =>
  shop.assertNoCodeLeaked());
