/** Migration 7 takes a database of the version before it to the new chains, or changes nothing. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { formatMoney } from '../../src/domain/money/money.ts';
import { listCardTransfers } from '../../src/service/money/movements.ts';
import { debit } from '../../src/service/money/spend.ts';
import { listStores } from '../../src/storage/stores/store.ts';
import { verify } from '../../src/service/proofs/verify.ts';
import { findByCode } from '../../src/storage/cards/code.ts';
import { MigrationError } from '../../src/storage/schema/migration-error.ts';
import { all, sql } from '../../src/storage/sql/sql.ts';
import { listTransfers } from '../../src/storage/money/transfer.ts';
import { fillOldDatabase, type OldDatabase } from '../support/before-chains.ts';
import type { StorageFactory, TestDatabase } from '../support/database.ts';
import { code, manualClock, money, testContext } from '../support/fixtures.ts';

const domain = 'flowers.example';

/** Before the records of the old database expire. */
const at = Date.UTC(2026, 10, 22, 14);

async function migrated(factory: StorageFactory, database: TestDatabase) {
  const old = await fillOldDatabase(factory, database);
  const storage = database.open();
  const applied = await storage.migrate(factory.migrations);
  assert.ok(applied.some(({ version }) => version === 7));
  const ctx = testContext({ masters: old.masters, clock: manualClock(at) });
  const stores = await storage.read(listStores);
  const store = stores.find((found) => found.store.domain === domain)?.store;
  assert.ok(store);
  return { old, storage, ctx, store };
}

/** The rows of a card's transfers in the old database, by their places. */
function oldTransfers(old: OldDatabase, cardId: number) {
  return old
    .rows('transfers')
    .filter((row) => row['card_id'] === cardId)
    .toSorted((left, right) => Number(left['sequence']) - Number(right['sequence']));
}

export function testChainMigration(factory: StorageFactory): void {
  test('every transfer is there with all its values, in chains that agree', async () => {
    await using database = await factory.createDatabase();
    const { old, storage, store } = await migrated(factory, database);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    const chain = await storage.read(() => listTransfers(store.id, { after: old.long - 1, upTo: old.long }));
    const before = oldTransfers(old, old.long);
    assert.equal(chain.length, before.length);
    for (const [place, { transfer }] of chain.entries()) {
      const row = before[place];
      assert.deepEqual(
        [
          transfer.id, transfer.sequence, transfer.kind, transfer.debit, transfer.credit, transfer.actor,
          transfer.reference, transfer.note, transfer.orderId, transfer.holdId, transfer.reverses, transfer.createdAt,
          Number(transfer.amount.minor), Number(transfer.balanceAfter.minor), transfer.amount.currency.code,
        ],
        ['id', 'sequence', 'kind', 'debit_account', 'credit_account', 'actor', 'reference', 'note', 'order_id',
          'hold_id', 'reverses', 'created_at', 'amount', 'balance_after', 'currency'].map((column) => row?.[column]),
      ); // prettier-ignore
    }
    const count = await storage.read(() => all(sql`select id from transfers`));
    assert.equal(count.length, old.rows('transfers').length);
  });

  test('the new hashes are those of the documented format', async () => {
    await using database = await factory.createDatabase();
    const { old, storage, store } = await migrated(factory, database);
    for (const cardId of [old.long, old.withExpiry]) {
      let previous: Uint8Array = new Uint8Array(32);
      const chain = await storage.read(() => listTransfers(store.id, { after: cardId - 1, upTo: cardId }));
      for (const { transfer, salt, issuedExpiresOn, textSalt, textDigest, hash } of chain) {
        const text =
          transfer.reference === null && transfer.note === null
            ? null
            : createHash('sha256')
                .update(textSalt ?? '')
                .update(JSON.stringify([transfer.reference, transfer.note]))
                .digest('base64');
        assert.equal(textDigest && Buffer.from(textDigest).toString('base64'), text);
        const content = JSON.stringify([
          'transfer/2', store.id, cardId, transfer.sequence, transfer.id, transfer.kind, formatMoney(transfer.amount),
          'EUR', transfer.debit, transfer.credit, formatMoney(transfer.balanceAfter), transfer.actor, text,
          transfer.orderId, transfer.holdId, transfer.reverses, transfer.createdAt,
          salt && Buffer.from(salt).toString('base64'), salt && [issuedExpiresOn, null],
        ]); // prettier-ignore
        const expected = createHash('sha256').update(previous).update(content).digest();
        assert.deepEqual(Buffer.from(hash), expected);
        previous = hash;
      }
    }
    const salts = await storage.read(() =>
      all(sql<{ salt: Uint8Array }>`select salt from transfers where salt is not null`),
    );
    const different = new Set(salts.map(({ salt }) => Buffer.from(salt).toString('hex')));
    assert.equal(different.size, old.rows('gift_cards').length);
  });

  test('the first transfer has the expiry with which the card was issued, even if it was changed since', async () => {
    await using database = await factory.createDatabase();
    const { old, storage } = await migrated(factory, database);
    const rows = await storage.read(() =>
      all(sql<{ card_id: bigint; issued: string | null; expires_on: string | null }>`
        select t.card_id, t.issued_expires_on as issued, g.expires_on from transfers t
        join gift_cards g on g.store_id = t.store_id and g.id = t.card_id where t.sequence = 1`),
    );
    const found = new Map(rows.map((row) => [Number(row.card_id), [row.issued, row.expires_on]]));
    assert.deepEqual(found.get(old.withExpiry), ['2099-12-31', '2098-06-30']);
    assert.deepEqual(found.get(old.long), [null, '2097-01-31']);
    const expired = old.rows('gift_cards').find((row) => row['expires_on'] === '2026-02-01');
    assert.deepEqual(found.get(Number(expired?.['id'])), ['2026-02-01', '2026-02-01']);
  });

  test('codes of every kind are found, and a replaced one is known as such', async () => {
    await using database = await factory.createDatabase();
    const { old, storage, ctx, store } = await migrated(factory, database);
    const lookUp = (text: string) =>
      storage.read(() => findByCode(ctx, { storeId: store.id, code: code(text), now: at }));
    const [chosen = '', replaced = ''] = old.codes;
    assert.equal((await lookUp(chosen))?.state.card.id, old.withExpiry);
    assert.equal((await lookUp(old.rotated))?.state.card.id, old.long);
    assert.equal((await lookUp(old.rotated))?.isCurrent, true);
    assert.equal((await lookUp(replaced))?.isCurrent, false);
  });

  test('a card continues its chain, and its history has the same pages in both directions', async () => {
    await using database = await factory.createDatabase();
    const { old, storage, ctx, store } = await migrated(factory, database);
    const spend = {
      store, cardId: old.long, actor: 'test', reference: 'new', note: null, orderId: null, versions: null,
      amount: money('1', 'EUR'), partial: false,
    }; // prettier-ignore
    const { transfer } = await storage.write(() => debit(ctx, spend));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    const ids = [...oldTransfers(old, old.long).map(({ id }) => Number(id)), transfer.id];
    const key = { storeId: store.id, cardId: old.long };
    const backward: number[] = [];
    for (let before: number | null = null, more = true; more;) {
      const page = await storage.read(() => listCardTransfers(key, { limit: 7, before, after: null }));
      backward.push(...page.items.map(({ id }) => id));
      before = backward.at(-1) ?? null;
      more = page.hasOlder;
    }
    assert.deepEqual(backward, ids.toReversed());
    for (const limit of [1, 7, 31, 32, 33, 100])
      for (const after of [0, 1, 23, 30, 31, 32, 33, 62, 63, 64, ids.length - 2, ids.length - 1]) {
        const page = await storage.read(() =>
          listCardTransfers(key, { limit, before: null, after: ids[after] ?? 0 }),
        );
        const expected = ids.slice(after + 1, after + 1 + limit).toReversed();
        assert.deepEqual(
          page.items.map(({ id }) => id),
          expected,
          `${limit} after place ${after + 1}`,
        );
        assert.equal(page.hasNewer, after + 1 + limit < ids.length);
      }
  });

  test('events, holds, webhooks and emails are unchanged', async () => {
    await using database = await factory.createDatabase();
    const { old, storage } = await migrated(factory, database);
    const events = await storage.read(() =>
      all(sql<Record<string, unknown>>`
        select store_id, id, type, subject_id, subject_version, created_at, data from events order by store_id, id`),
    );
    const expected = old.rows('events').map((row) => ({
      ...row,
      ...Object.fromEntries(
        ['store_id', 'id', 'subject_id', 'subject_version', 'created_at'].map((name) => [
          name,
          BigInt(Number(row[name])),
        ]),
      ),
    }));
    assert.deepEqual(
      events.map((row) => ({ ...row })),
      expected,
    );
    for (const [before, now] of [
      ['holds', 'holds'],
      ['webhook_deliveries', 'webhook_deliveries'],
      ['webhook_attempts', 'webhook_attempts'],
      ['mail_deliveries', 'email_deliveries'],
      ['idempotency_records', 'idempotency_records'],
    ] as const) {
      const [row] = await storage.read(() => all(countOf[now]));
      assert.equal(Number(row?.n), old.rows(before).length, now);
      assert.ok(old.rows(before).length > 0, before);
    }
  });

  test('a chain that does not agree is named, and nothing is changed', async () => {
    const tamperings = [
      [
        sql`update transfers set note = 'x' where sequence = 20`,
        /the hash of transfer \d+ of the gift card \d+/,
      ],
      [sql`update transfers set hash = ${new Uint8Array(32)} where sequence = 73`, /the hash of transfer/],
      [sql`delete from transfers where sequence = 1 and amount = 3300`, /gift cards have no transfers/],
      [sql`delete from transfers where sequence = 30`, /the hash of transfer/],
      [sql`update transfers set currency = 'ZZZ' where sequence = 40`, /the currency ZZZ/],
    ] as const;
    for (const [tampering, message] of tamperings) {
      await using database = await factory.createDatabase();
      const old = await fillOldDatabase(factory, database);
      await database.tamper(tampering);
      const storage = database.open();
      const before = await storage.applied();
      await assert.rejects(storage.migrate(factory.migrations), (error) => {
        assert.ok(error instanceof MigrationError, String(error));
        assert.match(error.message, message);
        assert.match(error.message, /the database was not changed/);
        return true;
      });
      assert.deepEqual(await storage.applied(), before);
      const rows = await storage.read(() => all(sql`select id, sequence, hash from transfers`));
      assert.ok(rows.length >= old.rows('transfers').length - 1);
    }
  });

  test('a migration that is killed has changed nothing, and the next one succeeds', async () => {
    await using database = await factory.createDatabase();
    const old = await fillOldDatabase(factory, database);
    // The chains have 17 salts: of each first transfer, and of each reference or note.
    for (const time of [1, 9, 17]) {
      const child = spawn(
        process.execPath,
        [
          fileURLToPath(new URL('../support/killed-migration.ts', import.meta.url)),
          ...database.place,
          String(time),
        ],
        { stdio: ['ignore', 'inherit', 'inherit'] },
      );
      const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
      assert.equal(signal, 'SIGKILL');
      const storage = database.open();
      const versions = (await storage.applied()).map(({ version }) => version);
      assert.equal(Math.max(...versions), 5);
      const rows = await storage.read(() => all(sql`select sequence, hash from transfers`));
      assert.equal(rows.length, old.rows('transfers').length);
      await storage[Symbol.asyncDispose]();
    }
    const storage = database.open();
    await storage.migrate(factory.migrations);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });
}

const countOf = {
  holds: sql<{ n: bigint }>`select count(*) as n from holds`,
  webhook_deliveries: sql<{ n: bigint }>`select count(*) as n from webhook_deliveries`,
  webhook_attempts: sql<{ n: bigint }>`select count(*) as n from webhook_attempts`,
  email_deliveries: sql<{ n: bigint }>`select count(*) as n from email_deliveries`,
  idempotency_records: sql<{ n: bigint }>`select count(*) as n from idempotency_records`,
} as const;
