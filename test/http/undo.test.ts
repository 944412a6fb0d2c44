/** The undo window: a card can be re-enabled within it. Then the disabling is final. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { viewOf } from '../support/money-responses.ts';
import { startRestartable } from '../support/money-restart.ts';
import { lastEvent, shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example', undoWindowMinutes: 30 },
    { domain: 'final.example', undoWindowMinutes: 0 },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const minuteMs = 60_000;
const disabled = { events: ['gift_card.disabled'] };
const enabled = { status: 200, events: ['gift_card.updated'] };
const closedWindow = { code: 'undo-window-closed' } as const;
const json = { disable: true };

test('a disabling takes effect at once, and the card can be re-enabled within the window', async (t) => {
  for (const [name, ask] of [
    ['no body', {}],
    ['an empty object', { json: {} }],
    ['a wrapped one', { json: { gift_card: {} } }],
    ['an empty form', { form: '' }],
  ] as const) {
    await t.test(name, async () => {
      const card = await shop.issue({ note: 'x', expires_on: '2999-12-31' });
      const { id } = card;
      const { gift_card: off, response } = await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
      assert.ok(off.disabled_at);
      service.clock.advance(30 * minuteMs - 5_000);
      assert.equal((await shop.read(id)).disabled_at, off.disabled_at);
      for (const what of ['debit', 'credit', 'holds'])
        await shop.rejects(
          `POST /gift_card/${id}/${what}`,
          { json: { amount: 1 } },
          { code: 'card-disabled' },
        );
      await shop.rejects(
        `PUT /gift_card/${id}`,
        { json: { disable: false } },
        { code: 'invalid-parameter', errors: { disable: ['cannot be undone'] } },
      );
      const undone = await shop.does(`POST /gift_card/${id}/undo`, ask, enabled);
      const { code: _code, ...record } = card;
      assert.deepEqual(undone.gift_card, record);
      assert.notEqual(undone.response.headers.get('etag'), response.headers.get('etag'));
      assert.deepEqual(await lastEvent(service, id, 'gift_card.updated'), {
        gift_card: record,
        changed: ['disabled_at'],
      });
      await shop.debits(id, '25');
    });
  }
});

test('after the window, a disabling is final', async () => {
  const { id } = await shop.issue();
  await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
  service.clock.advance(30 * minuteMs);
  await shop.rejects(`POST /gift_card/${id}/undo`, {}, closedWindow);
  assert.ok((await shop.read(id)).disabled_at);
});

test('a second disabling does not extend the window', async () => {
  const { id } = await shop.issue();
  await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
  service.clock.advance(20 * minuteMs);
  await shop.does(`PUT /gift_card/${id}`, { json }, { events: [] });
  service.clock.advance(10 * minuteMs);
  await shop.rejects(`POST /gift_card/${id}/undo`, {}, closedWindow);
});

test('a card that is not disabled cannot be re-enabled, and a re-enabling cannot be repeated', async () => {
  const { id } = await shop.issue();
  await shop.rejects(`POST /gift_card/${id}/undo`, {}, closedWindow);
  await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
  await shop.does(`POST /gift_card/${id}/undo`, {}, enabled);
  await shop.rejects(`POST /gift_card/${id}/undo`, {}, closedWindow);
  await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
  await shop.does(`POST /gift_card/${id}/undo`, {}, enabled);
});

test('in a store without a window, a disabling is final at once', async () => {
  const final = await shopOf(service, 'final.example');
  const { id } = await final.issue();
  await final.does(`PUT /gift_card/${id}`, { json }, disabled);
  await final.rejects(`POST /gift_card/${id}/undo`, {}, closedWindow);
});

test('holds that the disabling released remain released', async () => {
  const { id, code } = await shop.issue();
  const hold = await shop.holds(id, '10');
  await shop.does(
    `PUT /gift_card/${id}`,
    { json: { ...json, release_holds: true } },
    { events: ['gift_card.hold_released', 'gift_card.disabled'] },
  );
  await shop.does(`POST /gift_card/${id}/undo`, {}, enabled);
  const { held, available } = await shop.lookUp(code);
  assert.deepEqual([held, available], ['0.00', '25.00']);
  assert.equal(viewOf(await shop.ask(`GET /holds/${hold.id}`)).hold.status, 'voided');
});

test('undo supports If-Match and rejects parameters', async () => {
  const { id } = await shop.issue();
  const tag = await shop.tag(id);
  const line = `POST /gift_card/${id}/undo`;
  const { response } = await shop.does(`PUT /gift_card/${id}`, { json }, disabled);
  await shop.rejects(line, { headers: { 'if-match': tag } }, { code: 'precondition-failed' });
  await shop.rejects(
    line,
    { json: { disable: false } },
    { code: 'invalid-parameter', errors: { disable: ['is not a known parameter'] } },
  );
  await shop.does(line, { headers: { 'if-match': response.headers.get('etag') ?? '' } }, enabled);
});

test('the window continues across a restart', async () => {
  await using shopped = await startRestartable({ undoWindowMinutes: 60 });
  const cards = [await shopped.ask('POST /gift_card', { initial_value: 5 }), await shopped.ask('POST /gift_card', { initial_value: 5 })];
  const [one = 0, other = 0] = cards.map(({ gift_card: card }) => card.id);
  for (const id of [one, other]) assert.equal((await shopped.ask(`PUT /gift_card/${id}`, json)).status, 200);
  await shopped.restart({ passMs: 59 * minuteMs });
  assert.equal((await shopped.ask(`POST /gift_card/${one}/undo`)).gift_card.disabled_at, null);
  await shopped.restart({ passMs: minuteMs });
  const late = await shopped.ask(`POST /gift_card/${other}/undo`);
  assert.equal(late.status, 422);
  assert.match(late.text, /\/undo-window-closed"/);
}); // prettier-ignore

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
