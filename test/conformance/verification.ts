/** `verify` finds any change made to the ledger outside of the program, and names the card. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { resultOf } from '../../src/core/domain/paused.ts';
import type { Card } from '../../src/core/cards/domain/card.ts';
import type { LedgerTexts } from '../../src/core/money/domain/ledger.ts';
import { parseBatch } from '../../src/features/batches/domain/batch.ts';
import { startBatch } from '../../src/features/batches/service/batch.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verifyPage, type VerifiedPage } from '../../src/features/proofs/service/ledger-check.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { execute, sql, Statement, type ScannedInteger } from '../../src/database/sql/sql.ts';
import { chainHash, listTransfers, textDigestOf } from '../../src/core/money/storage/transfer.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { StorageFactory } from '../support/database.ts';
import { issueCommand, money, newStore, testContext, updateCommand } from '../support/fixtures.ts';
import { addShop, openStore, type OpenStore } from '../support/open-store.ts';
import { usingExternalId } from '../support/used-external-id.ts';

const noTexts: LedgerTexts = { reference: null, note: null, orderReference: null, externalId: null };

const texts: LedgerTexts = {
  reference: 'order 7',
  note: 'for Ann',
  orderReference: 'B-7',
  externalId: 'own-7',
};

/** A debit whose external id is recorded as used. */
function debitNamed(
  ctx: Context,
  command: Parameters<typeof debit>[1] & { readonly externalId: string | null },
) {
  const id = { storeId: command.store.id, kind: 'transaction', text: command.externalId ?? '' } as const;
  return usingExternalId(ctx, id, {
    run: () => debit(ctx, command),
    idOf: ({ transfer }) => transfer.id,
  });
}

/** A store with three cards. The middle card was issued for 15.00 and then set to 10, 12 and 7. */
async function openBooks(factory: StorageFactory): Promise<OpenStore & { readonly card: Card }> {
  const opened = await openStore(factory);
  const { storage, ctx, store } = opened;
  await opened.issue();
  let { card } = await opened.issue();
  for (const balance of ['10', '12', '7']) {
    card = await storage.write(() => update(ctx, updateCommand(store, card.id, { balance: money(balance) })));
  }
  await opened.issue();
  return { ...opened, card, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

type Books = Awaited<ReturnType<typeof openBooks>>;

type Tampering = {
  readonly what: string;
  readonly statements: (books: Books) => readonly Statement[];
  /** The expected report about the card. */
  readonly found: RegExp;
};

const tamperings: readonly Tampering[] = [
  {
    what: 'a changed amount',
    statements: ({ card }) => [
      sql`update transfers set amount = amount + 1 where card_id = ${card.id} and sequence = 2`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a changed amount with balances made to fit',
    statements: ({ card }) => [
      sql`update transfers set amount = amount - 100 where card_id = ${card.id} and sequence = 4`,
      sql`update transfers set balance_after = balance_after + 100 where card_id = ${card.id} and sequence = 4`,
      sql`update gift_cards set balance = balance + 100 where id = ${card.id}`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a changed note of a transfer',
    statements: ({ card }) => [
      sql`update transfers set note = 'with regards' where card_id = ${card.id} and sequence = 1`,
    ],
    found: /a text of transfer \d+ was changed/,
  },
  ...(['actor', 'text_digest', 'reverses', 'created_at', 'kind'] as const).map((column) => ({
    what: `a changed ${column}`,
    statements: ({ card }: Books) => [changed[column](card.id)],
    found: /the hash of transfer \d+ does not match its content/,
  })),
  {
    what: 'accounts turned round',
    statements: ({ card }) => [
      sql`update transfers set debit_account = credit_account, credit_account = debit_account
          where card_id = ${card.id} and sequence = 3`,
    ],
    found: /has a balance that is not the sum up to it/,
  },
  {
    what: 'another account on the other side',
    statements: ({ card }) => [
      sql`update transfers set debit_account = 'promotions' where card_id = ${card.id} and sequence = 1`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'another currency of a transfer',
    statements: ({ card }) => [
      sql`update transfers set currency = 'EUR' where card_id = ${card.id} and sequence = 1`,
    ],
    found: /is in another currency/,
  },
  {
    what: 'a changed hash',
    statements: ({ card }) => [
      sql`update transfers set hash = ${new Uint8Array(32)} where card_id = ${card.id} and sequence = 4`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a changed balance after a transfer',
    statements: ({ card }) => [
      sql`update transfers set balance_after = 1 where card_id = ${card.id} and sequence = 2`,
    ],
    found: /has a balance that is not the sum up to it/,
  },
  {
    what: 'the first transfer deleted',
    statements: ({ card }) => [sql`delete from transfers where card_id = ${card.id} and sequence = 1`],
    found: /has the sequence number 2, not 1/,
  },
  {
    what: 'the first transfer deleted and the others moved up',
    statements: ({ card }) => [
      sql`delete from transfers where card_id = ${card.id} and sequence = 1`,
      ...shift(card, [2, 3, 4], -1),
    ],
    found: /is the entry 1 of the card, but of the kind adjustment/,
  },
  {
    what: 'a transfer in the middle deleted',
    statements: ({ card }) => [sql`delete from transfers where card_id = ${card.id} and sequence = 2`],
    found: /has the sequence number 3, not 1/,
  },
  {
    what: 'two transfers in the middle deleted that cancel out, and the last moved up',
    statements: ({ card }) => [
      sql`update transfers set amount = 500 where card_id = ${card.id} and sequence = 3`,
      sql`delete from transfers where card_id = ${card.id} and sequence in (2, 3)`,
      ...shift(card, [4], -2),
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'the last transfer deleted',
    statements: ({ card }) => [sql`delete from transfers where card_id = ${card.id} and sequence = 4`],
    found: /has a balance that is not the sum of its transfers/,
  },
  {
    what: 'all transfers deleted',
    statements: ({ card }) => [sql`delete from transfers where card_id = ${card.id}`],
    found: /was not issued for its initial value/,
  },
  {
    what: 'two transfers in another order',
    statements: ({ card }) => [
      sql`update transfers set sequence = 99 where card_id = ${card.id} and sequence = 2`,
      sql`update transfers set sequence = 2 where card_id = ${card.id} and sequence = 3`,
      sql`update transfers set sequence = 3 where card_id = ${card.id} and sequence = 99`,
    ],
    found: /has a balance that is not the sum up to it/,
  },
  {
    what: 'a changed balance',
    statements: ({ card }) => [sql`update gift_cards set balance = balance + 1 where id = ${card.id}`],
    found: /has a balance that is not the sum of its transfers/,
  },
  {
    what: 'a negative balance',
    statements: ({ card }) => [sql`update gift_cards set balance = -1 where id = ${card.id}`],
    found: /has a balance that is not the sum of its transfers/,
  },
  {
    what: 'a changed initial value',
    statements: ({ card }) => [sql`update gift_cards set initial_value = 1501 where id = ${card.id}`],
    found: /was not issued for its initial value/,
  },
  {
    what: 'a changed currency of a card',
    statements: ({ card }) => [sql`update gift_cards set currency = 'EUR' where id = ${card.id}`],
    found: /is in another currency/,
  },
  {
    what: 'a deleted card with transfers',
    statements: ({ card }) => [
      sql`delete from gift_card_codes where card_id = ${card.id}`,
      sql`delete from gift_cards where id = ${card.id}`,
    ],
    found: /has transfers, but the card does not exist/,
  },
  {
    what: 'transfers moved to a card that does not exist',
    statements: ({ card }) => [
      sql`update transfers set card_id = ${card.id + 1} where card_id = ${card.id} and sequence = 4`,
    ],
    found: /is a transfer of another card/,
  },
  {
    what: 'a changed id',
    statements: ({ card }) => [
      sql`update transfers set id = id + 1 where card_id = ${card.id} and sequence = 4`,
    ],
    found: /transfer \d+ is not part of its chain/,
  },
  {
    what: 'a changed salt of a chain',
    statements: ({ card }) => [
      sql`update transfers set salt = ${new Uint8Array(16)} where card_id = ${card.id} and sequence = 1`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a salt of a chain in a later transfer',
    statements: ({ card }) => [
      sql`update transfers set salt = ${new Uint8Array(16)} where card_id = ${card.id} and sequence = 2`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a changed expiry at the issue',
    statements: ({ card }) => [
      sql`update transfers set issued_expires_on = '2099-12-31' where card_id = ${card.id} and sequence = 1`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'a text of a transfer that had none, with a digest',
    statements: ({ card }) => [
      sql`update transfers set note = 'x', text_salt = ${new Uint8Array(16)},
            text_digest = ${textDigestOf(new Uint8Array(16), { ...noTexts, note: 'x' })}
          where card_id = ${card.id} and sequence = 1`,
    ],
    found: /the hash of transfer \d+ does not match its content/,
  },
  {
    what: 'an earlier transfer as the end of the chain',
    statements: ({ card, store }) => [
      sql`update gift_cards set chain_length = 3,
            last_transfer_id = (
              select id from transfers where store_id = ${store.id} and card_id = ${card.id} and sequence = 3),
            chain_hash = (
              select hash from transfers where store_id = ${store.id} and card_id = ${card.id} and sequence = 3)
          where store_id = ${store.id} and id = ${card.id}`,
    ],
    found: /transfer \d+ is not part of its chain/,
  },
  {
    what: 'a changed hash at the end of the chain',
    statements: ({ card }) => [
      sql`update gift_cards set chain_hash = ${new Uint8Array(32)} where id = ${card.id}`,
    ],
    found: /has another last transfer than the end of its chain/,
  },
  {
    what: 'a changed length of the chain',
    statements: ({ card }) => [sql`update gift_cards set chain_length = 5 where id = ${card.id}`],
    found: /has another last transfer than the end of its chain/,
  },
  {
    what: 'a circle of transfers',
    statements: ({ card, store }) => [
      sql`update transfers set previous_id = (
            select last_transfer_id from gift_cards where store_id = ${store.id} and id = ${card.id})
          where store_id = ${store.id} and card_id = ${card.id} and sequence = 2`,
    ],
    found: /has the sequence number 2, not 1/,
  },
  {
    what: 'the end of another chain',
    statements: ({ card, store }) => [
      sql`update gift_cards set last_transfer_id = (
            select max(last_transfer_id) from gift_cards where store_id = ${store.id})
          where store_id = ${store.id} and id = ${card.id}`,
    ],
    found: /is a transfer of another card/,
  },
];

const changed = {
  actor: (id: number) => sql`update transfers set actor = 'another' where card_id = ${id} and sequence = 1`,
  text_digest: (id: number) =>
    sql`update transfers set text_digest = ${new Uint8Array(32)} where card_id = ${id} and sequence = 2`,
  reverses: (id: number) => sql`update transfers set reverses = 1 where card_id = ${id} and sequence = 3`,
  created_at: (id: number) =>
    sql`update transfers set created_at = created_at - 1 where card_id = ${id} and sequence = 4`,
  kind: (id: number) => sql`update transfers set kind = 'issue' where card_id = ${id} and sequence = 4`,
};

function shift({ id }: Card, sequences: readonly number[], by: number): Statement[] {
  return sequences.map(
    (sequence) =>
      sql`update transfers set sequence = ${sequence + by} where card_id = ${id} and sequence = ${sequence}`,
  );
}

export function testVerification(factory: StorageFactory): void {
  test('unchanged books agree, and their totals are reported', async () => {
    await using books = await openBooks(factory);
    const { stores, mismatches } = await books.storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    assert.deepEqual(stores, [
      {
        store: 'flowers.example',
        currency: 'USD',
        decimals: 2,
        cards: 3,
        transfers: 6,
        outstanding: 3_700n,
        accounts: { sales: -4_500n, adjustments: 800n },
      },
    ]);
  });

  for (const { what, statements, found } of tamperings) {
    test(`${what} is found, and the card is named`, async () => {
      await using books = await openBooks(factory);
      const { storage, database, card, store } = books;
      await database.tamper(...statements(books));
      const { mismatches } = await storage.read(() => verify(1_000));
      const ofCard = mismatches.filter(({ cardId }) => cardId === card.id);
      assert.ok(
        ofCard.some(({ problem }) => found.test(problem)),
        JSON.stringify(mismatches),
      );
      for (const mismatch of mismatches) assert.equal(mismatch.store, store.domain);
      // The other cards are not reported. A mismatch without a card is about the totals.
      const others = mismatches.filter(({ cardId }) => cardId !== card.id && cardId !== card.id + 1);
      assert.ok(
        others.every(({ cardId }) => cardId === null),
        JSON.stringify(others),
      );
    });
  }

  test('a value that the program never writes is found as well, and hides no other mismatch', async () => {
    const values = [
      (id: number) => sql`update gift_cards set currency = 'ZZZ' where id = ${id}`,
      (id: number) => sql`update transfers set currency = 'ZZZ' where card_id = ${id} and sequence = 2`,
      (id: number) =>
        sql`update transfers set created_at = ${2n ** 62n} where card_id = ${id} and sequence = 2`,
      (id: number) =>
        sql`update transfers set reverses = ${2n ** 62n} where card_id = ${id} and sequence = 2`,
      (id: number) =>
        sql`update transfers set sequence = ${2n ** 62n} where card_id = ${id} and sequence = 4`,
    ];
    for (const statement of values) {
      await using books = await openBooks(factory);
      const { storage, database, card } = books;
      await database.tamper(statement(card.id));
      const text = statement(card.id).strings.join('?');
      await assert.doesNotReject(
        storage.read(() => verify(10)),
        `verify fails without naming the card: ${text}`,
      );
      const { mismatches } = await storage.read(() => verify(10));
      assert.ok(
        mismatches.some(({ cardId }) => cardId === card.id),
        text,
      );
    }
  });

  test('cards and transfers of a store that does not exist are found', async () => {
    await using books = await openBooks(factory);
    const { storage, database, store } = books;
    await database.tamper(sql`delete from stores where id = ${store.id}`);
    const { mismatches } = await storage.read(() => verify(10));
    assert.notDeepEqual(mismatches, []);
  });

  test('a transfer without a card is found at any position', async () => {
    for (const place of ['before', 'between', 'behind'] as const) {
      await using books = await openBooks(factory);
      const { storage, database, card, store } = books;
      const cardId = { before: 1, between: card.id + 1, behind: Number.MAX_SAFE_INTEGER }[place];
      await database.tamper(sql`
        insert into transfers (store_id, card_id, sequence, id, kind, amount, currency, debit_account,
          credit_account, balance_after, actor, created_at, hash)
        values (${store.id}, ${cardId}, 1, 1, 'issue', 5, 'USD', 'sales', 'card', 5, 'test', 0,
          ${new Uint8Array(32)})`);
      const { mismatches } = await storage.read(() => verify(10));
      assert.deepEqual(
        mismatches.map((mismatch) => [mismatch.cardId, mismatch.problem]),
        [
          [cardId, 'has transfers, but the card does not exist'],
          [null, 'the totals of the ledger are not the sum of the balances'],
        ],
        place,
      );
    }
  });

  test('an invented card with a matching transfer, hash and event is the only change not found', async () => {
    await using books = await openBooks(factory);
    const { storage, database, card, store } = books;
    const [, , third, fourth] = await storage.read(() =>
      listTransfers(store.id, { after: card.id - 1, upTo: card.id }),
    );
    assert.ok(third && fourth);
    const forged = { ...fourth.transfer, amount: money('4'), balanceAfter: money('8') };
    await database.tamper(
      sql`update transfers set amount = 400, balance_after = 800,
            hash = ${chainHash(third.hash, forged, fourth)} where card_id = ${card.id} and sequence = 4`,
      sql`update gift_cards set balance = 800, chain_hash = ${chainHash(third.hash, forged, fourth)} where id = ${card.id}`,
    );
    const { mismatches: ofEvents } = await storage.read(() => verify(10));
    assert.deepEqual(ofEvents, [
      {
        store: store.domain,
        cardId: card.id,
        problem: 'has events whose balances differ from its transfers',
      },
    ]);
    await database.tamper(
      sql`update events set data = replace(data, '"balance":"7.00"', '"balance":"8.00"')
          where subject_id = ${card.id} and subject_version = 4`,
    );
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    // In the middle of a chain this is not enough: the hashes that follow do not match.
    const [first] = await storage.read(() => listTransfers(store.id, { after: card.id - 1, upTo: card.id }));
    assert.ok(first);
    await database.tamper(
      sql`update transfers set actor = 'x',
            hash = ${chainHash(new Uint8Array(32), { ...first.transfer, actor: 'x' }, first)}
          where card_id = ${card.id} and sequence = 1`,
    );
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual([...new Set(mismatches.map(({ cardId }) => cardId))], [card.id]);
  });

  test('erased texts are accepted, and nothing can take their place', async () => {
    await using books = await openStore(factory);
    const { storage, database, ctx, store } = books;
    const { card } = await books.issue();
    const locationId = await addShop(books);
    const why = { ...texts, orderId: null, locationId, versions: null, actor: 'test' };
    const spend = { store, cardId: card.id, amount: money('5'), partial: false, ...why };
    await storage.write(() => debitNamed(ctx, spend));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    const erase = sql`
      update transfers set reference = null, note = null, order_reference = null, external_id = null, text_salt = null
      where sequence = 2`;
    await storage.write(() => execute(erase));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    await assert.rejects(
      storage.write(() => execute(erase)),
      /append-only/,
    );
    await assert.rejects(
      storage.write(() => execute(sql`update transfers set note = 'other'`)),
      /append-only/,
    );
    await database.tamper(sql`update transfers set note = 'other' where sequence = 2`);
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(
      mismatches.map(({ cardId, problem }) => [cardId, /a text of transfer/.test(problem)]),
      [[card.id, true]],
    );
  });

  test('an entry, a hold or a batch at a location that does not exist is found', async () => {
    await using books = await openStore(factory);
    const { storage, database, ctx, store } = books;
    const locationId = await addShop(books);
    const { card } = await books.issue({ locationId });
    const hold = { store, cardId: card.id, amount: money('2'), seconds: 60, versions: null };
    await storage.write(() => placeHold(ctx, { ...hold, reference: null, note: null, orderId: null, actor: 'test', locationId })); // prettier-ignore
    const parsed = resultOf(
      parseBatch([{ initial_value: '5' }], { store, now: ctx.clock.now(), canSend: false }),
    );
    assert.ok(parsed.ok);
    const named = { store, name: null, actor: 'test', apiClientId: null, locationId };
    await storage.write(() => startBatch(ctx, { ...named, ...parsed }));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    await database.tamper(sql`delete from locations`);
    const { mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(
      mismatches.map(({ cardId, problem }) => [cardId, problem]),
      [
        [card.id, 'has an entry at a location that does not exist'],
        [card.id, 'has a hold at a location that does not exist'],
        [null, 'batches: a batch is of a location that does not exist'],
      ],
    );
  });

  test('texts can be erased only with their salt, and only all of an entry', async () => {
    await using books = await openStore(factory);
    const { storage, ctx, store } = books;
    const { card } = await books.issue();
    const locationId = await addShop(books);
    const why = { ...texts, orderId: null, locationId, versions: null, actor: 'test' };
    await storage.write(() =>
      debitNamed(ctx, { store, cardId: card.id, amount: money('5'), partial: false, ...why }),
    );
    const erased =
      'reference = null, note = null, order_reference = null, external_id = null, text_salt = null';
    const set = (assignments: string): Statement =>
      new Statement([`update transfers set ${assignments} where sequence = 2`], []);
    for (const statement of [
      set('reference = null'),
      set('reference = null, note = null'),
      set("note = 'other'"),
      set("order_reference = 'other'"),
      set('text_salt = null'),
      set('reference = null, note = null, text_salt = null'),
      set('reference = null, note = null, order_reference = null, text_salt = null'),
      set(`${erased}, text_digest = null`),
      set(`${erased}, amount = 1`),
      set(`${erased}, actor = 'x'`),
      set(`${erased}, location_id = location_id + 1`),
      set(`${erased}, location_id = null`),
      new Statement([`update transfers set ${erased} where sequence = 1`], []),
    ])
      await assert.rejects(
        storage.write(() => execute(statement)),
        /append-only/,
      );
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('only the requested number of mismatches is reported', async () => {
    await using books = await openBooks(factory);
    await books.database.tamper(sql`update gift_cards set balance = balance + 1`);
    assert.equal((await books.storage.read(() => verify(2))).mismatches.length, 2);
    // One for each card, and one for the totals.
    assert.equal((await books.storage.read(() => verify(100))).mismatches.length, 4);
  });

  test('more cards than fit a page are verified page by page, and none is skipped', async () => {
    // The first ids are of two stores. Then the ids of a card, its transfer and its event alternate. The
    // cards' ids have no gaps, and a page that starts one too late skips a card.
    let calls = 0;
    const draw = (): number => {
      calls += 1;
      return calls % 3 === 0 ? 1_000_000 + calls / 3 : 2_000_000 + calls;
    };
    await using opened = await openStore(factory, { ctx: testContext({ random: { id: draw } }) });
    const { storage, ctx, store, database } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    const cards: Card[] = [];
    for (const where of [store, other]) {
      const issued = Array.from({ length: where === store ? 1_003 : 500 }, () =>
        storage.write(() => issue(ctx, issueCommand(where))),
      );
      cards.push(...(await Promise.all(issued)).map(({ card }) => card));
    }
    const { stores, mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    assert.deepEqual(new Set(stores.map((totals) => totals.cards)), new Set([1_003, 500]));

    let seen = 0;
    let pages = 0;
    for (let after: ScannedInteger | undefined = 0; after !== undefined; pages += 1) {
      const from: ScannedInteger = after;
      const page: VerifiedPage = await storage.read(() => verifyPage(store, from));
      seen += page.cards;
      after = page.next;
    }
    assert.deepEqual([seen, pages], [1_003, 3]);

    const bent = [0, 499, 500, 999, 1_000, 1_002].flatMap((index) => cards[index] ?? []);
    await database.tamper(...bent.map(({ id }) => sql`update gift_cards set balance = 1 where id = ${id}`));
    const found = (await storage.read(() => verify(100))).mismatches.flatMap(({ cardId }) => cardId ?? []);
    assert.deepEqual(new Set(found), new Set(bent.map(({ id }) => id)));
  });

  test('events and codes are compared with their cards in several passes', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store, database } = opened;
    const issued = Array.from({ length: 1_003 }, () => storage.write(() => issue(ctx, issueCommand(store))));
    const cards = (await Promise.all(issued))
      .map(({ card }) => card.id)
      .toSorted((one, other) => one - other);
    assert.deepEqual((await storage.read(() => verify(10, { cardsInPass: 400 }))).mismatches, []);

    const [first = 0, beforeEnd = 0, behindEnd = 0, last = 0] = [0, 499, 500, 1_002].map(
      (place) => cards[place],
    );
    const missing = last + 1;
    await database.tamper(
      sql`delete from events where subject_id in (${first}, ${beforeEnd}, ${behindEnd})`,
      sql`update gift_card_codes set card_id = ${missing} where card_id = ${last}`,
    );
    const { mismatches } = await storage.read(() => verify(10, { cardsInPass: 400 }));
    assert.deepEqual(
      mismatches
        .toSorted((one, other) => Number(one.cardId) - Number(other.cardId))
        .map(({ cardId, problem }) => [cardId, problem]),
      [
        [first, 'has no event of version 1'],
        [beforeEnd, 'has no event of version 1'],
        [behindEnd, 'has no event of version 1'],
        [last, 'has no code'],
        [missing, 'has codes, but the card does not exist'],
      ],
    );
  });

  test('a verification sees one state during concurrent writes', async () => {
    await using books = await openBooks(factory);
    const { storage, database, ctx, store, card } = books;
    const other = database.open();
    const writing = Array.from({ length: 40 }, (_, index) =>
      other.write(() => update(ctx, updateCommand(store, card.id, { balance: money(String(index + 20)) }))),
    );
    const verifying = Array.from({ length: 20 }, () => storage.read(() => verify(10)));
    for (const { mismatches } of await Promise.all(verifying)) assert.deepEqual(mismatches, []);
    await Promise.all(writing);
    await storage.write(() => execute(sql`update heartbeat set beaten_at = 1`));
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });
}
