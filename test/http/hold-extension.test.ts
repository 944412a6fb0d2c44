/** Holds are extended up to the store's limit, and the past keeps their earlier expiries. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { viewOf } from '../support/money-responses.ts';
import { lastEvent, shopOf, unchanged, type Shop } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example', undoWindowMinutes: 0 },
    { domain: 'furniture.example', undoWindowMinutes: 0, holdLimitDays: 90 },
    { domain: 'lunch.example', holdLimitDays: 1 },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const extended = ['gift_card.hold_extended'];
const [minuteMs, dayMs] = [60_000, 86_400_000];
const daySeconds = 86_400;

/** Asserts a time in a response that a request has computed a moment ago. */
const assertNear = (time: string, instant: number) =>
  assert.ok(Math.abs(Date.parse(time) - instant) < minuteMs, `${time} is not ${at(instant)}`);

const at = (instant: number): string => new Date(instant).toISOString().replace(/\.\d+Z$/, 'Z');
const extend = (holdId: number): string => `POST /holds/${holdId}/extend`;
const showOf = async (of: Shop, holdId: number) => viewOf(await of.ask(`GET /holds/${holdId}`));

test('an extension counts from now, returns the hold and the card, and publishes an event', async () => {
  const { id } = await shop.issue();
  const placed = await shop.holds(id, '10');
  const tag = await shop.tag(id);
  service.clock.advance(10 * minuteMs);
  const json = { expires_in: 3_600 };
  const { hold, gift_card: card, response } = await shop.does(extend(placed.id), { json }, { events: extended });
  assert.equal(response.status, 200);
  assertNear(hold.expires_at, service.clock.now() + 3_600_000);
  assert.deepEqual(hold, { ...placed, expires_at: hold.expires_at });
  assert.deepEqual([card.balance, card.held, card.available], ['25.00', '10.00', '15.00']);
  assert.notEqual(response.headers.get('etag'), tag);
  assert.equal(response.headers.get('etag'), await shop.tag(id));
  assert.deepEqual((await lastEvent(service, id, 'gift_card.hold_extended'))['hold'], hold);
  assert.deepEqual(await showOf(shop, placed.id), { hold, gift_card: card });
  service.clock.advance(50 * minuteMs);
  const { transaction } = await shop.does(`POST /holds/${placed.id}/capture`, {}, { events: ['gift_card.redeemed'] });
  assert.equal(transaction.amount, '-10.00');
}); // prettier-ignore

test('an extension never shortens a hold: a shorter one is a 200 that changes nothing', async () => {
  const { id } = await shop.issue();
  const placed = await shop.holds(id, '10', { expires_in: 3_600 });
  for (const seconds of [1, 900, 3_500])
    await unchanged(service, async () => {
      const { hold, response } = await shop.does(extend(placed.id), { json: { expires_in: seconds } }, { events: [] });
      assert.deepEqual(hold, placed);
      assert.equal(response.headers.get('etag'), await shop.tag(id));
    });
}); // prettier-ignore

test('beyond the store’s limit from the creation of the hold, the error names the latest time', async () => {
  const { id } = await shop.issue();
  const placed = await shop.holds(id, '10');
  const latest = at(Date.parse(placed.created_at) + 7 * dayMs);
  service.clock.advance(10 * minuteMs);
  const rest = 7 * daySeconds - 600;
  // The service's clock runs.
  for (const seconds of [rest + 60, 7 * daySeconds, 90 * daySeconds, Number.MAX_SAFE_INTEGER])
    await shop.rejects(
      extend(placed.id),
      { json: { expires_in: seconds } },
      {
        code: 'invalid-parameter',
        errors: { expires_in: [`must end at ${latest} at the latest, 7 days after the creation of the hold`] },
      },
    );
  const { hold } = await shop.does(extend(placed.id), { json: { expires_in: rest - 60 } }, { events: extended });
  const left = Date.parse(latest) - Date.parse(hold.expires_at);
  assert.ok(left > 0 && left <= minuteMs, hold.expires_at);
}); // prettier-ignore

test('a store has its own limit, and the duration of a new hold has it too', async () => {
  for (const [domain, days] of [['furniture.example', 90], ['lunch.example', 1]] as const) {
    const other = await shopOf(service, domain);
    const { id } = await other.issue();
    const limit = days * daySeconds;
    await other.rejects(
      `POST /gift_card/${id}/holds`,
      { json: { amount: 1, expires_in: limit + 1 } },
      { code: 'invalid-parameter', errors: { expires_in: [`must be a whole number of seconds from 1 to ${limit}`] } },
    );
    const placed = await other.holds(id, '1', { expires_in: limit });
    assertNear(placed.expires_at, service.clock.now() + limit * 1_000);
    service.clock.advance(minuteMs);
    await other.rejects(extend(placed.id), { json: { expires_in: limit } }, { code: 'invalid-parameter', errors: { expires_in: [`must end at ${at(Date.parse(placed.created_at) + limit * 1_000)} at the latest, ${days} days after the creation of the hold`] } });
  }
}); // prettier-ignore

test('an extension needs a number of seconds', async (t) => {
  const { id } = await shop.issue();
  const { id: holdId } = await shop.holds(id, '10');
  for (const [name, json, error] of [
    ['nothing', {}, 'is required'],
    ['null', { expires_in: null }, 'must be a whole number of seconds, at least 1'],
    ['zero', { expires_in: 0 }, 'must be a whole number of seconds, at least 1'],
    ['a fraction', { expires_in: 1.5 }, 'must be a whole number of seconds, at least 1'],
    ['a text', { expires_in: '900' }, 'must be a whole number of seconds, at least 1'],
  ] as const)
    await t.test(name, () =>
      shop.rejects(extend(holdId), { json }, { code: 'invalid-parameter', errors: { expires_in: [error] } }),
    );
  await shop.does(extend(holdId), { form: 'hold[expires_in]=1000' }, { events: extended });
});

test('a hold of a card that has expired can be extended', async () => {
  const { id } = await shop.issue();
  const placed = await shop.holds(id, '10');
  const json = { expires_on: '2020-01-01' };
  await shop.does(`PUT /gift_card/${id}`, { json }, { events: ['gift_card.updated'] });
  const { hold } = await shop.does(extend(placed.id), { json: { expires_in: 3_600 } }, { events: extended });
  assert.equal(hold.status, 'open');
  await shop.does(`POST /holds/${placed.id}/capture`, {}, { events: ['gift_card.redeemed'] });
});

test('an expired, captured or voided hold cannot be extended', async () => {
  const { id } = await shop.issue();
  const json = { expires_in: 3_600 };
  const [expired, captured, voided] = [
    await shop.holds(id, '1'),
    await shop.holds(id, '1', { expires_in: 3_600 }),
    await shop.holds(id, '1', { expires_in: 3_600 }),
  ];
  await shop.does(`POST /holds/${captured.id}/capture`, {}, { events: ['gift_card.redeemed'] });
  await shop.does(`POST /holds/${voided.id}/void`, {}, { status: 200, events: ['gift_card.hold_released'] });
  service.clock.advance(15 * minuteMs);
  await shop.rejects(extend(expired.id), { json }, { code: 'hold-expired' });
  for (const { id: holdId } of [captured, voided])
    await shop.rejects(extend(holdId), { json }, { code: 'hold-closed' });
  await shop.rejects(extend(1), { json }, { code: 'not-found' });
});

test('an extension honors If-Match, dry runs and idempotency keys', async () => {
  const { id } = await shop.issue();
  const stale = await shop.tag(id);
  const placed = await shop.holds(id, '10');
  const json = { expires_in: 3_600 };
  await shop.rejects(extend(placed.id), { json, headers: { 'if-match': stale } }, { code: 'precondition-failed' });
  await unchanged(service, async () => {
    const { hold } = viewOf(await shop.ask(`${extend(placed.id)}?dry_run=true`, { json }));
    assertNear(hold.expires_at, service.clock.now() + 3_600_000);
  });
  const headers = { 'if-match': await shop.tag(id), 'idempotency-key': `extend-${placed.id}` };
  const first = await shop.does(extend(placed.id), { json, headers }, { events: extended });
  const second = await shop.does(extend(placed.id), { json, headers }, { events: [] });
  assert.equal(second.response.headers.get('idempotent-replayed'), 'true');
  assert.equal(second.response.text, first.response.text);
}); // prettier-ignore

test('reports and cards of the past have the expiry that a hold had then', async () => {
  const furniture = await shopOf(service, 'furniture.example');
  const liabilityAt = async (instant: number) => {
    const token = await furniture.tokenFor('read_reports');
    const response = await furniture.ask(`GET /reports/liability?as_of=${at(instant)}`, { token });
    return (response.json as { liability: { on_hold: string } }).liability.on_hold;
  };
  const heldAt = async (id: number, instant: number) => {
    const response = await furniture.ask(`GET /gift_cards/${id}?as_of=${at(instant)}`);
    return (response.json as { gift_card: { held: string } }).gift_card.held;
  };
  service.clock.advance(90 * dayMs);
  const { id } = await furniture.issue();
  const start = service.clock.now();
  const placed = await furniture.holds(id, '10', { expires_in: daySeconds });
  service.clock.advance(dayMs / 2);
  await furniture.does(extend(placed.id), { json: { expires_in: 60 * daySeconds } }, { events: extended });
  service.clock.advance(50 * dayMs);
  await furniture.does(extend(placed.id), { json: { expires_in: 39 * daySeconds } }, { events: extended });
  service.clock.advance(100 * dayMs);
  await furniture.rejects(`POST /holds/${placed.id}/capture`, {}, { code: 'hold-expired' });
  for (const [days, held] of [[0.25, '10.00'], [0.75, '10.00'], [30, '10.00'], [70, '10.00'], [89.4, '10.00'], [89.6, '0.00'], [100, '0.00']] as const) {
    const instant = start + days * dayMs;
    assert.deepEqual([days, await liabilityAt(instant), await heldAt(id, instant)], [days, held, held]);
  }
}); // prettier-ignore
