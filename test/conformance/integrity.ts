/** The schema rejects invalid rows, even if a check of the program is missing. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { all, one, sql, type Statement } from '../../src/database/sql/sql.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { email, issueCommand, money, newStore, testContext, updateCommand } from '../support/fixtures.ts';

const check = /check constraint/i;
const foreignKey = /foreign key constraint/i;
const unique = /unique constraint/i;
const follows = /must follow the last transfer of its card/;
/** A second first transfer: PostgreSQL finds it with an index. */
const followsOrUnique = new RegExp(`${follows.source}|${unique.source}`, 'i');
/** SQLite runs the trigger first. */
const followsOrForeignKey = new RegExp(`${follows.source}|${foreignKey.source}`, 'i');
const notNull = /not.null constraint/i;

/** A store with one card that was issued to a customer for 15.00 and then set to 10.00. */
async function openWithCard(factory: StorageFactory) {
  const opened = await openMigrated(factory);
  const { storage } = opened;
  const ctx = testContext();
  const store = await storage.write(() => createStore(ctx, newStore()));
  const issued = await storage.write(() =>
    issue(ctx, issueCommand(store, { customer: email('ann@example.com'), apiClientId: 9 })),
  );
  const changes = { balance: money('10') };
  const card = await storage.write(() => update(ctx, updateCommand(store, issued.card.id, changes)));
  return { ...opened, storage, ctx, store, card, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

type Opened = Awaited<ReturnType<typeof openWithCard>>;

/** Asserts that the database rejects the statement for the given reason, and that nothing changed. */
async function assertRejected({ storage }: Opened, statement: Statement, reason: RegExp): Promise<void> {
  const text = statement.strings.join('?').trim();
  const before = await storage.read(() => all(sql`select * from gift_cards`));
  await assert.rejects(
    storage.write(() => all(statement)),
    (error) => {
      // A duplicate key makes the script run again, and then fail with the database's error as the cause.
      const rejection = error instanceof Fault ? error.cause : error;
      assert.ok(rejection instanceof Error, text);
      assert.match(rejection.message, reason, text);
      return true;
    },
    text,
  );
  assert.deepEqual(await storage.read(() => all(sql`select * from gift_cards`)), before, text);
  assert.deepEqual((await storage.read(() => verify(10))).mismatches, [], text);
}

export function testIntegrity(factory: StorageFactory): void {
  test('a balance is never negative or less than its held part, and the initial value of a card is positive', async () => {
    await using opened = await openWithCard(factory);
    const { card, store } = opened;
    await assertRejected(opened, sql`update gift_cards set balance = -1 where id = ${card.id}`, check);
    await assertRejected(
      opened,
      sql`update gift_cards set balance = balance - 1001 where id = ${card.id}`,
      check,
    );
    for (const statement of [
      sql`update gift_cards set version = 0 where id = ${card.id}`,
      sql`update gift_cards set held = -1 where id = ${card.id}`,
      sql`update gift_cards set held = balance + 1 where id = ${card.id}`,
      sql`update gift_cards set last_characters = 'abc' where id = ${card.id}`,
      sql`update gift_cards set expires_on = 'soon' where id = ${card.id}`,
      sql`update gift_cards set chain_length = 0 where id = ${card.id}`,
      sql`update gift_cards set chain_hash = ${new Uint8Array(31)} where id = ${card.id}`,
    ]) {
      await assertRejected(opened, statement, check);
    }
    for (const initialValue of [0, -1]) {
      await assertRejected(
        opened,
        sql`insert into gift_cards (store_id, id, version, currency, initial_value, balance, last_characters,
              created_at, last_transfer_id, chain_length, chain_hash)
            values (${store.id}, 5, 1, 'USD', ${initialValue}, 0, 'abcd', 0, 1, 1, ${new Uint8Array(32)})`,
        check,
      );
    }
  });

  test('the amount of a transfer is positive, and it is between the card and one account of the store', async () => {
    await using opened = await openWithCard(factory);
    const rejected = [
      { amount: 0 },
      { amount: -5 },
      { debit: 'card', credit: 'card' },
      { debit: 'sales', credit: 'adjustments' },
      { debit: 'sales', credit: 'sales' },
      { debit: 'petty cash', credit: 'card' },
      { debit: 'card', credit: 'CARD' },
      { kind: 'gift' },
      // References to a hold and to another transfer, which are missing.
      { kind: 'capture' },
      { kind: 'reversal' },
      { sequence: 0 },
      { id: 0 },
      { balanceAfter: -1 },
      { hash: new Uint8Array(31) },
      { hash: new Uint8Array(0) },
      { sequence: 1 },
      { salt: new Uint8Array(16) },
      { issuedExpiresOn: '2027-12-31' },
      { reference: 'r' },
      { note: 'n' },
      { reference: 'r', textSalt: new Uint8Array(16) },
      { reference: 'r', textSalt: new Uint8Array(15), textDigest: new Uint8Array(32) },
      { reference: 'r', textSalt: new Uint8Array(16), textDigest: new Uint8Array(31) },
    ];
    for (const values of rejected) await assertRejected(opened, transfer(opened, values), check);
    for (const values of [{ actor: null }, { hash: null }])
      await assertRejected(opened, transfer(opened, values), notNull);
    const { storage, card } = opened;
    await storage.write(() => all(transfer(opened, {})));
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(new Set(mismatches.map(({ cardId }) => cardId)), new Set([card.id, null]));
  });

  test('a transfer follows the last one of its card, and its id is unique', async () => {
    await using opened = await openWithCard(factory);
    const { storage, card } = opened;
    const { previous } = await storage.read(() =>
      one(sql<{ previous: bigint }>`
        select previous_id as previous from transfers where card_id = ${card.id} and sequence = 2`),
    );
    const isFirst = { sequence: 1, previousId: null, salt: new Uint8Array(16) };
    await assertRejected(opened, transfer(opened, { sequence: 2 }), follows);
    await assertRejected(opened, transfer(opened, { sequence: 2, previousId: previous }), follows);
    await assertRejected(opened, transfer(opened, { previousId: previous }), follows);
    await assertRejected(opened, transfer(opened, { sequence: 4 }), follows);
    await assertRejected(opened, transfer(opened, isFirst), followsOrUnique);
    const [first] = await storage.read(() => all(sql<{ id: bigint }>`select id from transfers`));
    assert.ok(first);
    await assertRejected(opened, transfer(opened, { id: first.id }), unique);
  });

  test('transfers cannot be updated or deleted', async () => {
    await using opened = await openWithCard(factory);
    const { card } = opened;
    const reason = /transfers are append-only/;
    const changes = [
      sql`update transfers set amount = 1 where card_id = ${card.id}`,
      sql`update transfers set note = 'nicer'`,
      sql`update transfers set hash = hash`,
      sql`update transfers set sequence = sequence + 10`,
      sql`delete from transfers where card_id = ${card.id} and sequence = 2`,
      sql`delete from transfers`,
    ];
    for (const statement of changes) await assertRejected(opened, statement, reason);
  });

  test('events cannot be updated', async () => {
    await using opened = await openWithCard(factory);
    const reason = /events are append-only/;
    for (const statement of [
      sql`update events set data = '{}'`,
      sql`update events set type = 'gift_card.disabled' where subject_id = ${opened.card.id}`,
    ]) {
      await assertRejected(opened, statement, reason);
    }
  });

  test('cards and their codes cannot be deleted', async () => {
    await using opened = await openWithCard(factory);
    await assertRejected(opened, sql`delete from gift_card_codes`, /a used code stays used/);
    await assertRejected(opened, sql`delete from gift_cards`, /gift cards are never deleted/);
  });

  test('the values that a card was issued with cannot be updated', async () => {
    await using opened = await openWithCard(factory);
    const { storage, card } = opened;
    const reason = /what a gift card was issued with does not change/;
    for (const statement of [
      sql`update gift_cards set initial_value = 1501 where id = ${card.id}`,
      sql`update gift_cards set currency = 'EUR' where id = ${card.id}`,
      sql`update gift_cards set created_at = created_at + 1 where id = ${card.id}`,
      sql`update gift_cards set api_client_id = 10 where id = ${card.id}`,
      sql`update gift_cards set api_client_id = null where id = ${card.id}`,
    ]) {
      await assertRejected(opened, statement, reason);
    }
    const same = sql`update gift_cards set initial_value = 1500, currency = 'USD', note = 'kept' where id = ${card.id}`;
    await storage.write(() => all(same));
  });

  test('rows cannot refer to a store, a card or a customer that does not exist', async () => {
    await using opened = await openWithCard(factory);
    const { card, store } = opened;
    const digest = new Uint8Array(32);
    const nowhere = 12_345;
    const orphans = [
      sql`update gift_cards set customer_id = ${nowhere} where id = ${card.id}`,
      sql`update gift_cards set recipient_id = ${nowhere} where id = ${card.id}`,
      sql`delete from customers`,
      sql`delete from stores where id = ${store.id}`,
      sql`insert into gift_card_codes (store_id, lookup, digest, card_id)
          values (${store.id}, 1, ${digest}, ${nowhere})`,
      sql`insert into customers (store_id, id, email, email_key, created_at)
          values (${nowhere}, 1, 'a@example.com', 'a@example.com', 0)`,
      sql`insert into access_tokens (store_id, id, api_client_id, name, hash, scopes, created_at)
          values (${nowhere}, 1, 1, 'till', ${digest}, '', 0)`,
      sql`insert into events (store_id, id, type, subject_id, subject_version, created_at, data)
          values (${nowhere}, 1, 'customer.created', 1, 0, 0, '{}')`,
      sql`insert into idempotency_records (store_id, key_digest, fingerprint, created_at, response)
          values (${nowhere}, ${digest}, ${digest}, 0, ${digest})`,
      sql`insert into lookup_throttle (store_id, caller, refilled_at)
          values (${nowhere}, 'token:1', 0)`,
    ];
    for (const statement of orphans) await assertRejected(opened, statement, foreignKey);
    for (const place of [{ cardId: nowhere }, { storeId: nowhere }])
      await assertRejected(opened, transfer(opened, place), followsOrForeignKey);
  });

  test('an email address is one customer of a store', async () => {
    await using opened = await openWithCard(factory);
    const { store } = opened;
    await assertRejected(
      opened,
      sql`insert into customers (store_id, id, email, email_key, created_at)
          values (${store.id}, 77, 'Ann@Example.com', 'ann@example.com', 0)`,
      unique,
    );
  });

  test('codes and domains are unique, and a store that requires signatures has a secret', async () => {
    await using opened = await openWithCard(factory);
    const { storage, store, card } = opened;
    const [code] = await storage.read(() => all(sql<{ lookup: bigint }>`select lookup from gift_card_codes`));
    assert.ok(code);
    await assertRejected(
      opened,
      sql`insert into gift_card_codes (store_id, lookup, digest, card_id)
          values (${store.id}, ${code.lookup}, ${new Uint8Array(32)}, ${card.id})`,
      unique,
    );
    await assertRejected(
      opened,
      sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search,
            demonstration, created_at, updated_at)
          values (5, ${store.domain}, 'another', 'USD', 'UTC', 0, 0, 0, 0, 0)`,
      unique,
    );
    await assertRejected(opened, sql`update stores set domain = 'Flowers.example'`, check);
    await assertRejected(opened, sql`update stores set require_signature = 1`, check);
    await assertRejected(opened, sql`update stores set issue_limit = 0`, check);
  });
}

/** A transfer that follows the card's second one, valid except for the given values and its hash. */
function transfer(
  { store, card }: Pick<Opened, 'store' | 'card'>,
  given: {
    readonly storeId?: number;
    readonly cardId?: number;
    readonly sequence?: number;
    readonly id?: number | bigint;
    readonly kind?: string;
    readonly amount?: number;
    readonly debit?: string;
    readonly credit?: string;
    readonly balanceAfter?: number;
    readonly actor?: string | null;
    readonly hash?: Uint8Array | null;
    readonly previousId?: bigint | null;
    readonly salt?: Uint8Array;
    readonly issuedExpiresOn?: string;
    readonly reference?: string;
    readonly note?: string;
    readonly textSalt?: Uint8Array;
    readonly textDigest?: Uint8Array;
  },
): Statement {
  const {
    storeId = store.id,
    cardId = card.id,
    sequence = 3,
    id = 1,
    kind = 'adjustment',
    amount = 5,
  } = given;
  const { debit = 'adjustments', credit = 'card', balanceAfter = 1_005 } = given;
  const { actor = 'test', hash = new Uint8Array(32) } = given;
  const { salt = null, issuedExpiresOn = null, reference = null, note = null } = given;
  const { textSalt = null, textDigest = null, previousId = 0n } = given;
  return sql`
    insert into transfers (store_id, card_id, sequence, id, previous_id, kind, amount, currency, debit_account,
      credit_account, balance_after, actor, reference, note, created_at, salt, issued_expires_on, text_salt,
      text_digest, hash)
    select ${storeId}, ${cardId}, ${sequence}, ${id},
      case when cast(${previousId} as bigint) = 0 then last_transfer_id else ${previousId} end,
      ${kind}, ${amount}, 'USD', ${debit}, ${credit}, ${balanceAfter}, ${actor}, ${reference}, ${note}, 0, ${salt},
      ${issuedExpiresOn}, ${textSalt}, ${textDigest}, ${hash}
    from gift_cards where store_id = ${store.id} and id = ${card.id}`;
}
