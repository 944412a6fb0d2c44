/** Idempotency keys and If-Match on writes that move money. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { codeOf, problemOf } from '../support/money-responses.ts';
import { assertUnchanged, shopOf, type Ask } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 60 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const dayMs = 24 * 60 * 60 * 1_000;

type Prepared = { readonly line: string; readonly json?: object; readonly cardId: number };

/** Each write on its own card, ready to succeed once. */
const writes: Readonly<Record<string, () => Promise<Prepared>>> = {
  async redeem() {
    const { id, code } = await shop.issue();
    return { line: 'POST /gift_card/redeem', json: { code, amount: '10' }, cardId: id };
  },
  async debit() {
    const { id } = await shop.issue();
    return { line: `POST /gift_card/${id}/debit`, json: { amount: '10' }, cardId: id };
  },
  async credit() {
    const { id } = await shop.issue();
    return { line: `POST /gift_card/${id}/credit`, json: { amount: '10' }, cardId: id };
  },
  async hold() {
    const { id } = await shop.issue();
    return { line: `POST /gift_card/${id}/holds`, json: { amount: '10' }, cardId: id };
  },
  async capture() {
    const { id } = await shop.issue();
    const hold = await shop.holds(id, '10');
    return { line: `POST /holds/${hold.id}/capture`, json: { amount: '8' }, cardId: id };
  },
  async void() {
    const { id } = await shop.issue();
    const hold = await shop.holds(id, '10');
    return { line: `POST /holds/${hold.id}/void`, cardId: id };
  },
  async reverse() {
    const { id } = await shop.issue();
    const debit = await shop.debits(id, '10');
    return { line: `POST /transactions/${debit.id}/reverse`, json: { amount: '4' }, cardId: id };
  },
  async undo() {
    const { id } = await shop.issue();
    await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
    return { line: `POST /gift_card/${id}/undo`, cardId: id };
  },
};

const keyed = (json: object | undefined, key: string, headers = {}): Ask => ({
  ...(json && { json }),
  headers: { 'idempotency-key': key, ...headers },
});

for (const [name, prepare] of Object.entries(writes)) {
  test(`${name} is executed once for a key, and its replay is identical`, async () => {
    const { line, json } = await prepare();
    const first = await shop.ask(line, keyed(json, `key-${name}`));
    assert.ok(first.status < 300, first.text);
    assert.equal(first.headers.get('idempotent-replayed'), null);
    const before = await service.state();
    const wrapper = /void|holds$/.test(line) ? 'hold' : 'transaction';
    const again = [keyed(json, `key-${name}`), keyed(json && { [name === 'undo' ? 'gift_card' : wrapper]: json }, `key-${name}`)];
    for (const ask of again) {
      const replay = await shop.ask(line, ask);
      assert.deepEqual([replay.status, replay.text], [first.status, first.text]);
      assert.equal(replay.headers.get('idempotent-replayed'), 'true');
      for (const header of ['etag', 'location', 'content-type']) assert.equal(replay.headers.get(header), first.headers.get(header));
    }
    await assertUnchanged(service, before, `the replay of ${name}`);
  }); // prettier-ignore

  test(`${name}: a key of another request is rejected`, async () => {
    const { line, json } = await prepare();
    const { id } = await shop.issue();
    const key = `other-${name}`;
    await shop.ask(`POST /gift_card/${id}/debit`, keyed({ amount: '1' }, key));
    await shop.rejects(line, keyed(json, key), { code: 'idempotency-key-reused' });
  });

  test(`${name}: a key has 1 to 255 visible ASCII characters`, async () => {
    const { line, json } = await prepare();
    for (const key of ['', 'a b', 'x'.repeat(256), 'schlüssel'])
      await shop.rejects(line, keyed(json, key), { code: 'invalid-idempotency-key' });
  });
}

test('other parameters, another note or another If-Match make another request', async () => {
  const { id } = await shop.issue();
  const tag = await shop.tag(id);
  const line = `POST /gift_card/${id}/debit`;
  await shop.ask(line, keyed({ amount: '1', note: 'x' }, 'request'));
  for (const ask of [
    keyed({ amount: '2', note: 'x' }, 'request'),
    keyed({ amount: '1', note: 'y' }, 'request'),
    keyed({ amount: '1' }, 'request'),
    keyed({ amount: '1', note: 'x' }, 'request', { 'if-match': tag }),
  ])
    await shop.rejects(line, ask, { code: 'idempotency-key-reused' });
});

test('a 422 is stored and replayed for its key', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/debit`;
  const rejected = await shop.ask(line, keyed({ amount: '30' }, 'short'));
  assert.equal(codeOf(problemOf(rejected)), 'insufficient-balance');
  await shop.does(
    `POST /gift_card/${id}/credit`,
    { json: { amount: '10' } },
    { events: ['gift_card.credited'] },
  );
  const replay = await shop.returnsError(line, keyed({ amount: '30' }, 'short'), {
    code: 'insufficient-balance',
    available: '25.00',
    replayed: true,
  });
  assert.equal(replay.text, rejected.text);
  assert.equal(replay.headers.get('idempotent-replayed'), 'true');
  await shop.does(line, keyed({ amount: '30' }, 'short-2'), { events: ['gift_card.redeemed'] });
});

test('a 401, 403, 400 or 415 is not stored, and its key can be used again', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/debit`;
  const ask = keyed({ amount: '1' }, 'free');
  await shop.rejects(
    line,
    { ...ask, token: await shop.tokenFor('read_gift_cards') },
    { code: 'insufficient-scope' },
  );
  await shop.rejects(line, { ...ask, token: null }, { code: 'unauthenticated' });
  await shop.rejects(`${line}?x=1`, ask, {
    code: 'invalid-query',
    errors: { x: ['is not a known parameter'] },
  });
  const text = { 'idempotency-key': 'free', 'content-type': 'text/plain' };
  await shop.rejects(line, { json: {}, headers: text }, { code: 'unsupported-media-type' });
  await shop.does(line, ask, { events: ['gift_card.redeemed'] });
});

for (const name of ['debit', 'credit', 'hold', 'undo', 'redeem', 'capture', 'void', 'reverse'] as const) {
  const declared = ['debit', 'credit', 'hold', 'undo', 'redeem'].includes(name);
  test(`${name} ${declared ? 'supports' : 'returns an ETag of the card and supports'} If-Match: another version is a 412, the current one succeeds`, async () => {
    const prepare = writes[name];
    assert.ok(prepare);
    const { line, json, cardId } = await prepare();
    const tagOf = async () => (await shop.ask(`GET /gift_card/${cardId}`)).headers.get('etag') ?? '';
    const stale = await tagOf();
    await shop.does(`PUT /gift_card/${cardId}`, { json: { note: 'newer' } }, { events: ['gift_card.updated'] });
    const other = await shop.issue();
    const body = json && { json };
    for (const tag of [stale, await shop.tag(other.id), `W/${await tagOf()}`, '"x"', stale.replace(/-\d+"$/, '-999"')])
      await shop.rejects(line, { ...body, headers: { 'if-match': tag } }, { code: 'precondition-failed' });
    const present = await tagOf();
    const response = await shop.ask(line, { ...body, headers: { 'if-match': `"x", ${present}` } });
    assert.ok(response.status < 300, response.text);
    assert.equal(response.headers.get('etag'), await tagOf());
    assert.notEqual(await tagOf(), present);
  }); // prettier-ignore
}

test('If-Match * accepts any version', async () => {
  const { id } = await shop.issue();
  await shop.does(
    `POST /gift_card/${id}/debit`,
    { json: { amount: 1 }, headers: { 'if-match': '*' } },
    { events: ['gift_card.redeemed'] },
  );
});

test('If-Match with an older and a newer version does not accept a version between them', async () => {
  const { id } = await shop.issue();
  await shop.debits(id, '1');
  const list = `"${id}-1", "${id}-3"`;
  for (const what of ['debit', 'credit', 'holds'])
    await shop.rejects(
      `POST /gift_card/${id}/${what}`,
      { json: { amount: 1 }, headers: { 'if-match': list } },
      { code: 'precondition-failed' },
    );
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());

test('a key is valid for 24 hours', async () => {
  // A separate service, because the changed clock would expire the holds of other tests.
  await using own = await startService({ stores: [{ domain: 'flowers.example' }] });
  const day = await shopOf(own, 'flowers.example');
  const { id } = await day.issue();
  const line = `POST /gift_card/${id}/debit`;
  const ask = keyed({ amount: '1' }, 'day');
  await day.does(line, ask, { events: ['gift_card.redeemed'] });
  own.clock.advance(dayMs - 60_000);
  await day.does(line, ask, { events: [] });
  own.clock.advance(61_000);
  await day.does(line, ask, { events: ['gift_card.redeemed'] });
});
