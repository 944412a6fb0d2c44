/** Lookups by full code: the data that each scope can read, and the limit on guesses. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { readGivenCode } from '../../src/core/cards/domain/given-code.ts';
import { lookUp } from '../../src/core/cards/service/lookup.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { withoutRequestId } from '../support/money-responses.ts';
import { shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';

const undoWindowMinutes = 0;
const stores = [
  { domain: 'flowers.example', undoWindowMinutes },
  { domain: 'books.example', undoWindowMinutes },
];
const service = await startService({ stores });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');
const lookup = 'POST /gift_card/lookup';
const redeem = 'POST /gift_card/redeem';

/** Codes that cannot be spent, by reason. */
async function useless(): Promise<Readonly<Record<'unknown' | 'foreign' | 'disabled' | 'expired' | 'suspended', string>>> {
  const disabled = await shop.issue();
  await shop.does(`PUT /gift_card/${disabled.id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const expired = await shop.issue();
  await shop.does(`PUT /gift_card/${expired.id}`, { json: { expires_on: '2020-01-01' } }, { events: ['gift_card.updated'] });
  const suspended = await shop.issue({ suspend: true });
  const foreign = await books.issue();
  shop.codes.add(foreign.code);
  return { unknown: 'zzzzzzzzzzzzzzzz', foreign: foreign.code, disabled: disabled.code, expired: expired.code, suspended: suspended.code };
} // prettier-ignore

test('a lookup finds the card by its full code, in any spelling: bare, wrapped or in a form', async (t) => {
  const { id, code } = await shop.issue({ note: 'x' });
  const spelt = `${code.slice(0, 4)}-${code.slice(4, 8)} ${code.slice(8)}`.toUpperCase();
  shop.codes.add(spelt);
  for (const ask of [
    { json: { code } },
    { json: { code: spelt } },
    { json: { gift_card: { code } } },
    { form: `code=${code}` },
    { form: `gift_card%5Bcode%5D=${encodeURIComponent(spelt)}` },
  ]) {
    await t.test(JSON.stringify(ask).slice(0, 12), async () => {
      const { gift_card: card, response } = await shop.does(lookup, ask, { status: 200, events: [] });
      assert.equal(card.id, id);
      assert.deepEqual([card.held, card.available, card.note], ['0.00', '25.00', 'x']);
      assert.equal(
        response.headers.get('etag'),
        (await shop.ask(`GET /gift_card/${id}`)).headers.get('etag'),
      );
    });
  }
});

test('a lookup does not change the card or anything else', async () => {
  const { code } = await shop.issue();
  const before = await service.state();
  await shop.lookUp(code);
  assert.equal(await service.state(), before);
});

test('an invalid code is a field error and not a failed lookup', async (t) => {
  for (const [sent, message] of [
    [{}, 'is required'],
    [{ code: null }, 'must be a string of 8 to 20 letters or digits'],
    [{ code: 12_345_678 }, 'must be a string of 8 to 20 letters or digits'],
    [{ code: '' }, 'must have 8 to 20 letters or digits'],
    [{ code: '123456' }, 'must have 8 to 20 letters or digits'],
    [{ code: 'a'.repeat(21) }, 'must have 8 to 20 letters or digits'],
    [{ code: 'straße' }, 'must have 8 to 20 letters or digits'],
    [{ code: '•••• 9012' }, 'must have 8 to 20 letters or digits'],
  ] as const) {
    await t.test(JSON.stringify(sent), async () => {
      const rows = () => service.query('select caller, refilled_at from lookup_throttle order by caller');
      const before = await rows();
      await shop.rejects(lookup, { json: sent }, { code: 'invalid-parameter', errors: { code: [message] } });
      assert.deepEqual(await rows(), before);
    });
  }
  await shop.rejects(
    lookup,
    { json: { code: 'abcdefgh', id: 1 } },
    { code: 'invalid-parameter', errors: { id: ['is not a known parameter'] } },
  );
});

test('a code in a URL is rejected', async () => {
  const { code } = await shop.issue();
  // Sent directly, because the client of the tests rejects a code in a URL.
  const response = await service.request(`/gift_card/lookup?code=${code}`, {
    method: 'POST',
    token: shop.token,
  });
  assert.equal(response.status, 400);
  assert.ok(!response.text.includes(code));
  assert.equal((await service.request('/gift_card/lookup', { token: shop.token })).status, 405);
  assert.ok(!service.log().includes(code));
});

test('with read_gift_cards, a lookup returns disabled, expired and suspended cards', async () => {
  const { unknown, foreign, disabled, expired, suspended } = await useless();
  assert.ok((await shop.lookUp(disabled)).disabled_at);
  assert.equal((await shop.lookUp(expired)).expires_on, '2020-01-01');
  assert.equal((await shop.lookUp(suspended)).state, 'suspended');
  await shop.rejects(redeem, { json: { code: suspended, amount: 1 } }, { code: 'card-suspended' });
  for (const code of [unknown, foreign])
    await shop.rejects(lookup, { json: { code } }, { code: 'not-found' });
  const json = { code: disabled, amount: 1 };
  await shop.rejects(redeem, { json }, { code: 'card-disabled' });
  const both = await shop.tokenFor('redeem_gift_cards', 'read_gift_cards');
  await shop.rejects(redeem, { json, token: both }, { code: 'card-disabled' });
});

test('with redeem_gift_cards only, every code that cannot be spent gets the same bytes', async () => {
  const codes = await useless();
  const token = await shop.tokenFor('redeem_gift_cards');
  for (const line of [lookup, redeem, `${redeem}?dry_run=true`]) {
    const responses = new Set<string>();
    const headers = new Set<string>();
    for (const code of Object.values(codes)) {
      const json = line === lookup ? { code } : { code, amount: 1 };
      const response = await shop.returnsError(
        line,
        { json, token },
        { code: 'not-found', errors: 'Not Found' },
      );
      responses.add(withoutRequestId(response));
      headers.add([...response.headers.keys()].filter((name) => name !== 'date').join(' '));
    }
    assert.equal(responses.size, 1, [...responses].join('\n'));
    assert.equal(headers.size, 1, [...headers].join('\n'));
  }
  const { id, code } = await shop.issue();
  const { gift_card: card } = await shop.does(lookup, { json: { code }, token }, { status: 200, events: [] });
  assert.equal(card.id, id);
});

test('a code that cannot be spent has the same statements, whatever the reason', async () => {
  const rotated = await shop.issue();
  await service.request(`/gift_card/${rotated.id}/rotate_code`, { method: 'POST', token: shop.token });
  const codes = { ...(await useless()), retired: rotated.code };
  await using database = await openDatabase(readConfig(service.environment), { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore('flowers.example'));
  const work = new Map<string, readonly string[]>();
  for (const [why, text] of Object.entries(codes)) {
    const readings = readGivenCode(text);
    assert.ok(readings.ok);
    const statements: string[] = [];
    const found = await storage.read(() => {
      // An engine can restart the script when it yields a second statement.
      statements.length = 0;
      return watched(lookUp(ctx, { store, readings: readings.value, usableOnly: true }), statements);
    });
    assert.equal(found.kind, 'missed');
    work.set(why, statements);
  }
  const expected = work.get('unknown') ?? [];
  assert.ok(expected.length > 0);
  for (const [why, statements] of work) assert.deepEqual(statements, expected, why);
});

/** Runs a script and records the text of each statement. */
function* watched<T>(script: Script<T>, noted: string[]): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    noted.push(...step.value.statements.map((statement) => statement.text(sqliteDialect)));
    step = script.next(yield step.value);
  }
  return step.value;
}

test('the log and the database contain no code', async () => {
  await shop.assertNoCodeLeaked();
  await books.assertNoCodeLeaked();
});
