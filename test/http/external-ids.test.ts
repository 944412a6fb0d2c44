/** External ids: a repetition returns the existing object, for ever; anything else is rejected. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { until } from '../support/delivering.ts';
import { viewOf } from '../support/money-responses.ts';
import { shopOf, unchanged } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }, { domain: 'books.example' }],
  limits: { erasurePeriodMs: 20 },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const dayMs = 86_400_000;
const used = { code: 'external-id-used' } as const;

let count = 0;
/** A new external id, with all visible characters that a path has to encode. */
const newId = (): string => `order/${(count += 1)}?#%&+:"ä`.replace('ä', '~');
const inPath = (id: string): string => `external:${encodeURIComponent(id)}`;

type Json = Readonly<Record<string, unknown>>;

/** Sends a request again, which changes nothing and returns a 200. */
async function repeats(line: string, json: Json, headers: Readonly<Record<string, string>> = {}) {
  return unchanged(service, async () => {
    const response = await shop.ask(line, { json, headers });
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers.get('idempotent-replayed'), null);
    return response;
  });
}

test('the repetition of a creation returns the card as it is now, without its code', async () => {
  const json = { initial_value: '25.00', expires_on: '2099-12-31', vat_kind: 'single_purpose', vat_rate: '19', external_id: newId() };
  const { card } = await shop.creates({ json });
  await shop.debits(card.id, '10');
  const response = await repeats('POST /gift_card', { ...json, email: 'ada@example.com', note: 'other', message: 'x' });
  const { gift_card: again } = response.json as { gift_card: Json };
  assert.deepEqual(again, await shop.read(card.id));
  assert.equal(again['balance'], '15.00');
  assert.equal(response.headers.get('etag'), await shop.tag(card.id));
  assert.equal(response.headers.get('location'), `/gift_card/${card.id}`);
  for (const other of [
    { initial_value: '26.00' },
    { expires_on: null },
    { vat_rate: '7' },
    { vat_kind: null, vat_rate: null },
    { code: 'ABCD1234EFGH' },
  ])
    await shop.rejects('POST /gift_card', { json: { ...json, ...other } }, used);
}); // prettier-ignore

test('a chosen code is a part of what is asked for', async () => {
  const json = { initial_value: '5', code: 'CHOSEN-0001', external_id: newId() };
  const { card } = await shop.creates({ json });
  const { gift_card: again } = (await repeats('POST /gift_card', json)).json as { gift_card: Json };
  assert.equal(again['id'], card.id);
  await shop.rejects('POST /gift_card', { json: { ...json, code: 'CHOSEN-0002' } }, used);
});

test('a repetition works after the times and limits of the request are over', async () => {
  const day = new Date(service.clock.now() + dayMs).toISOString().slice(0, 10);
  const external_id = newId();
  const json = { initial_value: '5', expires_on: day, send_on: null, external_id };
  const { card } = await shop.creates({ json });
  service.clock.advance(800 * dayMs);
  const { gift_card: again } = (await repeats('POST /gift_card', json)).json as { gift_card: Json };
  assert.equal(again['id'], card.id);
  await shop.rejects('POST /gift_card', { json: { ...json, initial_value: '6' } }, used);
  await shop.rejects(
    'POST /gift_card',
    { json: { ...json, external_id: newId() } },
    { code: 'invalid-parameter', errors: { expires_on: ['must be today or later'] } },
  );
});

test('the details and lists of cards have the external id; the record of the specification does not', async () => {
  const external_id = newId();
  const { card } = await shop.creates({ json: { initial_value: '5', external_id } });
  assert.ok(!('external_id' in card) && !('external_id' in (await shop.read(card.id))));
  const { gift_card: details } = (await shop.ask(`GET /gift_cards/${card.id}`)).json as { gift_card: Json };
  assert.equal(details['external_id'], external_id);
  const query = new URLSearchParams({ external_id }).toString();
  const { gift_cards: found } = (await shop.ask(`GET /gift_cards?${query}`)).json as { gift_cards: Json[] };
  assert.deepEqual(found.map(({ id }) => id), [card.id]);
  await shop.does(`PUT /gift_card/${card.id}`, { json: { external_id, note: 'sent back' } }, { events: ['gift_card.updated'] });
  await shop.rejects(`PUT /gift_card/${card.id}`, { json: { external_id: 'other' } }, { code: 'invalid-parameter' });
}); // prettier-ignore

for (const [line, events] of [['debit', 'gift_card.redeemed'], ['credit', 'gift_card.credited']] as const)
  test(`the repetition of a ${line} returns its transaction and the card as it is now`, async () => {
    const { id } = await shop.issue();
    const json = { amount: '4.00', external_id: newId(), reference: 'first' };
    const { transaction } = await shop.does(`POST /gift_card/${id}/${line}`, { json }, { events: [events] });
    assert.equal(transaction.external_id, json.external_id);
    await shop.debits(id, '1');
    const stale = { 'if-match': '"1-0"' };
    const again = viewOf(await repeats(`POST /gift_card/${id}/${line}`, { ...json, amount: 4, reference: 'second' }, stale));
    assert.deepEqual(again.transaction, transaction);
    assert.equal(again.gift_card.balance, (await shop.read(id)).balance);
    await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
    await repeats(`POST /gift_card/${id}/${line}`, json);
    const other = await shop.issue();
    await shop.rejects(`POST /gift_card/${id}/${line}`, { json: { ...json, amount: '5' } }, used);
    await shop.rejects(`POST /gift_card/${other.id}/${line}`, { json }, used);
    await shop.rejects(`POST /gift_card/${other.id}/${line === 'debit' ? 'credit' : 'debit'}`, { json }, used);
  }); // prettier-ignore

test('a partial debit is another request than one of the whole amount', async () => {
  const { id } = await shop.issue();
  const json = { amount: '40', partial: true, external_id: newId() };
  const { transaction } = await shop.does(`POST /gift_card/${id}/debit`, { json }, { events: ['gift_card.redeemed'] });
  assert.equal(transaction.amount, '-25.00');
  assert.deepEqual(viewOf(await repeats(`POST /gift_card/${id}/debit`, json)).transaction, transaction);
  await shop.rejects(`POST /gift_card/${id}/debit`, { json: { ...json, partial: false } }, used);
}); // prettier-ignore

test('a redemption is compared by the card of its code, also when the card can no longer be used', async () => {
  const { id, code } = await shop.issue();
  const token = await shop.tokenFor('redeem_gift_cards');
  const json = { code, amount: '25.00', external_id: newId() };
  const redeem = async (more: Json = {}) => shop.ask('POST /gift_card/redeem', { json: { ...json, ...more }, token });
  const first = await redeem();
  assert.equal(first.status, 201, first.text);
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const second = await redeem();
  assert.equal(second.status, 200, second.text);
  assert.deepEqual(viewOf(second).transaction, viewOf(first).transaction);
  assert.equal((await redeem({ amount: '24' })).status, 404);
  assert.equal((await redeem({ code: 'AAAA-BBBB-CCCC' })).status, 404);
  const other = await shop.issue();
  assert.equal((await redeem({ code: other.code })).status, 422);
}); // prettier-ignore

test('the repetition of a hold, a capture and a reversal returns the existing one', async () => {
  const { id } = await shop.issue();
  const json = { amount: '10', external_id: newId() };
  const line = `POST /gift_card/${id}/holds`;
  const { hold } = await shop.does(line, { json }, { events: ['gift_card.held'] });
  assert.equal(hold.external_id, json.external_id);
  const again = await repeats(line, { ...json, expires_in: 60, note: 'other' });
  assert.deepEqual(viewOf(again).hold, hold);
  assert.equal(again.headers.get('location'), `/holds/${hold.id}`);
  await shop.rejects(line, { json: { ...json, amount: '11' } }, used);

  const ofCapture = { external_id: newId() };
  const path = `POST /holds/${inPath(json.external_id)}/capture`;
  const { transaction } = await shop.does(path, { json: ofCapture }, { events: ['gift_card.redeemed'] });
  assert.deepEqual([transaction.hold_id, transaction.external_id], [hold.id, ofCapture.external_id]);
  assert.deepEqual(viewOf(await repeats(path, ofCapture)).transaction, transaction);
  assert.equal(viewOf(await repeats(line, json)).hold.status, 'captured');
  await shop.rejects(path, { json: { ...ofCapture, amount: '10' } }, used);
  await shop.rejects(path, { json: {} }, { code: 'hold-closed' });

  const ofReversal = { amount: '3', external_id: newId() };
  const reverse = `POST /transactions/${inPath(ofCapture.external_id)}/reverse`;
  const { transaction: back } = await shop.does(reverse, { json: ofReversal }, { events: ['gift_card.reversed'] });
  assert.equal(back.reverses, transaction.id);
  assert.deepEqual(viewOf(await repeats(reverse, ofReversal)).transaction, back);
  await shop.rejects(reverse, { json: { external_id: ofReversal.external_id } }, used);
  await shop.rejects(`POST /gift_card/${id}/debit`, { json: { amount: '3', external_id: ofReversal.external_id } }, used);
}); // prettier-ignore

test('kinds have ids of their own, and stores as well', async () => {
  const external_id = newId();
  const { card } = await shop.creates({ json: { initial_value: '25', external_id } });
  await shop.does(
    `POST /gift_card/${card.id}/debit`,
    { json: { amount: 1, external_id } },
    { events: ['gift_card.redeemed'] },
  );
  await shop.does(
    `POST /gift_card/${card.id}/holds`,
    { json: { amount: 1, external_id } },
    { events: ['gift_card.held'] },
  );
  const other = await shopOf(service, 'books.example');
  await other.creates({ json: { initial_value: '26', external_id } });
});

test('the id of another caller is rejected, whatever it asks for', async () => {
  const token = await service.token('flowers.example');
  const { id } = await shop.issue();
  const json = { amount: '1', external_id: newId() };
  await shop.does(`POST /gift_card/${id}/debit`, { json }, { events: ['gift_card.redeemed'] });
  await shop.rejects(`POST /gift_card/${id}/debit`, { json, token }, used);
});

test('dry runs and rejections use nothing', async () => {
  const { id } = await shop.issue();
  const json = { amount: '26', external_id: newId() };
  const line = `POST /gift_card/${id}/debit`;
  await shop.rejects(line, { json }, { code: 'insufficient-balance', available: '25.00' });
  await unchanged(service, () => shop.ask(`${line}?dry_run=true`, { json: { ...json, amount: 2 } }));
  await shop.does(line, { json: { ...json, amount: 1 } }, { events: ['gift_card.redeemed'] });
  const repeated = await shop.ask(`${line}?dry_run=true`, { json: { ...json, amount: 1 } });
  assert.equal(repeated.status, 200);
});

test('a stored response precedes the external id', async () => {
  const json = { initial_value: '5', external_id: newId() };
  const headers = { 'idempotency-key': `key-${count}` };
  const first = await shop.ask('POST /gift_card', { json, headers });
  const replay = await shop.ask('POST /gift_card', { json, headers });
  assert.deepEqual([replay.status, replay.text], [201, first.text]);
  await shop.rejects(
    'POST /gift_card',
    { json: { ...json, note: 'x' }, headers },
    { code: 'idempotency-key-reused' },
  );
});

test('an external id has 1 to 255 visible ASCII characters, and is a string', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/debit`;
  for (const external_id of ['', ' ', 'a b', 'ä', 'a\n', 'x'.repeat(256)])
    await shop.rejects(
      line,
      { json: { amount: 1, external_id } },
      { code: 'invalid-parameter', errors: { external_id: ['must have 1 to 255 visible ASCII characters'] } },
    );
  await shop.rejects(
    line,
    { json: { amount: 1, external_id: 7 } },
    { code: 'invalid-parameter', errors: { external_id: ['must be a string'] } },
  );
  const longest = '%'.repeat(255);
  const { transaction } = await shop.does(
    line,
    { json: { amount: 1, external_id: longest } },
    { events: ['gift_card.redeemed'] },
  );
  const shown = await shop.ask(`GET /transactions/${inPath(longest)}`);
  assert.deepEqual(viewOf(shown).transaction, transaction);
  await shop.does(line, { json: { amount: 1, external_id: null } }, { events: ['gift_card.redeemed'] });
});

test('a caller without read_gift_cards finds only what it has made; other lookups count', async () => {
  const [mine, others] = [await shop.tokenFor('redeem_gift_cards'), await shop.tokenFor('redeem_gift_cards', 'read_events')];
  const { id } = await shop.issue();
  const external_id = newId();
  const held = await shop.ask(`POST /gift_card/${id}/holds`, { json: { amount: 1, external_id }, token: mine });
  assert.equal(held.status, 201, held.text);
  const statusFor = async (token: string, path: string) => (await shop.ask(`GET ${path}`, { token })).status;
  const path = `/holds/${inPath(external_id)}`;
  assert.deepEqual([await statusFor(mine, path), await statusFor(others, path)], [200, 404]);
  assert.equal((await shop.ask(`GET ${path}`)).status, 200);
  const failures = async () => Number((await service.query('select coalesce(sum(refilled_at), 0) as n from lookup_throttle'))[0]?.['n'] ?? 0);
  const before = await failures();
  await shop.ask(`GET /holds/${inPath('unknown')}`, { token: others });
  assert.ok((await failures()) > before);
  const ofReader = await failures();
  assert.equal((await shop.ask(`GET /transactions/${inPath('unknown')}`)).status, 404);
  assert.equal(await failures(), ofReader);
  const voided = await shop.ask(`POST ${path}/void`, { token: others });
  assert.equal(voided.status, 404);
  assert.equal((await shop.ask(`POST ${path}/void`, { token: mine })).status, 200);
}); // prettier-ignore

test('a void that arrives before its hold uses the id up, and so does a reversal', async () => {
  const { id } = await shop.issue();
  const external_id = newId();
  const path = `POST /holds/${inPath(external_id)}/void`;
  await unchanged(service, () => shop.ask(`${path}?dry_run=true`, {}));
  await shop.rejects(path, { json: { unknown: 1 } }, { code: 'invalid-parameter' });
  for (let time = 0; time < 2; time += 1) assert.equal((await shop.ask(path, {})).status, 404);
  const line = `POST /gift_card/${id}/holds`;
  await shop.rejects(line, { json: { amount: 1, external_id } }, used);
  assert.equal((await shop.ask(`GET /holds/${inPath(external_id)}`)).status, 404);

  const ofDebit = newId();
  const reversal = await shop.ask(`POST /transactions/${inPath(ofDebit)}/reverse`, {
    headers: { 'idempotency-key': `reversal-${ofDebit}` },
  });
  assert.equal(reversal.status, 404);
  await shop.rejects(`POST /gift_card/${id}/debit`, { json: { amount: 1, external_id: ofDebit } }, used);
  assert.equal((await shop.ask(`POST /holds/${inPath(newId())}/capture`, {})).status, 404);
});

test('requests at the same time with one external id make one object', async () => {
  const { id } = await shop.issue({ initial_value: '100' });
  for (const [line, json] of [
    [`/gift_card/${id}/debit`, { amount: '1' }],
    [`/gift_card/${id}/holds`, { amount: '1' }],
    ['/gift_card', { initial_value: '1' }],
  ] as const) {
    const external_id = newId();
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => shop.ask(`POST ${line}`, { json: { ...json, external_id } })),
    );
    assert.deepEqual(responses.map(({ status }) => String(status)).toSorted(), [
      '200',
      '200',
      '200',
      '200',
      '200',
      '200',
      '200',
      '201',
    ]);
  }
  const { gift_card: card } = viewOf(await shop.ask(`GET /gift_card/${id}/balance`));
  assert.equal(card.available, '98.00');
});

test('a repetition is still one after an erasure, which removes the text', async () => {
  const [ofCard, ofDebit, ofHold] = [newId(), newId(), newId()];
  const json = { initial_value: '25', recipient_email: 'gone@example.com', external_id: ofCard };
  const { card } = await shop.creates({ json }, { events: ['customer.created', 'gift_card.created'] });
  const debit = { amount: '1', external_id: ofDebit };
  const { transaction } = await shop.does(`POST /gift_card/${card.id}/debit`, { json: debit }, { events: ['gift_card.redeemed'] });
  const hold = { amount: '1', external_id: ofHold };
  await shop.does(`POST /gift_card/${card.id}/holds`, { json: hold }, { events: ['gift_card.held'] });
  await shop.ask(`POST /customers/${String(card.recipient_id)}/erase`, { json: { erase_notes: true } });
  await until(async () => {
    const { erasure } = (await shop.ask(`GET /customers/${String(card.recipient_id)}/erasure`)).json as { erasure: Json };
    return erasure['status'] === 'complete';
  });
  for (const id of [ofCard, ofDebit, ofHold]) assert.ok(!(await service.state()).includes(JSON.stringify(id).slice(1, -1)), id);
  const again = viewOf(await repeats(`POST /gift_card/${card.id}/debit`, debit));
  assert.deepEqual([again.transaction.id, again.transaction.external_id], [transaction.id, null]);
  await repeats(`POST /gift_card/${card.id}/holds`, hold);
  await repeats('POST /gift_card', json);
  await shop.rejects('POST /gift_card', { json: { ...json, initial_value: '1' } }, used);
  assert.equal(viewOf(await shop.ask(`GET /transactions/${inPath(ofDebit)}`)).transaction.id, transaction.id);
}); // prettier-ignore

test('the log has no external id and no code', async () => {
  assert.ok(!service.log().includes('external:') && !service.log().includes('order/'));
  await shop.assertNoCodeLeaked();
});
