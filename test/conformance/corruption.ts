/** Every change of a stored value that the program did not make is named by `verify`, or the table of cases says why not. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { resultOf } from '../../src/core/domain/paused.ts';
import { parseBatch } from '../../src/features/batches/domain/batch.ts';
import { batchKeyOf, continueBatch, startBatch } from '../../src/features/batches/service/batch.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { recordExpired, recordExpiringSoon } from '../../src/core/cards/service/expiry.ts';
import { capture, extendOpenHold, placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { verifyPage, type VerifiedPage } from '../../src/features/proofs/service/ledger-check.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify, type Mismatch, type Verification } from '../../src/features/proofs/service/verify.ts';
import { all, sql, Statement, type Script, type SqlValue } from '../../src/database/sql/sql.ts';
import { catalogColumns } from '../../src/database/sql/fragments.ts';
import type { Storage } from '../../src/database/storage.ts';
import { listStores } from '../../src/core/stores/storage/store.ts';
import type { Corruptible } from '../support/corruption.ts';
import {
  email,
  issueCommand,
  money,
  newStore,
  updateCommand,
  type TestContext,
} from '../support/fixtures.ts';
import { addShop, type OpenStore } from '../support/open-store.ts';
import { usingExternalId } from '../support/used-external-id.ts';
import { otherTables, tables, type Decision } from './corruption-cases.ts';

const hour = 3_600_000;
const day = 24 * hour;

async function issueBatch(
  { ctx, storage, store }: Pick<OpenStore, 'ctx' | 'storage' | 'store'>,
  count: number,
): Promise<void> {
  const sent = Array.from({ length: count }, () => ({ initial_value: '5.00' }));
  const parsed = resultOf(parseBatch(sent, { store, now: ctx.clock.now(), canSend: false }));
  assert.ok(parsed.ok);
  const { cards, total } = parsed;
  const command = { store, name: null, actor: 'test', apiClientId: null, cards, total };
  const batch = await storage.write(() => startBatch(ctx, command));
  await continueBatch({ ctx, storage }, batchKeyOf(batch));
}

/**
 * Creates a store in which every column of the ledger has a value in some row, and a second store.
 * @returns what `verify` reports of a copy of the day before the last entries.
 */
export async function fillLedger(storage: Storage, ctx: TestContext): Promise<Verification> {
  await storage.write(() => checkKeys(ctx));
  const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
  await storage.write(() => issue(ctx, issueCommand(other)));
  const store = await storage.write(() => createStore(ctx, newStore({ undoWindowMinutes: 60 })));
  const locationId = await addShop({ ctx, storage, store });
  const announcing = { ...store, expiringSoonDays: 30 };
  const issued = [];
  for (const [place, expiresOn] of [null, '2026-03-20', '2026-04-01', null].entries())
    issued.push(
      await storage.write(() =>
        issue(
          ctx,
          issueCommand(store, {
            expiresOn,
            externalId: `card-${place}`,
            note: 'a note',
            message: 'a message',
            apiClientId: 9,
            customer: email('ann@example.com'),
            recipient: email('bea@example.com'),
          }),
        ),
      ),
    );
  await storage.write(() => issue(ctx, issueCommand(store)));
  for (const count of [3, 2]) await issueBatch({ ctx, storage, store }, count);
  for (const { card } of issued) {
    const command = { store, cardId: card.id, versions: null, actor: 'api_client:9', orderId: 77 };
    const why = { reference: 'receipt-1', note: 'at the till', orderReference: 'B-77', externalId: null };
    const spent = { ...command, ...why, amount: money('1.50'), partial: false };
    const own = { storeId: store.id, text: `own-${card.id}` };
    const { transfer } = await storage.write(() =>
      usingExternalId(
        ctx,
        { ...own, kind: 'transaction' },
        {
          run: () => debit(ctx, { ...spent, externalId: own.text }),
          idOf: (moved) => moved.transfer.id,
        },
      ),
    );
    ctx.clock.advance(1_234);
    await storage.write(() =>
      debit(ctx, { ...spent, orderId: null, reference: null, note: null, amount: money('2') }),
    );
    const reversal = { store, transferId: transfer.id, note: null, actor: 'test', versionsOf: () => null };
    const scopes = ['write_gift_cards', 'redeem_gift_cards'] as const;
    await storage.write(() => reverse(ctx, { ...reversal, amount: money('0.50'), scopes }));
    ctx.clock.advance(5_678);
    await storage.write(() => credit(ctx, { ...command, ...why, locationId, amount: money('3') }));
    const held = { ...command, ...why, amount: money('2'), seconds: 86_400, locationId };
    const settled = { store, actor: 'test', note: null, versionsOf: () => null };
    const one = await storage.write(() =>
      usingExternalId(
        ctx,
        { ...own, kind: 'hold' },
        {
          run: () => placeHold(ctx, { ...held, externalId: own.text }),
          idOf: (placed) => placed.hold.id,
        },
      ),
    );
    const two = await storage.write(() => placeHold(ctx, { ...held, reference: null, note: null }));
    await storage.write(() => placeHold(ctx, { ...held, orderId: null }));
    ctx.clock.advance(4_321);
    for (const seconds of [100_000, 200_000])
      await storage.write(() =>
        extendOpenHold(ctx, { store, holdId: one.hold.id, seconds, actor: 'test', versionsOf: () => null }),
      );
    await storage.write(() => capture(ctx, { ...settled, holdId: one.hold.id, amount: money('1.25') }));
    await storage.write(() => voidOpenHold(ctx, { ...settled, holdId: two.hold.id }));
    await storage.write(() => rotateCode(ctx, { store, cardId: card.id, actor: 'test', versions: null }));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { balance: money('10') })));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { note: 'another note' })));
  }
  const ofYesterday = await storage.read(() => verify(10, { keys: ctx.keys }));
  ctx.clock.advance(day);
  const [, , , last] = issued;
  assert.ok(last);
  const today = {
    store,
    cardId: last.card.id,
    versions: null,
    actor: 'test',
    orderId: null,
    reference: null,
  };
  await storage.write(() => debit(ctx, { ...today, note: null, amount: money('1'), partial: false }));
  const disable = updateCommand(store, last.card.id, { disable: true }, { releaseHolds: true });
  await storage.write(() => update(ctx, disable));
  await storage.write(() =>
    reenableCard(ctx, { store, cardId: last.card.id, actor: 'test', versions: null }),
  );
  ctx.clock.advance(1_000);
  await storage.write(() => update(ctx, disable));
  await storage.write(() => recordExpiringSoon(ctx, announcing, 10));
  ctx.clock.advance(5 * day);
  await storage.write(() => recordExpired(ctx, store, 10));
  return ofYesterday;
}

type Row = Readonly<Record<string, SqlValue>>;

function* rowsOf(table: string, columns: readonly string[]): Script<readonly Row[]> {
  const listed = columns.map((column) => `"${column}"`).join(', ');
  const key = columns.includes('id') ? 'id' : 'lookup';
  return yield* all(new Statement<Row>([`select ${listed} from ${table} order by store_id, ${key}`], []));
}

/** The columns of a card that the document says are not verified. */
function documentedColumns(): readonly string[] {
  const text = readFileSync(join(import.meta.dirname, '../../docs/verification.md'), 'utf8');
  const [, sentence = ''] =
    /^The columns of a card that `largesse verify` compares with nothing: (.+)$/m.exec(text) ?? [];
  return [...sentence.matchAll(/`(\w+)`/g)].map(([, column = '']) => column);
}

/** A statement that changes one value. Values of its other columns find the row. */
function setting(table: string, row: Row, column: string, value: SqlValue): Statement {
  const others = Object.entries(row).filter(([, stored]) => stored !== null);
  return new Statement(
    [
      `update ${table} set "${column}" = `,
      ...others.map(([name], place) => `${place === 0 ? ' where' : ' and'} "${name}" = `),
      '',
    ],
    [value, ...others.map(([, stored]) => stored)],
  );
}

function changedValue(value: SqlValue): SqlValue {
  if (typeof value === 'bigint') return value + 1n;
  if (typeof value === 'string') return `${value.startsWith('x') ? 'y' : 'x'}${value.slice(1)}`;
  assert.ok(value instanceof Uint8Array);
  const changed = Uint8Array.from(value);
  changed[0] = (changed[0] ?? 0) ^ 1;
  return changed;
}

function deleting(table: string, row: Row): Statement {
  const filled = Object.entries(row).filter(([, stored]) => stored !== null);
  const strings = filled.map(
    ([name], place) => `${place === 0 ? `delete from ${table} where` : ' and'} "${name}" = `,
  );
  return new Statement(
    [...strings, ''],
    filled.map(([, stored]) => stored),
  );
}

function inserting(table: string, row: Row): Statement {
  const names = Object.keys(row).map((name) => `"${name}"`);
  return new Statement(
    [`insert into ${table} (${names.join(', ')}) values (`, ...names.slice(1).map(() => ', '), ')'],
    Object.values(row),
  );
}

/** Statements after which two rows have each other's values of the columns. */
function exchanging(
  table: string,
  { one, other, columns }: { readonly one: Row; readonly other: Row; readonly columns: readonly string[] },
): readonly Statement[] {
  const valuesOf = (row: Row): Row =>
    Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
  return [
    deleting(table, one),
    deleting(table, other),
    inserting(table, { ...one, ...valuesOf(other) }),
    inserting(table, { ...other, ...valuesOf(one) }),
  ];
}

function shown(row: Row): string {
  return JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

type Change = { readonly what: string; readonly row: Row; readonly value: SqlValue };

/** Changes of a column: of its last value that is not null to another one and to null, and of a null to a value. */
function changesOf(rows: readonly Row[], column: string, decision: Decision): readonly Change[] {
  const filled = rows.findLast((row) => row[column] !== null);
  const empty = rows.findLast((row) => row[column] === null);
  const { insteadOfNull, changed, isErasable } = 'finds' in decision ? decision : {};
  const changes: Change[] = [];
  if (filled)
    changes.push({
      what: 'another value',
      row: filled,
      value: changed ?? changedValue(filled[column] ?? null),
    });
  if (filled && empty && !isErasable) changes.push({ what: 'null', row: filled, value: null });
  if (empty && insteadOfNull !== undefined)
    changes.push({ what: 'a value instead of null', row: empty, value: insteadOfNull });
  return changes;
}

function namesOf(mismatches: readonly Mismatch[], cardId: number | null, problem: RegExp): boolean {
  return mismatches.some((mismatch) => mismatch.cardId === cardId && problem.test(mismatch.problem));
}

export async function testCorruption(opening: Promise<Corruptible<Verification>>): Promise<void> {
  const ledger = await opening;
  after(() => ledger[Symbol.asyncDispose]());
  const verified = (...statements: readonly Statement[]) =>
    ledger.corrupted(statements, () => verify(1_000, { keys: ledger.ctx.keys }));
  const unchanged = <T>(script: () => Script<T>): Promise<T> => ledger.corrupted([], script);
  const catalog = await unchanged(() =>
    all(
      sql<{ table_name: string; column_name: string }>`select table_name, column_name from ${catalogColumns}`,
    ),
  );
  const columnsOf = (table: string): readonly string[] =>
    catalog.filter(({ table_name: name }) => name === table).map(({ column_name: name }) => name);

  // Everything is read before the first test, because tests start while this function awaits.
  const rowsByTable = new Map<string, readonly Row[]>();
  for (const table of Object.keys(tables))
    rowsByTable.set(table, await unchanged(() => rowsOf(table, columnsOf(table))));
  const stores = await unchanged(listStores);
  const store = stores.find(({ store: { domain } }) => domain === 'flowers.example')?.store;
  assert.ok(store);

  const ofStore = (table: string): readonly Row[] =>
    (rowsByTable.get(table) ?? []).filter(
      (row) => row['store_id'] === BigInt(store.id) && row['subject_version'] !== 0n,
    );

  test('the rows are sound before they are corrupted', async () => {
    assert.deepEqual((await verified()).mismatches, []);
  });

  test('every table and every column of the ledger has a decision', () => {
    const names = [...new Set(catalog.map(({ table_name: name }) => name))];
    const undecided = names.filter((name) => !(name in tables) && !(name in otherTables));
    assert.deepEqual(undecided, [], 'tables without a decision');
    for (const [table, { columns }] of Object.entries(tables))
      assert.deepEqual(
        columnsOf(table).filter((column) => !(column in columns)),
        [],
        `undecided: ${table}`,
      );
  });

  for (const [table, { card, columns }] of Object.entries(tables)) {
    const present = columnsOf(table);
    const rows = rowsByTable.get(table) ?? [];
    const ofCards = rows.filter(
      (row) => row['store_id'] === BigInt(store.id) && (table !== 'events' || row['subject_version'] !== 0n),
    );
    for (const column of present) {
      const decision = columns[column];
      if (!decision || !('finds' in decision)) continue;
      const { finds, namesCard = true } = decision;
      test(`${table}.${column}: another value is found, and named`, async () => {
        const changes = changesOf(ofCards, column, decision);
        assert.notDeepEqual(changes, []);
        for (const { what, row, value } of changes) {
          const { mismatches } = await verified(setting(table, row, column, value));
          assert.ok(
            namesOf(mismatches, namesCard ? Number(row[card]) : null, finds),
            `${what}: ${JSON.stringify(mismatches)}`,
          );
          if (table !== 'transfers' || column === 'store_id') continue;
          const page: VerifiedPage = await ledger.corrupted([setting(table, row, column, value)], () =>
            verifyPage(store, 0),
          );
          assert.ok(
            page.mismatches.some(({ cardId }) => cardId === Number(row[card])),
            `${what}: the running service does not find it`,
          );
        }
      });
    }
  }

  test('the document names every column of a card whose change is not found, and no other', async () => {
    const columns = Object.entries(tables['gift_cards']?.columns ?? {});
    const unverified = columns.flatMap(([column, decision]) => ('unverified' in decision ? [column] : []));
    assert.deepEqual(documentedColumns().toSorted(), unverified.toSorted());
    for (const column of unverified) {
      // A card without changes: a recorded change of a field is compared with the card.
      const row = rowsByTable.get('gift_cards')?.find((each) => each['change_count'] === 0n);
      assert.ok(row);
      const value = typeof row[column] === 'bigint' || column.endsWith('_at') ? 1_800_000_000_000n : 'x';
      const { mismatches } = await verified(setting('gift_cards', row, column, value));
      assert.deepEqual(mismatches, [], `${column} is verified: take it out of the document`);
    }
  });

  for (const [table, { card, columns }] of Object.entries(tables)) {
    if (!('external_id' in columns)) continue;
    test(`${table}: external ids that two rows have exchanged are found, and both cards are named`, async () => {
      const named = ofStore(table).filter((row) => row['external_id'] !== null);
      const [one, other] = [named[0], named.at(-1)];
      assert.ok(one && other && one !== other);
      const { mismatches } = await verified(
        setting(table, one, 'external_id', 'aside'),
        setting(table, other, 'external_id', one['external_id'] ?? null),
        setting(table, { ...one, external_id: 'aside' }, 'external_id', other['external_id'] ?? null),
      );
      for (const row of [one, other])
        assert.ok(
          namesOf(mismatches, Number(row[card]), /^has another external id than was used for /),
          JSON.stringify(mismatches),
        );
    });
  }

  test('each used external id that belongs to another object, or is lost, is found, and the card is named', async () => {
    const uses = await unchanged(() =>
      all(
        sql<{ kind: string; digest: Uint8Array; object_id: bigint }>`
          select kind, digest, object_id from external_ids where store_id = ${store.id} order by kind, digest`,
      ),
    );
    assert.deepEqual([...new Set(uses.map(({ kind }) => kind))], ['card', 'hold', 'transaction']);
    const tableOf: Readonly<Record<string, string>> = {
      card: 'gift_cards',
      hold: 'holds',
      transaction: 'transfers',
    };
    for (const { kind, digest, object_id: objectId } of uses) {
      const table = tableOf[kind] ?? '';
      const cardOf = (id: bigint): number =>
        Number(ofStore(table).find((row) => row['id'] === id)?.[tables[table]?.card ?? '']);
      const another = uses.find((use) => use.kind === kind && use.object_id !== objectId)?.object_id ?? 0n;
      const moved = await verified(
        sql`update external_ids set object_id = ${another} where store_id = ${store.id} and kind = ${kind} and digest = ${digest}`,
      );
      assert.ok(namesOf(moved.mismatches, cardOf(another), /^has another external id than was used for /));
      const lost = await verified(
        sql`delete from external_ids where store_id = ${store.id} and kind = ${kind} and digest = ${digest}`,
      );
      assert.ok(
        namesOf(lost.mismatches, cardOf(objectId), /^has an external id that is not recorded as used/),
      );
    }
  });

  const cardIds = ofStore('gift_cards').map(({ id }) => id);

  for (const [table, { card, deleted }] of Object.entries(tables)) {
    test(`${table}: each deleted row is found, and its card is named`, async () => {
      for (const row of ofStore(table)) {
        const { mismatches } = await verified(deleting(table, row));
        const named = mismatches.filter(({ cardId }) => cardId === Number(row[card]));
        assert.ok(
          named.some(({ problem }) => deleted.test(problem)),
          `${shown(row)}: ${JSON.stringify(mismatches)}`,
        );
      }
    });
  }

  for (const [table, { card, key, duplicated }] of Object.entries(tables)) {
    if (!(duplicated instanceof RegExp)) continue;
    test(`${table}: each duplicated row is found, and its card is named`, async () => {
      for (const row of ofStore(table)) {
        const copy = {
          ...row,
          ...Object.fromEntries(key.map((column) => [column, changedValue(row[column] ?? 0n)])),
        };
        const { mismatches } = await verified(inserting(table, copy));
        assert.ok(
          namesOf(mismatches, Number(copy[card]), duplicated),
          `${shown(row)}: ${JSON.stringify(mismatches)}`,
        );
      }
    });
  }

  for (const [table, { card }] of Object.entries(tables)) {
    test(`${table}: rows that two cards have exchanged are found, and both cards are named`, async () => {
      const [one, other] = cardIds;
      assert.ok(typeof one === 'bigint' && typeof other === 'bigint');
      const aside = 2n ** 50n;
      const moved = (from: bigint, to: bigint): Statement =>
        new Statement([`update ${table} set ${card} = `, ` where ${card} = `, ''], [to, from]);
      const { mismatches } = await verified(moved(one, aside), moved(other, one), moved(aside, other));
      const named = new Set(mismatches.map(({ cardId }) => cardId));
      assert.ok(named.has(Number(one)) && named.has(Number(other)), JSON.stringify(mismatches));
    });
  }

  test('an event with a version of another event of its card is found, and its card is named', async () => {
    // It has every kind of event.
    const cardId = cardIds.at(-2);
    for (const row of ofStore('events').filter((event) => event['subject_id'] === cardId)) {
      const version = Number(row['subject_version']);
      for (const other of [version - 1, version - 2, version + 1, 1]) {
        if (other < 1 || other === version) continue;
        const { mismatches } = await verified(setting('events', row, 'subject_version', BigInt(other)));
        assert.ok(
          mismatches.some((mismatch) => mismatch.cardId === Number(cardId)),
          `${other} in ${shown(row)}: ${JSON.stringify(mismatches)}`,
        );
      }
    }
  });

  test('two neighbors of a chain that have exchanged their places are found', async () => {
    const rows = ofStore('transfers').filter(({ card_id: cardId }) => cardId === cardIds[0]);
    for (const [place, row] of rows.entries()) {
      const next = rows[place + 1];
      if (!next) continue;
      const exchanges = [['sequence'], ['sequence', 'previous_id'], ['id'], ['created_at'], ['hash']];
      for (const columns of exchanges) {
        if (columns.every((column) => row[column] === next[column])) continue;
        const { mismatches } = await verified(...exchanging('transfers', { one: row, other: next, columns }));
        assert.ok(
          mismatches.some(({ cardId }) => cardId === Number(row['card_id'])),
          `${columns.join(', ')} of ${shown(row)}: ${JSON.stringify(mismatches)}`,
        );
      }
    }
  });

  test('each changed byte of the newest event of a card is found', async () => {
    const [cardId] = cardIds;
    const newest = ofStore('events').findLast((row) => row['subject_id'] === cardId);
    assert.ok(newest && typeof newest['data'] === 'string');
    const data = newest['data'];
    // The list of the changed fields is not repeated anywhere else.
    const end = data.indexOf(',"changed"');
    assert.ok(end > 200);
    for (let at = 0; at < end; at += 3) {
      const changed = `${data.slice(0, at)}${data[at] === '7' ? '8' : '7'}${data.slice(at + 1)}`;
      const { mismatches } = await verified(setting('events', newest, 'data', changed));
      assert.ok(
        mismatches.some((mismatch) => mismatch.cardId === Number(cardId)),
        `${changed.slice(at - 20, at + 20)}: ${JSON.stringify(mismatches)}`,
      );
    }
  });

  test('yesterday’s copy of the whole database is sound: only a kept checkpoint shows what it lacks', async () => {
    const present = await verified();
    assert.deepEqual(ledger.filled.mismatches, []);
    const transfers = ({ stores: totals }: Verification): number =>
      totals.reduce((sum, total) => sum + total.transfers, 0);
    assert.ok(transfers(ledger.filled) < transfers(present));
  });
}
