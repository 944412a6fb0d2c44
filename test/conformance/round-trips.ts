/**
 * The number of times that each operation waits for rows. Each wait is a round trip to the database, and the commit is one
 * more: `begin` travels with the first step, and unawaited statements travel with the next one. A larger
 * number makes every request of its kind slower.
 */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault, FieldErrors } from '../../src/core/domain/fault.ts';
import { retrieve, reenableCard, update } from '../../src/core/cards/service/card.ts';
import { issue, rejectIssue } from '../../src/core/cards/service/issue.ts';
import { lookUp, search } from '../../src/core/cards/service/lookup.ts';
import {
  findOpenDemonstrationStore,
  findPresentedToken,
  findSignedStore,
  recordTokenUses,
} from '../../src/core/stores/service/caller.ts';
import { listCardHistory } from '../../src/core/cards/service/changes.ts';
import { cardAt } from '../../src/core/cards/service/past-card.ts';
import { listCardHolds, listCardTransfers, showTransfer } from '../../src/core/money/service/movements.ts';
import { capture, placeHold, showHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { withIdempotencyKey } from '../../src/core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../src/core/requests/service/http-response.ts';
import { recordFailedLookup, recordRetiredCodeUses } from '../../src/core/cards/service/lookup-throttle.ts';
import { listCardEmails, sendGiftCard, rotateCode } from '../../src/core/emails/service/email.ts';
import type { MoneyCommand } from '../../src/core/money/service/transfer.ts';
import { credit, debit, reverse } from '../../src/core/money/service/spend.ts';
import { accessTokensOf, createToken, revoke, rotateToken } from '../../src/core/stores/service/token.ts';
import { verifyPage } from '../../src/features/proofs/service/ledger-check.ts';
import { findRefilledAt } from '../../src/core/stores/storage/lookup-throttle.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, email, issueCommand, money, updateCommand } from '../support/fixtures.ts';
import { numberedVersions } from '../support/numbered-versions.ts';
import { openStore } from '../support/open-store.ts';
import { eraseOutdated, expireHolds } from '../support/upkeep.ts';

const ann = email('ann@example.com');
const bea = email('bea@example.com');
const scopes = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;
const page = { limit: 1, before: null, after: null };

/** Runs a script and counts the steps that it waits for. */
function* counted<T>(script: Script<T>, counts: { awaited: number }): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    if (step.value.isAwaited) counts.awaited += 1;
    step = script.next(yield step.value);
  }
  return step.value;
}

/** A store with a token and with a card of Ann's, with 2.00 spent, 3.00 credited and 4.00 held. */
async function openShop(factory: StorageFactory) {
  const opened = await openStore(factory, { undoWindowMinutes: 15 });
  const { storage, ctx, store } = opened;
  const { card, code: issuedCode } = await opened.issue({ customer: ann, recipient: bea });
  const movement: MoneyCommand = {
    store, cardId: card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null,
  }; // prettier-ignore
  const spent = await storage.write(() => debit(ctx, { ...movement, amount: money('2'), partial: false }));
  const sold = await storage.write(() => credit(ctx, { ...movement, amount: money('3') }));
  const placed = await storage.write(() => placeHold(ctx, { ...movement, amount: money('4'), seconds: 600 }));
  const { secret, token } = await storage.write(() => createToken(ctx, { store, name: 'till', scopes }));
  const presented = accessTokensOf(ctx).parse(secret.reveal());
  assert.ok(presented);
  return { ...opened, card: placed.card, issuedCode, movement, spent, sold, placed, presented, token };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

const anyVersion = (): null => null;
const currentVersion = ({ card }: Shop) => numberedVersions([card.version]);

type Operation = {
  readonly name: string;
  /** The awaited steps: without an idempotency key, and with one if the operation accepts it. */
  readonly awaited: readonly [plain: number, withKey?: number];
  /** Changes the shop before the measurement. */
  readonly prepare?: (shop: Shop) => Promise<unknown>;
  readonly script: (shop: Shop) => Script<unknown>;
};

const disabling = ({ storage, ctx, store, card }: Shop, releaseHolds: boolean) =>
  storage.write(() => update(ctx, updateCommand(store, card.id, { disable: true }, { releaseHolds })));
const amount = money('1');

const operations: readonly Operation[] = [
  { name: 'find a presented token', awaited: [1], script: ({ presented }) => findPresentedToken(presented) },
  { name: 'find a signed shop', awaited: [1], script: ({ ctx, store }) => findSignedStore(ctx, store.domain) },
  { name: 'find the demonstration store', awaited: [1], script: findOpenDemonstrationStore },

  { name: 'retrieve', awaited: [1], script: ({ store, card }) => retrieve(store.id, card.id) },
  {
    name: 'search',
    awaited: [1],
    script: ({ ctx, store, card }) =>
      search(ctx, { store, address: bea, lastCharacters: [card.lastCharacters], onlyStorefrontCustomerId: null }),
  },
  {
    name: 'search that finds nothing',
    awaited: [1],
    script: ({ ctx, store }) =>
      search(ctx, { store, address: email('cyd@example.com'), lastCharacters: ['0000'], onlyStorefrontCustomerId: 7 }),
  },
  {
    name: 'look up by code',
    awaited: [1],
    script: ({ ctx, store, issuedCode }) => lookUp(ctx, { store, readings: exactly(issuedCode), usableOnly: false }),
  },
  {
    name: 'look up an unknown code',
    awaited: [1],
    script: ({ ctx, store }) => lookUp(ctx, { store, readings: exactly(code('unknown0code1234')), usableOnly: false }),
  },
  {
    name: 'read the failed lookups of a caller',
    awaited: [1],
    script: ({ store }) => findRefilledAt({ storeId: store.id, caller: 'token:1' }),
  },
  {
    name: 'record a failed lookup',
    awaited: [1],
    script: ({ ctx, store }) =>
      recordFailedLookup({ storeId: store.id, caller: 'token:1' }, { now: ctx.clock.now(), perHour: 10 }),
  },
  {
    name: 'publish that a replaced code was presented',
    awaited: [1],
    script: ({ ctx, store, card }) => recordRetiredCodeUses(ctx, [{ storeId: store.id, cardId: card.id }]),
  },

  { name: 'issue without a customer or recipient', awaited: [0, 1], script: ({ ctx, store }) => issue(ctx, issueCommand(store)) },
  {
    name: 'issue to a new customer and a known recipient',
    awaited: [1, 1],
    script: ({ ctx, store }) =>
      issue(ctx, issueCommand(store, { customer: email('new@example.com'), recipient: ann })),
  },
  {
    name: 'issue and email to a recipient, with a receipt',
    awaited: [1, 1],
    script: ({ ctx, store }) =>
      issue(ctx, issueCommand(store, { customer: ann, recipient: bea, emails: { sendAt: null } })),
  },
  {
    name: 'issue and email to a recipient later',
    awaited: [1, 1],
    script: ({ ctx, store }) =>
      issue(
        ctx,
        issueCommand(store, { recipient: bea, emails: { sendAt: ctx.clock.now() + 3_600_000 } }),
      ),
  },
  {
    name: 'issue with a chosen code',
    awaited: [2, 2],
    script: ({ ctx, store }) => issue(ctx, issueCommand(store, { code: code('owncode1234') })),
  },
  {
    name: 'issue with a chosen code to a customer',
    awaited: [3, 3],
    script: ({ ctx, store }) => issue(ctx, issueCommand(store, { code: code('owncode1234'), customer: ann })),
  },
  {
    name: 'reject an issue with a chosen code',
    awaited: [1, 1],
    script: ({ ctx, store }) => {
      const errors = new FieldErrors();
      errors.add('note', 'is too long');
      return expectFault(rejectIssue(ctx, { store, code: code('owncode1234'), errors }));
    },
  },
  {
    name: 'update the balance',
    awaited: [2, 2],
    script: ({ ctx, store, card }) => update(ctx, updateCommand(store, card.id, { balance: money('20') })),
  },
  {
    name: 'update the note, of one version, with the code sent along',
    awaited: [2, 2],
    script: (shop) =>
      update(
        shop.ctx,
        updateCommand(
          shop.store,
          shop.card.id,
          { note: 'new' },
          { echoedCode: exactly(shop.issuedCode), versions: currentVersion(shop) },
        ),
      ),
  },
  {
    name: 'update nothing',
    awaited: [1, 1],
    script: ({ ctx, store, card }) => update(ctx, updateCommand(store, card.id, {})),
  },
  {
    name: 'update a card with an expired hold',
    awaited: [3, 3],
    prepare: async ({ ctx }) => ctx.clock.advance(600_000),
    script: ({ ctx, store, card }) => update(ctx, updateCommand(store, card.id, { balance: money('1') })),
  },
  {
    name: 'disable and release the holds',
    awaited: [3, 3],
    prepare: ({ storage, ctx, movement }) =>
      storage.write(() => placeHold(ctx, { ...movement, amount, seconds: 600 })),
    script: ({ ctx, store, card }) =>
      update(ctx, updateCommand(store, card.id, { disable: true }, { releaseHolds: true })),
  },
  {
    name: 'undo a disabling',
    awaited: [2, 2],
    prepare: (shop) => disabling(shop, true),
    script: ({ ctx, store, card }) => reenableCard(ctx, { store, cardId: card.id, actor: 'test', versions: null }),
  },

  {
    name: 'first page of the history of changes',
    awaited: [3],
    script: ({ ctx, store, card }) => listCardHistory(ctx, { store, cardId: card.id }, page),
  },
  {
    name: 'card at an instant',
    awaited: [2],
    script: ({ ctx, store, card }) => cardAt(store, card.id, ctx.clock.now()),
  },

  { name: 'debit', awaited: [1, 1], script: ({ ctx, movement }) => debit(ctx, { ...movement, amount, partial: false }) },
  {
    name: 'debit of one version',
    awaited: [2, 2],
    script: (shop) =>
      debit(shop.ctx, { ...shop.movement, versions: currentVersion(shop), amount, partial: false }),
  },
  {
    name: 'debit of the rest',
    awaited: [2, 2],
    script: ({ ctx, movement }) => debit(ctx, { ...movement, amount: money('100'), partial: true }),
  },
  {
    name: 'debit of more than the balance',
    awaited: [1, 1],
    script: ({ ctx, movement }) => expectFault(debit(ctx, { ...movement, amount: money('100'), partial: false })),
  },
  {
    name: 'debit of the amount of two expired holds',
    awaited: [3, 3],
    prepare: async ({ storage, ctx, movement }) => {
      await storage.write(() => placeHold(ctx, { ...movement, amount, seconds: 600 }));
      ctx.clock.advance(600_000);
    },
    script: ({ ctx, movement }) => debit(ctx, { ...movement, amount: money('16'), partial: false }),
  },
  { name: 'credit', awaited: [1, 1], script: ({ ctx, movement }) => credit(ctx, { ...movement, amount }) },
  {
    name: 'redeem by code',
    awaited: [2, 2],
    *script({ ctx, store, movement, issuedCode }) {
      const found = yield* lookUp(ctx, { store, readings: exactly(issuedCode), usableOnly: true });
      assert.ok(found.kind === 'found');
      const { card, codeLookup } = found;
      yield* debit(ctx, { ...movement, cardId: card.id, amount, partial: false, codeLookup });
    },
  },
  {
    name: 'give another code',
    awaited: [2, 2],
    script: ({ ctx, store, card }) => rotateCode(ctx, { store, cardId: card.id, actor: 'test', versions: null }),
  },
  {
    name: 'email again, of one version',
    awaited: [2, 2],
    script: (shop) =>
      sendGiftCard(shop.ctx, {
        store: shop.store,
        cardId: shop.card.id,
        actor: 'test',
        versions: currentVersion(shop),
        canSend: true,
      }),
  },
  {
    name: 'first page of emails',
    awaited: [1],
    script: ({ store, card }) => listCardEmails({ storeId: store.id, cardId: card.id }, page),
  },
  {
    name: 'hold',
    awaited: [1, 1],
    script: ({ ctx, movement }) => placeHold(ctx, { ...movement, amount, seconds: 600 }),
  },
  { name: 'show a hold', awaited: [2], script: ({ ctx, store, placed }) => showHold(ctx, store.id, placed.hold.id) },
  {
    name: 'capture a part of a hold',
    awaited: [2, 2],
    script: ({ ctx, store, placed }) =>
      capture(ctx, { store, holdId: placed.hold.id, versionsOf: anyVersion, amount, actor: 'test', note: null }),
  },
  {
    name: 'capture, of one version',
    awaited: [3, 3],
    script: (shop) =>
      capture(shop.ctx, {
        store: shop.store,
        holdId: shop.placed.hold.id,
        versionsOf: () => currentVersion(shop),
        amount: null,
        actor: 'test',
        note: null,
      }),
  },
  {
    name: 'void a hold',
    awaited: [2, 2],
    script: ({ ctx, store, placed }) =>
      voidOpenHold(ctx, { store, holdId: placed.hold.id, versionsOf: anyVersion }),
  },
  {
    name: 'reverse a debit',
    awaited: [2, 2],
    script: ({ ctx, store, spent }) =>
      reverse(ctx, {
        store,
        transferId: spent.transfer.id,
        amount,
        actor: 'test',
        note: null,
        scopes,
        versionsOf: anyVersion,
      }),
  },
  {
    name: 'reverse a credit, of one version',
    awaited: [3, 3],
    script: (shop) =>
      reverse(shop.ctx, {
        store: shop.store,
        transferId: shop.sold.transfer.id,
        amount: null,
        actor: 'test',
        note: null,
        scopes,
        versionsOf: () => currentVersion(shop),
      }),
  },
  {
    name: 'first page of transactions',
    awaited: [1],
    script: ({ store, card }) => listCardTransfers({ storeId: store.id, cardId: card.id }, page),
  },
  {
    name: 'next page of transactions',
    awaited: [2],
    script: ({ store, card, sold }) =>
      listCardTransfers({ storeId: store.id, cardId: card.id }, { ...page, before: sold.transfer.id }),
  },
  {
    name: 'previous page of holds',
    awaited: [1],
    script: ({ store, card, placed }) =>
      listCardHolds({ storeId: store.id, cardId: card.id }, { ...page, after: placed.hold.id }),
  },
  { name: 'show a transaction', awaited: [1], script: ({ store, spent }) => showTransfer(store.id, spent.transfer.id) },

  { name: 'make a token', awaited: [0], script: ({ ctx, store }) => createToken(ctx, { store, name: 'b', scopes }) },
  { name: 'rotate a token', awaited: [1], script: ({ ctx, store, token }) => rotateToken(ctx, store, token.id) },
  { name: 'revoke a token', awaited: [1], script: ({ ctx, store, token }) => revoke(ctx, store, token.id) },
  {
    name: 'record the uses of tokens',
    awaited: [0],
    script: ({ store, token }) => recordTokenUses([{ storeId: store.id, id: token.id, usedAt: 1 }]),
  },
  {
    name: 'release two expired holds',
    awaited: [3],
    prepare: async ({ storage, ctx, movement }) => {
      await storage.write(() => placeHold(ctx, { ...movement, amount, seconds: 600 }));
      ctx.clock.advance(600_000);
    },
    script: ({ ctx }) => expireHolds(ctx, 10),
  },
  { name: 'delete outdated rows', awaited: [2], script: ({ ctx }) => eraseOutdated(ctx, 10) },
  { name: 'verify a page of cards', awaited: [2], script: ({ store }) => verifyPage(store, 0) },
]; // prettier-ignore

/** Counts the steps of a script that must be rejected. */
function* expectFault(script: Script<unknown>): Script<void> {
  try {
    yield* script;
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    return;
  }
  assert.fail('the script was not rejected');
}

function* underKey({ ctx, store }: Shop, script: Script<unknown>): Script<unknown> {
  const use = {
    owner: { storeId: store.id, apiClientId: 1, key: 'key' },
    request: JSON.stringify(['a request']),
  };
  return yield* withIdempotencyKey(ctx, use, function* (): Script<HttpResponse> {
    yield* script;
    return { status: 200, headers: {}, body: '' };
  });
}

/** The script was counted, and its transaction is rolled back. */
class Counted extends Error {}

export function testRoundTrips(factory: StorageFactory): void {
  test('each operation waits for the recorded number of steps', async () => {
    await using shared = await openShop(factory);
    const countIn = async (shop: Shop, { script }: Operation, withKey: boolean): Promise<number> => {
      const counts = { awaited: 0 };
      const counting = shop.storage.write(function* (): Script<void> {
        counts.awaited = 0;
        const started = script(shop);
        yield* counted(withKey ? underKey(shop, started) : started, counts);
        // The last statements are executed as well.
        yield* all(sql`select 1 as one`);
        throw new Counted();
      });
      await assert.rejects(counting, Counted);
      return counts.awaited;
    };
    const count = async (operation: Operation, withKey: boolean): Promise<number> => {
      if (!operation.prepare) return countIn(shared, operation, withKey);
      await using shop = await openShop(factory);
      await operation.prepare(shop);
      return await countIn(shop, operation, withKey);
    };
    const found: string[] = [];
    for (const operation of operations) {
      const plain = await count(operation, false);
      const awaited = operation.awaited.length === 1 ? [plain] : [plain, await count(operation, true)];
      found.push(`${operation.name}: ${awaited.join(', ')}`);
    }
    assert.deepEqual(
      found,
      operations.map(({ name, awaited }) => `${name}: ${awaited.join(', ')}`),
    );
  });
}
