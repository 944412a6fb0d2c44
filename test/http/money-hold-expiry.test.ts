/** Expired holds release their amount, in a running service and across a restart. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { viewOf } from '../support/money-responses.ts';
import { startRestartable } from '../support/money-restart.ts';
import { shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const minuteMs = 60_000;

/** A card of 25.00 with a hold of 20.00 that has just expired. */
async function expiredHeld(): Promise<{
  readonly id: number;
  readonly code: string;
  readonly holdId: number;
}> {
  const { id, code } = await shop.issue();
  const { id: holdId } = await shop.holds(id, '20');
  service.clock.advance(15 * minuteMs);
  return { id, code, holdId };
}

test('a hold is open until the last second of its 15 minutes', async () => {
  const { id, code } = await shop.issue();
  const placed = await shop.holds(id, '20');
  service.clock.advance(15 * minuteMs - 5_000);
  assert.equal((await shop.lookUp(code)).available, '5.00');
  await shop.rejects(
    `POST /gift_card/${id}/debit`,
    { json: { amount: 6 } },
    { code: 'insufficient-balance', available: '5.00' },
  );
  const { hold } = await shop.does(
    `POST /holds/${placed.id}/capture`,
    {},
    { events: ['gift_card.redeemed'] },
  );
  assert.equal(hold.status, 'captured');
});

test('responses are correct at once: the hold is expired and its amount available', async () => {
  const { id, code, holdId } = await expiredHeld();
  assert.deepEqual([(await shop.lookUp(code)).held, (await shop.lookUp(code)).available], ['0.00', '25.00']);
  const { hold, gift_card: card } = viewOf(await shop.ask(`GET /holds/${holdId}`));
  assert.deepEqual([hold.status, hold.captured_amount, hold.closed_at], ['expired', '0.00', hold.expires_at]);
  assert.deepEqual([card.balance, card.held, card.available], ['25.00', '0.00', '25.00']);
  const { holds } = viewOf(await shop.ask(`GET /gift_card/${id}/holds`));
  assert.deepEqual(holds, [hold]);
});

test('a late capture or void is a 422', async () => {
  const { holdId } = await expiredHeld();
  await shop.rejects(`POST /holds/${holdId}/capture`, {}, { code: 'hold-expired' });
  await shop.rejects(`POST /holds/${holdId}/capture`, { json: { amount: 1 } }, { code: 'hold-expired' });
  await shop.rejects(`POST /holds/${holdId}/void`, {}, { code: 'hold-expired' });
});

for (const { name, line, json } of [
  { name: 'debited', line: 'debit', json: { amount: '25' } },
  { name: 'debited in part', line: 'debit', json: { amount: '26', partial: true } },
  { name: 'held again', line: 'holds', json: { amount: '25' } },
]) {
  test(`the amount of an expired hold can be ${name}`, async () => {
    const { id, holdId } = await expiredHeld();
    const events = ['gift_card.hold_released', line === 'debit' ? 'gift_card.redeemed' : 'gift_card.held'];
    const { gift_card: card } = await shop.does(`POST /gift_card/${id}/${line}`, { json }, { events });
    assert.deepEqual([card.held, card.available], [line === 'holds' ? '25.00' : '0.00', '0.00']);
    await shop.rejects(`POST /holds/${holdId}/capture`, {}, { code: 'hold-expired' });
    assert.equal(viewOf(await shop.ask(`GET /holds/${holdId}`)).hold.status, 'expired');
  });
}

test('If-Match accepts the version that was read, although the hold has expired since', async () => {
  const { id, holdId } = await expiredHeld();
  const tag = (await shop.ask(`GET /holds/${holdId}`)).headers.get('etag') ?? '';
  const ask = { json: { amount: '25' }, headers: { 'if-match': tag } };
  const events = ['gift_card.hold_released', 'gift_card.redeemed'];
  const { response } = await shop.does(`POST /gift_card/${id}/debit`, ask, { events });
  assert.notEqual(response.headers.get('etag'), tag);
});

test('the amount of an expired hold can be used to reverse a credit', async () => {
  const { id } = await shop.issue({ initial_value: 5 });
  const { transaction } = await shop.does(
    `POST /gift_card/${id}/credit`,
    { json: { amount: 20 } },
    { events: ['gift_card.credited'] },
  );
  await shop.holds(id, '25');
  const line = `POST /transactions/${transaction.id}/reverse`;
  await shop.rejects(line, {}, { code: 'insufficient-balance', available: '0.00' });
  service.clock.advance(15 * minuteMs);
  const { gift_card: card } = await shop.does(
    line,
    {},
    { events: ['gift_card.hold_released', 'gift_card.reversed'] },
  );
  assert.equal(card.available, '5.00');
});

test('a card with expired holds can be updated and disabled', async () => {
  const { id } = await expiredHeld();
  const events = ['gift_card.hold_released', 'gift_card.updated', 'gift_card.disabled'];
  await shop.does(`PUT /gift_card/${id}`, { json: { balance: 1, disable: true } }, { events });
});

test('the service closes expired holds itself, and publishes each once', async () => {
  await using eager = await startService({
    stores: [{ domain: 'flowers.example' }],
    limits: { holdExpiryPeriodMs: 100 },
  });
  const flowers = await shopOf(eager, 'flowers.example');
  const { id } = await flowers.issue();
  const { id: holdId } = await flowers.holds(id, '20');
  eager.clock.advance(15 * minuteMs);
  const row = async () =>
    (
      await eager.query(
        'select status, closed_at, expires_at from holds where id = ?',
        eager.internalId(holdId),
      )
    )[0];
  const deadline = Date.now() + 30_000;
  while ((await row())?.['status'] === 'open' && Date.now() < deadline) await sleep(20);
  assert.equal((await row())?.['status'], 'expired');
  assert.equal((await row())?.['closed_at'], (await row())?.['expires_at']);
  const released = await eager.query(
    "select count(*) as count from events where subject_id = ? and type = 'gift_card.hold_released'",
    eager.internalId(id),
  );
  assert.deepEqual(released[0]?.['count'], 1);
  const [card] = await eager.query('select held, balance from gift_cards where id = ?', eager.internalId(id));
  assert.deepEqual([card?.['held'], card?.['balance']], [0, 2_500]);
  await flowers.rejects(`POST /holds/${holdId}/capture`, {}, { code: 'hold-expired' });
});

test('holds survive a restart of the service and expire after it', async () => {
  await using shopped = await startRestartable();
  const { gift_card: card } = await shopped.ask('POST /gift_card', { initial_value: 25 });
  const debit = `POST /gift_card/${card.id}/debit`;
  const { hold: short } = await shopped.ask(`POST /gift_card/${card.id}/holds`, { amount: 10 });
  const { hold: long } = await shopped.ask(`POST /gift_card/${card.id}/holds`, {
    amount: 5,
    expires_in: 604_800,
  });

  await shopped.restart({ passMs: 10 * minuteMs });
  assert.equal(
    (await shopped.ask('POST /gift_card/lookup', { code: card.code })).gift_card.available,
    '10.00',
  );
  assert.equal((await shopped.ask(debit, { amount: 11 })).status, 422);

  await shopped.restart({ passMs: 5 * minuteMs });
  const { gift_card: freed } = await shopped.ask('POST /gift_card/lookup', { code: card.code });
  assert.deepEqual([freed.held, freed.available], ['5.00', '20.00']);
  const late = await shopped.ask(`POST /holds/${short.id}/capture`);
  assert.equal(late.status, 422);
  assert.match(late.text, /\/hold-expired"/);
  assert.equal((await shopped.ask(`GET /holds/${short.id}`)).hold.status, 'expired');
  assert.equal((await shopped.ask(debit, { amount: 20 })).gift_card.available, '0.00');

  await shopped.restart({ passMs: 7 * 24 * 60 * minuteMs - 16 * minuteMs });
  const { hold: captured, gift_card: empty } = await shopped.ask(`POST /holds/${long.id}/capture`);
  assert.deepEqual([captured.status, captured.captured_amount, empty.balance], ['captured', '5.00', '0.00']);
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
