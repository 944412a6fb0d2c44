/** Updates of cards with holds: adjustments, balances below the held amount, `release_holds`. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { viewOf } from '../support/money-responses.ts';
import { lastEvent, shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const updated = { events: ['gift_card.updated'] };
const released = 'gift_card.hold_released';

test('an update of the balance adds one adjustment of the difference, up or down', async () => {
  const { id } = await shop.issue();
  for (const [balance, amount] of [
    ['10', '-15.00'],
    ['40.5', '30.50'],
    ['0', '-40.50'],
    ['25', '25.00'],
  ] as const) {
    const { length } = await shop.transactions(id);
    const { gift_card: card } = await shop.does(`PUT /gift_card/${id}`, { json: { balance } }, updated);
    const history = await shop.transactions(id);
    assert.equal(history.length, length + 1);
    const [one] = history;
    assert.deepEqual([one?.kind, one?.amount, one?.balance_after], ['adjustment', amount, card.balance]);
    assert.deepEqual(
      [one?.reference, one?.note, one?.order_id, one?.hold_id, one?.reverses],
      [null, null, null, null, null],
    );
    assert.match(one?.actor ?? '', /^api_client:/);
  }
});

test('an update to the current balance records nothing', async () => {
  const { id } = await shop.issue();
  await shop.holds(id, '5');
  await shop.does(`PUT /gift_card/${id}`, { json: { balance: '25.0' } }, { events: [] });
  await shop.does(`PUT /gift_card/${id}`, { json: { note: 'x' } }, updated);
  assert.equal((await shop.transactions(id)).length, 1);
});

test('a balance cannot be set below the held amount', async () => {
  const { id, code } = await shop.issue();
  await shop.holds(id, '10');
  const hold = await shop.holds(id, '2');
  const line = `PUT /gift_card/${id}`;
  const errors = { balance: ['must be at least 12.00, the held amount'] };
  await shop.rejects(line, { json: { balance: '11.99', note: 'x' } }, { code: 'invalid-parameter', errors });
  await shop.rejects(line, { form: 'gift_card[balance]=0' }, { code: 'invalid-parameter', errors });
  await shop.rejects(
    line,
    { json: { balance: '0', release_holds: true } },
    { code: 'invalid-parameter', errors },
  );
  const { gift_card: card } = await shop.does(line, { json: { balance: '12' } }, updated);
  assert.ok(!('available' in card), 'the four operations return no fields beyond the record');
  const { held, available } = await shop.lookUp(code);
  assert.deepEqual([held, available], ['12.00', '0.00']);
  await shop.does(`POST /holds/${hold.id}/void`, {}, { status: 200, events: [released] });
  await shop.does(line, { json: { balance: '10' } }, updated);
});

test('a card with open holds can be disabled only with release_holds', async (t) => {
  const errors = {
    disable: ['cannot be true: the card has open holds, which release_holds releases'],
  };
  for (const extra of [{}, { release_holds: false }]) {
    await t.test(JSON.stringify(extra), async () => {
      const { id } = await shop.issue();
      await shop.holds(id, '10');
      await shop.rejects(
        `PUT /gift_card/${id}`,
        { json: { disable: true, note: 'x', ...extra } },
        { code: 'invalid-parameter', errors },
      );
    });
  }
  for (const ask of [
    { json: { disable: true, release_holds: true } },
    { json: { gift_card: { disable: true, release_holds: true } } },
    { form: 'disable=1&release_holds=true' },
  ]) {
    await t.test(JSON.stringify(ask), async () => {
      const { id } = await shop.issue();
      const holds = [await shop.holds(id, '10'), await shop.holds(id, '5')];
      const events = ['gift_card.disabled', released, released];
      const { gift_card: card, response } = await shop.does(`PUT /gift_card/${id}`, ask, { events });
      assert.ok(card.disabled_at);
      assert.equal(card.balance, '25.00');
      const shown = await shop.ask(`GET /gift_card/${id}`);
      assert.equal(shown.headers.get('etag'), response.headers.get('etag'));
      for (const { id: holdId } of holds) {
        const { hold, gift_card: of } = viewOf(await shop.ask(`GET /holds/${holdId}`));
        assert.deepEqual([hold.status, of.held, of.available], ['voided', '0.00', '0.00']);
        assert.ok(hold.closed_at);
        await shop.rejects(`POST /holds/${holdId}/capture`, {}, { code: 'hold-closed' });
      }
      assert.equal((await shop.transactions(id)).length, 1);
      assert.equal(((await lastEvent(service, id, released))['hold'] as { status: string }).status, 'voided');
    });
  }
});

test('release_holds without disable releases nothing', async () => {
  const { id, code } = await shop.issue();
  const hold = await shop.holds(id, '10');
  const line = `PUT /gift_card/${id}`;
  await shop.does(line, { json: { release_holds: true } }, { events: [] });
  await shop.does(line, { json: { release_holds: true, disable: false, note: 'y' } }, updated);
  assert.equal((await shop.lookUp(code)).held, '10.00');
  await shop.does(`POST /holds/${hold.id}/capture`, {}, { events: ['gift_card.redeemed'] });
});

test('an update applies balance, release and disabling together, the balance first', async () => {
  const { id } = await shop.issue();
  await shop.holds(id, '10');
  const json = { balance: '3', disable: true, release_holds: true };
  const events = ['gift_card.disabled', 'gift_card.updated', released];
  const { gift_card: card } = await shop.does(`PUT /gift_card/${id}`, { json }, { events });
  assert.equal(card.balance, '3.00');
  assert.deepEqual(
    (await shop.transactions(id)).map(({ kind, amount }) => [kind, amount]),
    [
      ['adjustment', '-22.00'],
      ['issue', '25.00'],
    ],
  );
});

test('a disabled card accepts disable again, whatever release_holds is', async () => {
  const { id } = await shop.issue();
  const line = `PUT /gift_card/${id}`;
  const { gift_card: first } = await shop.does(
    line,
    { json: { disable: true, release_holds: true } },
    { events: ['gift_card.disabled'] },
  );
  service.clock.advance(5_000);
  for (const json of [{ disable: true }, { disable: true, release_holds: true }]) {
    const { gift_card: card } = await shop.does(line, { json }, { events: [] });
    assert.deepEqual(card, first);
  }
});

test('release_holds must be a boolean, and is unknown to a creation', async () => {
  const { id } = await shop.issue();
  const errors = { release_holds: ['must be true or false'] };
  for (const sent of ['true', 1, null, {}])
    await shop.rejects(
      `PUT /gift_card/${id}`,
      { json: { disable: true, release_holds: sent } },
      { code: 'invalid-parameter', errors },
    );
  await shop.rejects(
    'POST /gift_card',
    { json: { initial_value: 5, release_holds: true } },
    { code: 'invalid-parameter', errors: { release_holds: ['is not a known parameter'] } },
  );
});

test('a retrieved record can be sent back while holds are open', async () => {
  const { id } = await shop.issue();
  await shop.holds(id, '10');
  await shop.does(`PUT /gift_card/${id}`, { json: await shop.read(id) }, { events: [] });
});

test('the record of a lookup can be sent back, and its held and available amounts are compared by value', async () => {
  const { id, code } = await shop.issue();
  await shop.holds(id, '10');
  const read = await shop.lookUp(code);
  assert.deepEqual([read.held, read.available], ['10.00', '15.00']);
  for (const more of [{}, { held: 10, available: '15' }, { held: '10.0', available: 15.0, state: 'active' }])
    await shop.does(`PUT /gift_card/${id}`, { json: { ...read, ...more } }, { events: [] });
  await shop.does(`PUT /gift_card/${id}`, { form: 'held=10&available=15.00&state=active' }, { events: [] });
  // The amounts are compared with the card before the update.
  await shop.does(
    `PUT /gift_card/${id}`,
    { json: { ...read, balance: '20.00' } },
    { events: ['gift_card.updated'] },
  );
  await shop.rejects(
    `PUT /gift_card/${id}`,
    { json: { ...read, balance: '20.00' } },
    { code: 'invalid-parameter', errors: { available: ['cannot be changed'] } },
  );
});

test('held, available and state cannot be changed', async () => {
  const { id } = await shop.issue();
  await shop.holds(id, '10');
  for (const [field, values] of Object.entries({
    held: ['0.00', 9, null, '', true, '1e1'],
    available: ['25.00', '15.01', null, {}],
    state: ['disabled', 'expired', null, 'ACTIVE', 1],
  })) {
    for (const value of values)
      await shop.rejects(
        `PUT /gift_card/${id}`,
        { json: { note: 'never written', [field]: value } },
        { code: 'invalid-parameter', errors: { [field]: ['cannot be changed'] } },
      );
    await shop.rejects(
      'POST /gift_card',
      { json: { initial_value: 5, [field]: values[0] } },
      { code: 'invalid-parameter', errors: { [field]: ['cannot be set'] } },
    );
  }
  await shop.issue({ held: null, available: null, state: null });
});

test('held is compared with the current amount: an expired hold reserves nothing', async () => {
  const { id } = await shop.issue();
  await shop.holds(id, '10', { expires_in: 60 });
  service.clock.advance(61_000);
  await shop.does(`PUT /gift_card/${id}`, { json: { held: 0, available: 25 } }, { events: [] });
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
