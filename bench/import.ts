/** The import of many cards into an empty database: batches of 10,000, created one after another through the API. */

import { setTimeout as wait } from 'node:timers/promises';
import { batchCardsMax } from '../src/features/batches/domain/batch.ts';
import { createStore, stop, verify, type Database } from './fixture.ts';
import { ExpectedLedger } from './operations.ts';
import { newCardOf } from './population.ts';
import { startService, type Server } from './processes.ts';
import type { Import } from './results.ts';
import type { Bench } from './rounds.ts';
import { thisTree } from './tree.ts';

/** So many batches wait, so that the service is never without one. */
const waitingMax = 3;
/** A request delays a batch a little. */
const pollMs = 250;

type Batch = { readonly id: number; readonly state: string };

/** @throws Error if a batch was rejected, or the ledger has other cards. */
export async function measureImport(
  { plan: { importCards: cards }, folder }: Bench,
  database: Database,
): Promise<Import> {
  const { engine } = database;
  console.error(`importing ${cards} cards, ${engine}`);
  const { environment, token, log } = createStore(thisTree, { database, folder });
  await using service = await startService(thisTree, { environment, log });
  const usage = async () => ({ own: service.usage(), server: (await database.usage?.()) ?? null });
  const before = await usage();
  const startedAt = performance.now();
  await importAll(service, { token, cards });
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await usage();
  await stop(service);
  verify({ tree: thisTree, environment, cards, expected: new ExpectedLedger() });
  const microsOf = (one: { readonly micros: number }, other: { readonly micros: number }): number =>
    (other.micros - one.micros) / cards;
  return {
    engine,
    cards,
    seconds,
    microsPerCard: microsOf(before.own, after.own),
    databaseMicros: before.server && after.server && microsOf(before.server, after.server),
    memoryMb: after.own.memoryMb,
  };
}

async function importAll(
  { port }: Pick<Server, 'port'>,
  { token, cards }: { readonly token: string; readonly cards: number },
): Promise<void> {
  const request = async (method: string, path: string, body?: string): Promise<Batch> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (JSON.parse(text) as { readonly batch: Batch }).batch;
  };
  const waiting: number[] = [];
  let created = 0;
  while (created < cards || waiting.length > 0) {
    if (created < cards && waiting.length < waitingMax) {
      const from = created;
      created = Math.min(cards, created + batchCardsMax);
      const sent = Array.from({ length: created - from }, (_, place) => newCardOf(from + place));
      const { id } = await request('POST', '/batches', JSON.stringify({ cards: sent }));
      waiting.push(id);
      continue;
    }
    const { state } = await request('GET', `/batches/${waiting[0]}`);
    if (state === 'complete') waiting.shift();
    else await wait(pollMs);
  }
}
