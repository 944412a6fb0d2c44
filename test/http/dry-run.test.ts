/** `?dry_run=true`: every write returns its response without storing, publishing or sending anything. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { codeOf, problemOf, viewOf, type View } from '../support/money-responses.ts';
import { assertUnchanged, shopOf, type Ask } from '../support/shop.ts';
import { startService, type TestResponse } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 60 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

/** A card that every write accepts: it has a debit of 5.00 and a hold of 4.00. The other card is disabled. */
async function scene() {
  const { id, code } = await shop.issue();
  const tag = await shop.tag(id);
  const debit = await shop.debits(id, '5');
  const hold = await shop.holds(id, '4');
  const other = await shop.issue();
  await shop.does(`PUT /gift_card/${other.id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  return { id, code, tag, debitId: debit.id, holdId: hold.id, disabledId: other.id };
} // prettier-ignore

type Scene = Awaited<ReturnType<typeof scene>>;

type Write = {
  readonly name: string;
  readonly line: (scene: Scene) => string;
  readonly json: (scene: Scene) => object;
  readonly status: number;
  readonly says: (view: View) => unknown;
  readonly expected: unknown;
};

const amount = '6.00';
const after6 = ['-6.00', '14.00', '10.00'];
const movedOf = ({ transaction, gift_card: card }: View) => [transaction.amount, transaction.balance_after, card.available]; // prettier-ignore
const heldOf = ({ hold, gift_card: card }: View) => [hold.status, card.held, card.available];

const writes: readonly Write[] = [
  { name: 'create', line: () => 'POST /gift_card', json: () => ({ initial_value: 7, email: 'new@example.com', code: 'dryrun-2031' }), status: 201, says: ({ gift_card: card }) => [card.balance, card.code], expected: ['7.00', 'dryrun2031'] },
  { name: 'update', line: ({ id }) => `PUT /gift_card/${id}`, json: () => ({ balance: '9', note: 'dry' }), status: 200, says: ({ gift_card: card }) => [card.balance, card.note], expected: ['9.00', 'dry'] },
  { name: 'disable', line: ({ id }) => `PUT /gift_card/${id}`, json: () => ({ disable: true, release_holds: true }), status: 200, says: ({ gift_card: card }) => card.disabled_at !== null, expected: true },
  { name: 'redeem', line: () => 'POST /gift_card/redeem', json: ({ code }) => ({ code, amount }), status: 201, says: movedOf, expected: after6 },
  { name: 'debit', line: ({ id }) => `POST /gift_card/${id}/debit`, json: () => ({ amount }), status: 201, says: movedOf, expected: after6 },
  { name: 'partial debit', line: ({ id }) => `POST /gift_card/${id}/debit`, json: () => ({ amount: 100, partial: true }), status: 201, says: movedOf, expected: ['-16.00', '4.00', '0.00'] },
  { name: 'credit', line: ({ id }) => `POST /gift_card/${id}/credit`, json: () => ({ amount }), status: 201, says: movedOf, expected: ['6.00', '26.00', '22.00'] },
  { name: 'hold', line: ({ id }) => `POST /gift_card/${id}/holds`, json: () => ({ amount }), status: 201, says: heldOf, expected: ['open', '10.00', '10.00'] },
  { name: 'capture', line: ({ holdId }) => `POST /holds/${holdId}/capture`, json: () => ({ amount: 3 }), status: 201, says: (view) => [...movedOf(view), ...heldOf(view)], expected: ['-3.00', '17.00', '17.00', 'captured', '0.00', '17.00'] },
  { name: 'void', line: ({ holdId }) => `POST /holds/${holdId}/void`, json: () => ({}), status: 200, says: heldOf, expected: ['voided', '0.00', '20.00'] },
  { name: 'reverse', line: ({ debitId }) => `POST /transactions/${debitId}/reverse`, json: () => ({ amount: 2 }), status: 201, says: movedOf, expected: ['2.00', '22.00', '18.00'] },
  { name: 'undo', line: ({ disabledId }) => `POST /gift_card/${disabledId}/undo`, json: () => ({}), status: 200, says: ({ gift_card: card }) => card.disabled_at, expected: null },
]; // prettier-ignore

async function dryRun(line: string, ask: Ask): Promise<TestResponse> {
  const before = await service.state();
  const response = await shop.ask(line, ask);
  await assertUnchanged(service, before, line);
  assert.equal(response.headers.get('dry-run'), 'true', `${line}: ${response.text}`);
  return response;
}

for (const { name, line, json, status, says, expected } of writes) {
  test(`a dry run of ${name} returns the response of the write, and changes nothing`, async () => {
    const given = await scene();
    const path = line(given);
    const ask = { json: json(given) };
    for (const value of ['true', '1']) {
      const response = await dryRun(`${path}?dry_run=${value}`, ask);
      assert.equal(response.status, status, response.text);
      assert.deepEqual(says(viewOf(response)), expected);
    }
    // A dry run does not use its key: the write with the same key is executed, not replayed.
    const keyed = { ...ask, headers: { 'idempotency-key': `dry ${name}`.replace(/ /g, '-') } };
    await dryRun(`${path}?dry_run=true`, keyed);
    const real = await shop.ask(`${path}?dry_run=false`, keyed);
    assert.equal(real.status, status, real.text);
    assert.deepEqual([real.headers.get('dry-run'), real.headers.get('idempotent-replayed')], [null, null]);
    assert.deepEqual(says(viewOf(real)), expected);
    assert.equal((await shop.ask(`${path}?dry_run=0`, keyed)).headers.get('idempotent-replayed'), 'true');
    // A dry run does not replay the stored response: it uses the current state.
    assert.equal((await dryRun(`${path}?dry_run=1`, keyed)).headers.get('idempotent-replayed'), null);
  });
}

test('a dry run returns the errors of the write, with the Dry-Run header, and stores none of them', async () => {
  const { id, code, tag, holdId, debitId } = await scene();
  const key = { 'idempotency-key': 'rejected-dry' };
  for (const [line, json, expected] of [
    ['POST /gift_card', { initial_value: 0 }, 'invalid-parameter'],
    ['POST /gift_card', { initial_value: 1, code }, 'invalid-parameter'],
    [`PUT /gift_card/${id}`, { balance: 1 }, 'invalid-parameter'],
    [`PUT /gift_card/${id}`, { disable: true }, 'invalid-parameter'],
    [`POST /gift_card/${id}/debit`, { amount: '16.01' }, 'insufficient-balance'],
    [`POST /gift_card/${id}/debit`, { amount: 1, currency: 'EUR' }, 'currency-mismatch'],
    ['POST /gift_card/1/debit', { amount: 1 }, 'not-found'],
    [`POST /holds/${holdId}/capture`, { amount: 5 }, 'capture-exceeds-hold'],
    [`POST /transactions/${debitId}/reverse`, { amount: 6 }, 'reversal-exceeds-transaction'],
    [`POST /gift_card/${id}/undo`, {}, 'undo-window-closed'],
  ] as const) {
    const response = await dryRun(`${line}?dry_run=true`, { json, headers: key });
    assert.equal(codeOf(problemOf(response)), expected, line);
  }
  const stale = await dryRun(`POST /gift_card/${id}/debit?dry_run=true`, {
    json: { amount: 1 },
    headers: { 'if-match': tag },
  });
  assert.equal(stale.status, 412);
});

test('a dry run needs the scope of the write', async () => {
  const { id } = await shop.issue();
  const token = await shop.tokenFor('read_gift_cards', 'write_gift_cards');
  await shop.rejects(
    `POST /gift_card/${id}/debit?dry_run=true`,
    { json: { amount: 1 }, token },
    { code: 'insufficient-scope' },
  );
});

test('dry_run is true or false, at most once, and only on writes', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/debit`;
  const ask = { json: { amount: 1 } };
  for (const query of ['dry_run=yes', 'dry_run=', 'dry_run', 'dry_run=TRUE'])
    await shop.rejects(
      `${line}?${query}`,
      ask,
      { code: 'invalid-query', errors: { dry_run: ['must be true or false'] } },
    );
  await shop.rejects(`${line}?dry_run=true&dry_run=true`, ask, { code: 'invalid-query', errors: { dry_run: ['is repeated'] } });
  for (const reading of [`GET /gift_card/${id}`, `GET /gift_card/${id}/holds`, 'GET /holds/1', 'POST /gift_card/lookup'])
    await shop.rejects(`${reading}?dry_run=true`, {}, { code: 'invalid-query', errors: { dry_run: ['is not a known parameter'] } });
  await shop.rejects(line, { json: { amount: 1, dry_run: true } }, { code: 'invalid-parameter' });
}); // prettier-ignore

test('a dry run does not reserve an amount', async () => {
  const { id, code } = await shop.issue();
  for (let count = 0; count < 3; count += 1)
    await dryRun('POST /gift_card/redeem?dry_run=true', { json: { code, amount: 25 } });
  await shop.debits(id, '25');
  assert.equal((await shop.transactions(id)).length, 2);
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
