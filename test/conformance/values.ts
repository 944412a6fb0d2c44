/** Values are read as they were stored. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import test from 'node:test';
import { one, execute, sql, type Script, type SqlValue } from '../../src/database/sql/sql.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { insertRow } from '../support/row-counts.ts';

type Values = {
  readonly whole: bigint | null;
  readonly text: string | null;
  readonly bytes: Uint8Array | null;
};

/** Stores the values in columns that accept any integer, text or bytes, and reads them back. */
function* roundTrip(id: number, { whole, text, bytes }: Values): Script<Values> {
  yield* execute(sql`update stores set proxy_secret = ${bytes} where id = 1`);
  yield* execute(sql`
    insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters, note,
      created_at, line_item_id, last_transfer_id, chain_length, chain_hash)
    values (1, ${id}, 1, 'USD', 1, 1, 'abcd', ${text}, 0, ${whole}, 1, 1, ${new Uint8Array(32)})`);
  const card = yield* one(sql<{ note: string | null; line_item_id: bigint | null }>`
    select note, line_item_id from gift_cards where store_id = 1 and id = ${id}`);
  const store = yield* one(sql<{ proxy_secret: Uint8Array | null }>`
    select proxy_secret from stores where id = 1`);
  return { whole: card.line_item_id, text: card.note, bytes: store.proxy_secret };
}

function assertSame(read: Values, stored: Values): void {
  assert.equal(read.whole, stored.whole);
  assert.equal(read.text, stored.text);
  assert.equal(read.bytes === null, stored.bytes === null);
  if (read.bytes && stored.bytes) {
    assert.ok(read.bytes instanceof Uint8Array);
    assert.deepEqual([...read.bytes], [...stored.bytes]);
  }
}

export function testValues(factory: StorageFactory): void {
  test('every 64-bit integer, text and byte string is read as it was stored', async (t) => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'one'));
    let id = 0;
    const property = fc.asyncProperty(
      fc.record({
        whole: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
        // PostgreSQL rejects NUL in text, and stored texts never contain it.
        text: fc.option(fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))),
        bytes: fc.option(fc.uint8Array({ maxLength: 2_000 })),
      }),
      async (stored) => {
        id += 1;
        assertSame(await storage.write(() => roundTrip(id, stored)), stored);
      },
    );
    const seed = Date.now() % 2 ** 31;
    t.diagnostic(`seed ${seed}`);
    await fc.assert(property, {
      seed,
      numRuns: 200,
      examples: [
        [{ whole: 2n ** 63n - 1n, text: '', bytes: new Uint8Array() }],
        [{ whole: -(2n ** 63n), text: ' '.repeat(3), bytes: new Uint8Array([0]) }],
        [
          {
            whole: 2n ** 53n + 1n,
            text: 'e\u0301 \u00e9 \ufb01',
            bytes: new Uint8Array(256).map((_, i) => i),
          },
        ],
        [{ whole: 0n, text: '👩‍👩‍👧‍👦 🇨🇭 \u{10ffff}', bytes: Buffer.from('a view').subarray(2, 4) }],
        [{ whole: -1n, text: '\'; drop table stores; -- \\ " ? $1 %s :name @a', bytes: null }],
        [{ whole: null, text: null, bytes: null }],
        [{ whole: 1n, text: '\u0001\t\r\n\u007f\u200b\ufeff', bytes: new Uint8Array(100_000).fill(255) }],
      ],
    });
  });

  test('a whole number is stored like the bigint that equals it', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'one'));
    const numbers = [0, 1, -1, 4_294_967_296, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    for (const number of numbers) {
      const read = await storage.write(function* () {
        yield* execute(sql`update stores set updated_at = ${number} where id = 1`);
        return yield* one(sql<{ updated_at: bigint; same: bigint }>`
          select updated_at, (select count(*) from stores where updated_at = ${BigInt(number)}) as same
          from stores where id = 1`);
      });
      assert.equal(read.updated_at, BigInt(number));
      assert.equal(read.same, 1n);
    }
  });

  test('a statement accepts a value and null for the same parameter, in turns', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    await storage.write(() => insertRow(1, 'one'));
    const limits: readonly SqlValue[] = [null, 5n, 7, null, 2n ** 62n, null];
    for (const limit of limits) {
      const row = await storage.write(function* () {
        yield* execute(sql`update stores set issue_limit = ${limit} where id = 1`);
        return yield* one(sql<{ issue_limit: bigint | null }>`select issue_limit from stores where id = 1`);
      });
      assert.equal(row.issue_limit, limit === null ? null : BigInt(Number(limit)));
    }
  });

  test('text compares by code points, and texts that look equal can differ', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const names = ['a', 'b', 'é', 'e\u0301', '😀'];
    for (const [index, name] of names.entries()) await storage.write(() => insertRow(index + 1, name));
    for (const name of names) {
      const { n } = await storage.read(() =>
        one(sql<{ n: bigint }>`select count(*) as n from stores where domain = ${name}`),
      );
      assert.equal(n, 1n, name);
    }
  });
}
