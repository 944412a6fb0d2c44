/** Reversals of debits, captures and credits, fully or in parts. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { problemOf } from '../support/money-responses.ts';
import { lastEvent, shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const reversed = { events: ['gift_card.reversed'] };

async function credit(id: number, amount: string): Promise<number> {
  const events = ['gift_card.credited'];
  const { transaction } = await shop.does(`POST /gift_card/${id}/credit`, { json: { amount } }, { events });
  return transaction.id;
}

test('a reversal of a debit is full by default', async () => {
  const { id } = await shop.issue();
  const debit = await shop.debits(id, '10', { reference: 'receipt-9', order_id: 4, note: 'of the debit' });
  const { transaction, gift_card: card } = await shop.does(`POST /transactions/${debit.id}/reverse`, {}, reversed);
  const { id: ownId, created_at: _at, actor, ...rest } = transaction;
  assert.deepEqual(rest, {
    gift_card_id: id, kind: 'reversal', amount: '10.00', currency: 'USD', balance_after: '25.00', reference: 'receipt-9',
    note: null, order_id: 4, order_reference: null, external_id: null, location_id: null, hold_id: null, reverses: debit.id,
  });
  assert.match(actor, /^api_client:/);
  assert.notEqual(ownId, debit.id);
  assert.deepEqual([card.balance, card.available], ['25.00', '25.00']);
  assert.deepEqual((await lastEvent(service, id, 'gift_card.reversed'))['transaction'], transaction);
  const [row] = await service.query('select debit_account, credit_account from transfers where id = ?', service.internalId(ownId));
  assert.deepEqual([row?.['debit_account'], row?.['credit_account']], ['redemptions', 'card']);
}); // prettier-ignore

test('a debit can be reversed in parts, up to its amount', async () => {
  const { id } = await shop.issue();
  const debit = await shop.debits(id, '10');
  const line = `POST /transactions/${debit.id}/reverse`;
  const exceeds = (left: string) => ({
    code: 'reversal-exceeds-transaction' as const,
    errors: { amount: [`must be at most ${left}, the amount that can be reversed`] },
    reversible: left,
  });
  const alreadyReversed = {
    code: 'reversal-exceeds-transaction' as const,
    errors: { amount: ['cannot be reversed: the transaction was already reversed in full'] },
    reversible: '0.00',
  };
  await shop.rejects(line, { json: { amount: '10.01' } }, exceeds('10.00'));
  const part = await shop.does(line, { json: { amount: '4', note: 'one rose' } }, reversed);
  assert.deepEqual([part.transaction.amount, part.transaction.note], ['4.00', 'one rose']);
  await shop.rejects(line, { json: { amount: '6.01' } }, exceeds('6.00'));
  await shop.does(line, { form: 'transaction[amount]=5.99&transaction[note]=' }, reversed);
  const rest = await shop.does(line, { json: { amount: null, note: null } }, reversed);
  assert.deepEqual([rest.transaction.amount, rest.gift_card.balance], ['0.01', '25.00']);
  const repeated = await shop.returnsError(line, {}, alreadyReversed);
  assert.equal(problemOf(repeated).detail, 'The transaction was already reversed in full.');
  await shop.rejects(line, { json: { amount: '0.01' } }, alreadyReversed);
});

test('a capture can be reversed up to its own amount, not that of the hold', async () => {
  const { id } = await shop.issue();
  const hold = await shop.holds(id, '10');
  const { transaction } = await shop.does(
    `POST /holds/${hold.id}/capture`,
    { json: { amount: '8' } },
    { events: ['gift_card.redeemed', 'gift_card.hold_released'] },
  );
  const line = `POST /transactions/${transaction.id}/reverse`;
  await shop.rejects(
    line,
    { json: { amount: '8.01' } },
    { code: 'reversal-exceeds-transaction', reversible: '8.00' },
  );
  const { gift_card: card } = await shop.does(line, {}, reversed);
  assert.deepEqual([card.balance, card.held], ['25.00', '0.00']);
});

test('a credit can be reversed in parts, up to the available amount', async () => {
  const { id } = await shop.issue({ initial_value: 5 });
  const credited = await credit(id, '20');
  const line = `POST /transactions/${credited}/reverse`;
  await shop.debits(id, '10');
  await shop.holds(id, '5');
  const errors = { amount: ['must be at most 10.00, the available amount'] };
  await shop.rejects(line, {}, { code: 'insufficient-balance', errors, available: '10.00' });
  await shop.rejects(line, { json: { amount: '10.01' } }, { code: 'insufficient-balance' });
  const part = await shop.does(line, { json: { amount: '9.99' } }, reversed);
  assert.deepEqual([part.transaction.amount, part.transaction.balance_after], ['-9.99', '5.01']);
  assert.deepEqual([part.transaction.kind, part.transaction.reverses], ['reversal', credited]);
  assert.deepEqual([part.gift_card.held, part.gift_card.available], ['5.00', '0.01']);
  await shop.rejects(
    line,
    { json: { amount: '10.02' } },
    { code: 'reversal-exceeds-transaction', reversible: '10.01' },
  );
});

test('issues, adjustments and reversals cannot be reversed', async () => {
  const { id } = await shop.issue();
  await shop.does(`PUT /gift_card/${id}`, { json: { balance: '30' } }, { events: ['gift_card.updated'] });
  const debit = await shop.debits(id, '10');
  await shop.does(`POST /transactions/${debit.id}/reverse`, {}, reversed);
  const kinds = new Set<string>();
  for (const { id: transactionId, kind } of await shop.transactions(id)) {
    if (kind === 'debit') continue;
    kinds.add(kind);
    await shop.rejects(`POST /transactions/${transactionId}/reverse`, {}, { code: 'not-reversible' });
  }
  assert.deepEqual([...kinds].toSorted(), ['adjustment', 'issue', 'reversal']);
});

test('an expired card accepts a reversal of a debit, and a disabled one rejects it', async () => {
  const { id } = await shop.issue();
  const debit = await shop.debits(id, '10');
  const credited = await credit(id, '1');
  await shop.does(
    `PUT /gift_card/${id}`,
    { json: { expires_on: '2020-01-01' } },
    { events: ['gift_card.updated'] },
  );
  await shop.does(`POST /transactions/${debit.id}/reverse`, { json: { amount: 4 } }, reversed);
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  for (const transactionId of [debit.id, credited])
    await shop.rejects(`POST /transactions/${transactionId}/reverse`, {}, { code: 'card-disabled' });
});

test('a reversed amount can be spent again, and the second debit has its own reversal', async () => {
  const { id } = await shop.issue();
  const first = await shop.debits(id, '25');
  await shop.does(`POST /transactions/${first.id}/reverse`, {}, reversed);
  const second = await shop.debits(id, '25');
  const { gift_card: card } = await shop.does(`POST /transactions/${second.id}/reverse`, {}, reversed);
  assert.equal(card.balance, '25.00');
  await shop.rejects(
    `POST /transactions/${first.id}/reverse`,
    {},
    { code: 'reversal-exceeds-transaction', reversible: '0.00' },
  );
});

test('reversing a credit needs write_gift_cards, and reversing a debit needs redeem_gift_cards', async () => {
  const [till, office] = [
    await shop.tokenFor('redeem_gift_cards'),
    await shop.tokenFor('write_gift_cards', 'read_gift_cards'),
  ];
  const { id } = await shop.issue();
  const debit = await shop.debits(id, '5');
  const hold = await shop.holds(id, '5');
  const { transaction: capture } = await shop.does(
    `POST /holds/${hold.id}/capture`,
    {},
    { events: ['gift_card.redeemed'] },
  );
  const credited = await credit(id, '5');
  for (const given of [debit.id, capture.id]) {
    const line = `POST /transactions/${given}/reverse`;
    await shop.rejects(line, { token: office }, { code: 'insufficient-scope' });
    await shop.does(line, { token: till }, reversed);
  }
  const line = `POST /transactions/${credited}/reverse`;
  await shop.rejects(line, { token: till }, { code: 'insufficient-scope' });
  await shop.does(line, { token: office }, reversed);
});

test('a reversal without its scope returns a 403 with the scope in WWW-Authenticate', async () => {
  const { id } = await shop.issue();
  const credited = await credit(id, '5');
  const token = await shop.tokenFor('redeem_gift_cards');
  const { headers } = await shop.returnsError(
    `POST /transactions/${credited}/reverse`,
    { token },
    { code: 'insufficient-scope' },
  );
  assert.match(headers.get('www-authenticate') ?? '', /insufficient_scope.*write_gift_cards/);
});

test('a balance after a reversal can be sent back: at most 12 digits before the point', async () => {
  const { id } = await shop.issue({ initial_value: '999999999999.99' });
  const debit = await shop.debits(id, '10');
  await credit(id, '10');
  const { status } = await shop.ask(`POST /transactions/${debit.id}/reverse`);
  assert.ok(status === 201 || status === 422);
  const { balance } = await shop.read(id);
  await shop.does(`PUT /gift_card/${id}`, { json: { balance } }, { events: [] });
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
