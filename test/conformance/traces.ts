/** The context of a trace that is stored with events and emails. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { enqueueEmail } from '../../src/core/emails/storage/email.ts';
import { all, RetryTransaction, sql, type Script } from '../../src/database/sql/sql.ts';
import { tracedStorage } from '../../src/database/traced.ts';
import { openTracing } from '../../src/platform/tracing.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { issueCommand, newStore, testContext } from '../support/fixtures.ts';
import { registerSdk } from '../support/tracing-sdk.ts';

async function open(factory: StorageFactory) {
  const opened = await openMigrated(factory);
  const tracing = openTracing();
  assert.ok(tracing);
  const ctx = { ...testContext(), messageContext: tracing.messageContext };
  const storage = tracedStorage(opened.storage, tracing);
  const store = await storage.write(() => createStore(ctx, newStore()));
  /** Runs a transaction of a request with this trace id; null: not of a request. */
  const ofRequest = async <T>(
    traceId: string | null,
    script: () => Script<T>,
    isDryRun = false,
  ): Promise<T> => {
    const write = () => (isDryRun ? storage.dryRun(script) : storage.write(script));
    if (traceId === null) return write();
    const headers = { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` };
    const result = Promise.withResolvers<T>();
    tracing.request({ method: 'POST', route: '/x', headers }).run(() => {
      write().then(result.resolve, result.reject);
    });
    return result.promise;
  };
  const contexts = (table: typeof eventsOf) =>
    storage
      .read(() => all(table(store.id)))
      .then((rows) =>
        rows.map(
          ({ card, context }) => [Number(card), context && Buffer.from(context).toString('hex')] as const,
        ),
      );
  return { ctx, store, ofRequest, contexts, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

type Stored = { readonly card: bigint; readonly context: Uint8Array | null };

function eventsOf(storeId: number) {
  return sql<Stored>`
    select subject_id as card, trace_context as context from events
    where store_id = ${storeId} and type = 'gift_card.created'`;
}

function emailsOf(storeId: number) {
  return sql<Stored>`
    select card_id as card, trace_context as context from email_deliveries where store_id = ${storeId}`;
}

const traceIdOf = (place: number): string => String(place).padStart(32, 'c');

export function testTraces(factory: StorageFactory): void {
  test('requests that share a transaction each store their own trace, and others store none', async () => {
    using sdk = registerSdk();
    await using shop = await open(factory);
    const { ctx, store } = shop;
    const command = issueCommand(store);
    const issueAndEmail = function* (): Script<number> {
      const { id: cardId } = (yield* issue(ctx, command)).card;
      const address = 'grace@example.com';
      const about = { code: null, sendAt: null, occasion: null };
      yield* enqueueEmail(ctx, { storeId: store.id, cardId, kind: 'receipt', address, ...about });
      return cardId;
    };
    const requests = Array.from({ length: 30 }, (_, place) => (place % 3 === 0 ? null : traceIdOf(place)));
    const cards = new Map<number, string | null>();
    await Promise.all(
      requests.map(async (traceId) => {
        cards.set(await shop.ofRequest(traceId, issueAndEmail), traceId);
      }),
    );
    for (const [table, name] of [
      [eventsOf, 'enqueue events'],
      [emailsOf, 'enqueue emails'],
    ] as const) {
      const stored = await shop.contexts(table);
      assert.equal(stored.length, requests.length);
      for (const [card, context] of stored) {
        const traceId = cards.get(card) ?? null;
        const [span, ...others] = sdk.named(name).filter(({ own }) => own.traceId === traceId);
        assert.equal(others.length, 0);
        assert.equal(context, traceId === null ? null : `${traceId}${span?.own.spanId}01`);
      }
    }
  });

  test('only the committed attempt of a transaction has a span of its messages, and a dry run has none', async () => {
    using sdk = registerSdk();
    await using shop = await open(factory);
    const { ctx, store } = shop;
    let attempts = 0;
    await shop.ofRequest(traceIdOf(1), function* () {
      for (let cards = 0; cards < 2; cards += 1) yield* issue(ctx, issueCommand(store));
      attempts += 1;
      if (attempts < 3) throw new RetryTransaction('not yet');
    });
    const [span, ...others] = sdk.named('enqueue events');
    assert.equal(others.length, 0);
    assert.equal(span?.attributes['messaging.batch.message_count'], 2);
    assert.deepEqual(
      (await shop.contexts(eventsOf)).map(([, context]) => context),
      Array.from({ length: 2 }, () => `${traceIdOf(1)}${span.own.spanId}01`),
    );

    await shop.ofRequest(traceIdOf(2), () => issue(ctx, issueCommand(store)), true);
    const failed = shop.ofRequest(traceIdOf(3), function* () {
      yield* issue(ctx, issueCommand(store));
      throw new TypeError('rolled back');
    });
    await assert.rejects(failed, TypeError);
    assert.equal(sdk.named('enqueue events').length, 1);
  });
}
