/** `verify` finds errors in the other tables: codes, events, customers, holds and idempotency records. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { capture, extendOpenHold, placeHold } from '../../src/core/money/service/hold.ts';
import { withIdempotencyKey } from '../../src/core/requests/service/idempotency.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import { idsAt } from '../../src/platform/random.ts';
import { all, resolved, sql, type Statement } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, money, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

/** A store with three cards. Every table that refers to a card has a row of the middle one. */
async function openRows(factory: StorageFactory): Promise<OpenStore & { readonly card: Card }> {
  const opened = await openStore(factory);
  const { storage, ctx, store } = opened;
  await storage.write(() => checkKeys(ctx));
  await storage.write(() =>
    addWebhook(ctx, {
      storeId: store.id,
      url: 'https://receiver.example/',
      patterns: ['*'],
      secret: generateSigningSecret(ctx.random),
    }),
  );
  await opened.issue();
  const issued = await opened.issue({
    customer: email('ann@example.com'),
    recipient: email('bea@example.com'),
    emails: { sendAt: null },
  });
  const cardId = issued.card.id;
  const movement = {
    store,
    cardId,
    versions: null,
    actor: 'test',
    reference: null,
    note: null,
    orderId: null,
  };
  await storage.write(() => debit(ctx, { ...movement, amount: money('1'), partial: false }));
  const { hold } = await storage.write(() =>
    placeHold(ctx, { ...movement, amount: money('2'), seconds: 600 }),
  );
  const captured = {
    store,
    holdId: hold.id,
    amount: null,
    actor: 'test',
    note: null,
    versionsOf: () => null,
  };
  await storage.write(() => capture(ctx, captured));
  const open = await storage.write(() => placeHold(ctx, { ...movement, amount: money('3'), seconds: 600 }));
  for (const seconds of [700, 800])
    await storage.write(() =>
      extendOpenHold(ctx, { store, holdId: open.hold.id, seconds, actor: 'test', versionsOf: () => null }),
    );
  await storage.write(() => rotateCode(ctx, { store, cardId, actor: 'test', versions: null }));
  await storage.write(() => update(ctx, updateCommand(store, cardId, { balance: money('10') })));
  const card = await storage.write(() => update(ctx, updateCommand(store, cardId, { note: 'kept' })));
  const use = {
    owner: { storeId: store.id, apiClientId: 3, key: 'key' },
    request: JSON.stringify(['a']),
  };
  await storage.write(() =>
    withIdempotencyKey(ctx, use, () => resolved({ status: 200, headers: {}, body: '{}' })),
  );
  await opened.issue();
  return { ...opened, card, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

type Rows = Awaited<ReturnType<typeof openRows>>;

type Damage = {
  readonly what: string;
  readonly statements: (rows: Rows) => readonly Statement[];
  readonly found: RegExp;
  /** Another card that is wrong as well. */
  readonly alsoFound?: RegExp;
  /** Whether the mismatch names the middle card. If false, it names no card. */
  readonly isOfCard?: false;
};

const eventOf = ({ card }: Rows, version: number) =>
  sql`update events set data = replace(data, '"balance":"', '"balance":"1') where subject_id = ${card.id} and subject_version = ${version}`;

const damages: readonly Damage[] = [
  {
    what: 'a card without a code',
    statements: ({ card }) => [sql`delete from gift_card_codes where card_id = ${card.id}`],
    found: /^has no code$/,
  },
  {
    what: 'a missing code that the card names',
    statements: ({ card }) => [
      sql`delete from gift_card_codes where card_id = ${card.id}
          and lookup = (select code_lookup from gift_cards where id = ${card.id})`,
    ],
    found: /^refers to a code that does not exist$/,
  },
  {
    what: 'a code that belongs to another card',
    alsoFound: /^has several codes and refers to none$/,
    statements: ({ card }) => [
      sql`update gift_card_codes set card_id = (select min(id) from gift_cards)
          where lookup = (select code_lookup from gift_cards where id = ${card.id})`,
    ],
    found: /^refers to a code that does not exist$/,
  },
  {
    what: 'a changed digest of a code',
    statements: ({ card }) => [
      sql`update gift_card_codes set digest = ${new Uint8Array(32)} where card_id = ${card.id}`,
    ],
    found: /^has a code that is stored with a wrong digest$/,
  },
  {
    what: 'a digest of 3 bytes',
    statements: ({ card }) => [
      sql`update gift_card_codes set digest = ${new Uint8Array(3)} where card_id = ${card.id}`,
    ],
    found: /^has a code that is stored with a wrong digest$/,
  },
  {
    what: 'a missing first event',
    statements: ({ card }) => [sql`delete from events where subject_id = ${card.id} and subject_version = 1`],
    found: /^has no event of version 1$/,
  },
  {
    what: 'a missing event in the middle',
    statements: ({ card }) => [sql`delete from events where subject_id = ${card.id} and subject_version = 3`],
    found: /^has no event of version 3$/,
  },
  {
    what: 'a missing last event',
    statements: ({ card }) => [
      sql`delete from events where subject_id = ${card.id} and subject_version = ${card.version}`,
    ],
    found: /^has no event of version \d+$/,
  },
  {
    what: 'missing events of a whole card',
    statements: ({ card }) => [sql`delete from events where subject_id = ${card.id}`],
    found: /^has no event of version 1$/,
  },
  {
    what: 'an event of a version that the card never had',
    statements: ({ card }) => [
      sql`update events set subject_version = 99 where subject_id = ${card.id} and subject_version = 1`,
    ],
    found: /^event \d+ has version 99, which the card never had$/,
  },
  {
    what: 'an event with another balance',
    statements: (rows) => [eventOf(rows, 2)],
    found: /^has events whose balances differ from its transfers$/,
  },
  {
    what: 'a last event with another balance',
    statements: (rows) => [eventOf(rows, rows.card.version)],
    found: /^has events whose balances differ from its transfers$/,
  },
  {
    what: 'a truncated event',
    statements: ({ card }) => [
      sql`update events set data = substr(data, 1, 100) where subject_id = ${card.id} and subject_version = 2`,
    ],
    found: /^event \d+ cannot be read$/,
  },
  {
    what: 'an event that is JSON but not an object',
    statements: ({ card }) => [
      sql`update events set data = '[]' where subject_id = ${card.id} and subject_version = 2`,
    ],
    found: /^event \d+ cannot be read$/,
  },
  {
    what: 'an event of another type',
    statements: ({ card }) => [
      sql`update events set type = 'gift_card.redeemef' where subject_id = ${card.id} and subject_version = 2`,
    ],
    found: /^event \d+ cannot be read$/,
  },
  {
    what: 'an event without its record',
    statements: ({ card }) => [
      sql`update events set data = '{}' where subject_id = ${card.id} and subject_version = 2`,
    ],
    found: /^event \d+ cannot be read$/,
  },
  {
    what: 'an event with another initial value',
    statements: ({ card }) => [
      sql`update events set data = replace(data, '"initial_value":"15.00"', '"initial_value":"16.00"')
          where subject_id = ${card.id} and subject_version = 2`,
    ],
    found: /^event \d+ has a record that differs from the card's$/,
  },
  {
    what: 'an event of a card that does not exist',
    statements: ({ card }) => [
      sql`update events set subject_id = ${card.id + 1} where subject_id = ${card.id} and subject_version = 1`,
    ],
    found: /^has no event of version 1$/,
  },
  {
    what: 'an event of a customer that cannot be read',
    statements: () => [sql`update events set data = 'x' where type = 'customer.created'`],
    found: /^event \d+ cannot be read$/,
    isOfCard: false,
  },
  {
    what: 'a customer that does not exist',
    statements: () => [sql`delete from customers where email = 'ann@example.com'`],
    found: /^names a customer that does not exist$/,
  },
  {
    what: 'a recipient that does not exist',
    statements: () => [sql`delete from customers where email = 'bea@example.com'`],
    found: /^names a recipient that does not exist$/,
  },
  {
    what: 'a missing customer that an event says was created',
    statements: () => [sql`delete from customers where email = 'ann@example.com'`],
    found: /^events: a customer was created that does not exist$/,
    isOfCard: false,
  },
  {
    what: 'a changed amount of an open hold',
    statements: ({ card }) => [
      sql`update holds set amount = amount + 1 where card_id = ${card.id} and status = 'open'`,
    ],
    found: /^has a held amount that is not the sum of its open holds$/,
  },
  {
    what: 'a missing open hold',
    statements: ({ card }) => [sql`delete from holds where card_id = ${card.id} and status = 'open'`],
    found: /^has a held amount that is not the sum of its open holds$/,
  },
  {
    what: 'a missing captured hold',
    statements: ({ card }) => [sql`delete from holds where card_id = ${card.id} and status = 'captured'`],
    found: /^has a capture whose hold does not exist or was not captured for that amount$/,
  },
  {
    what: 'a hold that was captured for another amount',
    statements: ({ card }) => [
      sql`update holds set captured = captured - 1 where card_id = ${card.id} and status = 'captured'`,
    ],
    found: /^has a capture whose hold does not exist or was not captured for that amount$/,
  },
  {
    what: 'another earlier expiry of an extended hold',
    statements: () => [sql`update hold_extensions set previous_expires_at = previous_expires_at - 1000`],
    found: /^has holds that differ from their events$/,
  },
  {
    what: 'a missing extension of a hold',
    statements: () => [
      sql`delete from hold_extensions where expires_at = (select min(expires_at) from hold_extensions)`,
    ],
    found: /^has holds that differ from their events$/,
  },
  {
    what: 'an extension without a hold',
    statements: () => [sql`update hold_extensions set hold_id = hold_id + 1`],
    found: /^hold_extensions: an extension has no hold$/,
    isOfCard: false,
  },
  {
    what: 'rows of a card that does not exist',
    statements: ({ card }) => [sql`delete from gift_cards where id = ${card.id}`],
    found: /^has (?:transfers|holds|emails|events|codes), but the card does not exist$/,
  },
  {
    what: 'a delivery without a webhook',
    statements: () => [sql`delete from webhooks`],
    found: /^webhook_deliveries: a delivery has no webhook$/,
    isOfCard: false,
  },
  {
    what: 'a delivery without an event',
    statements: () => [sql`update webhook_deliveries set event_id = -event_id`],
    found: /^webhook_deliveries: a delivery has no event$/,
    isOfCard: false,
  },
  {
    what: 'an attempt without a delivery',
    statements: ({ store }) => [
      sql`insert into webhook_attempts (store_id, webhook_id, event_id, attempt, attempted_at, duration_ms)
          values (${store.id}, 1, 1, 1, 0, 0)`,
    ],
    found: /^webhook_attempts: an attempt has no delivery$/,
    isOfCard: false,
  },
  {
    what: 'a truncated idempotency record',
    statements: () => [sql`update idempotency_records set response = substr(response, 1, 20)`],
    found: /^idempotency_records: 1 cannot be read with a key of this database$/,
    isOfCard: false,
  },
  {
    what: 'an idempotency record under an unknown key',
    statements: () => [sql`update idempotency_records set response = ${Buffer.alloc(200, 3)}`],
    found: /^idempotency_records: 1 cannot be read with a key of this database$/,
    isOfCard: false,
  },
  {
    what: 'an idempotency record with half a fingerprint',
    statements: () => [sql`update idempotency_records set fingerprint = substr(fingerprint, 1, 16)`],
    found: /^idempotency_records: 1 cannot be read with a key of this database$/,
    isOfCard: false,
  },
  {
    what: 'tokens, customers and records of a store that does not exist',
    // A distributed table does not move a row by an update.
    statements: ({ store }) => [
      sql`
        insert into idempotency_records (store_id, key_digest, fingerprint, created_at, response)
        select store_id + 1, key_digest, fingerprint, created_at, response from idempotency_records`,
      sql`delete from idempotency_records where store_id = ${store.id}`,
    ],
    found: /^idempotency_records: has rows of this store, but there is no such store$/,
    isOfCard: false,
  },
];

export function testVerifiedRows(factory: StorageFactory): void {
  test('rows of every kind that the service wrote are sound', async () => {
    await using rows = await openRows(factory);
    const { storage } = rows;
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    const [counted] = await storage.read(() =>
      all(sql<{ holds: bigint; emails: bigint; deliveries: bigint; records: bigint }>`
        select (select count(*) from holds) as holds, (select count(*) from email_deliveries) as emails,
          (select count(*) from webhook_deliveries) as deliveries, (select count(*) from idempotency_records) as records`),
    );
    assert.deepEqual(counted, { holds: 2n, emails: 2n, deliveries: 14n, records: 1n });
  });

  for (const { what, statements, found, alsoFound, isOfCard = true } of damages) {
    test(`${what}: verify finds it and names ${isOfCard ? 'the card' : 'the table'}`, async () => {
      await using rows = await openRows(factory);
      const { storage, database, card, store } = rows;
      await database.tamper(...statements(rows));
      const { mismatches } = await storage.read(() => verify(1_000));
      assert.ok(
        mismatches.some(
          ({ cardId, problem }) => cardId === (isOfCard ? card.id : null) && found.test(problem),
        ),
        JSON.stringify(mismatches),
      );
      const others = mismatches.filter(
        ({ cardId, problem }) =>
          cardId !== null && cardId !== card.id && cardId !== card.id + 1 && !alsoFound?.test(problem),
      );
      assert.deepEqual(others, [], 'cards without errors are named');
      assert.ok(
        mismatches.every((mismatch) => [store.domain, String(store.id + 1), null].includes(mismatch.store)),
      );
      // With keys, the records of most events are compared without parsing them.
      const withKeys = (await storage.read(() => verify(1_000, { keys: rows.ctx.keys }))).mismatches;
      assert.ok(
        withKeys.some(({ cardId, problem }) => cardId === (isOfCard ? card.id : null) && found.test(problem)),
        JSON.stringify(withKeys),
      );
    });
  }

  const verifyWithKeys = async ({ storage, ctx }: Rows): Promise<readonly string[]> =>
    (await storage.read(() => verify(1_000, { keys: ctx.keys }))).mismatches.map(({ problem }) => problem);
  const withoutLaterFields = sql`
    update events set data = replace(replace(data, '"actor":"test","reference":null', '"reference":null'),
      '"order_reference":null,"external_id":null,"location_id":null,', '')
    where type = 'gift_card.held'`;

  test('events of an earlier version, whose records lack a field, are sound', async () => {
    await using rows = await openRows(factory);
    assert.deepEqual(await verifyWithKeys(rows), []);
    await rows.database.tamper(withoutLaterFields);
    const held = await rows.storage.read(() =>
      all(sql<{ data: string }>`select data from events where type = 'gift_card.held'`),
    );
    assert.equal(held.length, 2);
    for (const { data } of held)
      assert.doesNotMatch(data.slice(data.indexOf('"hold":')), /"actor"|"external_id"/);
    assert.deepEqual(await verifyWithKeys(rows), []);
  });

  const wrong = 'has holds that differ from their events';
  const laterDamages: readonly { readonly what: string; readonly statements: readonly Statement[] }[] = [
    {
      what: 'a changed value in a record that lacks a later field',
      statements: [
        withoutLaterFields,
        sql`update events set data = replace(data, '"amount":"3.00"', '"amount":"3.01"') where type = 'gift_card.held'`,
      ],
    },
    {
      what: 'a changed value of a later field',
      statements: [
        sql`update events set data = replace(data, '"actor":"test"', '"actor":"another"') where type = 'gift_card.held'`,
      ],
    },
    {
      what: 'a removed field that all versions have',
      statements: [
        sql`update events set data = replace(data, '"amount":"3.00",', '') where type = 'gift_card.held'`,
      ],
    },
    {
      what: 'a later field that is removed more than a week after the first event with it',
      statements: [
        sql`update events set id = id + ${idsAt(8 * 24 * 3_600_000) - idsAt(0)}
            where type = 'gift_card.held' and data like '%"amount":"3.00"%'`,
        sql`update events set data = replace(data, '"actor":"test"', '"by":"test"')
            where type = 'gift_card.held' and data like '%"amount":"3.00"%'`,
      ],
    },
  ];

  for (const { what, statements } of laterDamages)
    test(`${what}: verify finds it in the event of a hold`, async () => {
      await using rows = await openRows(factory);
      await rows.database.tamper(...statements);
      assert.ok((await verifyWithKeys(rows)).includes(wrong), JSON.stringify(await verifyWithKeys(rows)));
    });
}
