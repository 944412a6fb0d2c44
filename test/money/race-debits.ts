/** Many concurrent debits on a running engine: exactly as many succeed as the card can afford. */

import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../src/core/domain/fault.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { openBooks } from './open-books.ts';
import { requireCard } from '../../src/core/cards/service/present-card.ts';
import { perform, type Desk, type Done } from './service-under-test.ts';

const callers = 500;
const affordable = 50;
const attemptsMax = 20;

/** Races debits of 1.00 and returns the errors, or nothing if there are none. */
export async function raceDebits(
  debit: (desk: Desk, amount: bigint) => Script<Done>,
): Promise<readonly string[]> {
  await using books = await openBooks();
  const { ctx, storage, store } = books;
  const nowhere = { cards: [], holds: [], transfers: [] };
  const { card } = await storage.write(() =>
    perform(
      { ctx, store, places: nowhere },
      { kind: 'issue', amount: 100n * BigInt(affordable), expiresOn: null },
    ),
  );
  if (!card) return ['no card was issued'];
  const desk: Desk = { ctx, store, places: { ...nowhere, cards: [card.id] } };
  const outcomes = await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let attempt = 1; ; attempt += 1) {
        const outcome = await storage
          .write(() => debit(desk, 100n))
          .then(
            () => 'done',
            (error: unknown) => (error instanceof Fault ? error.code : String(error)),
          );
        // On a slow machine this many callers can overload the engine, which then executes nothing, and they
        // retry.
        if (outcome !== 'overloaded' || attempt === attemptsMax) return outcome;
        await wait(Math.random() * 500);
      }
    }),
  );
  const complaints: string[] = [];
  for (const [outcome, times] of Map.groupBy(outcomes, (each) => each)) {
    const expected = { done: affordable, 'insufficient-balance': callers - affordable }[outcome] ?? 0;
    if (times.length !== expected) complaints.push(`${outcome}: ${times.length} times, not ${expected}`);
  }
  const { balance } = await storage.read(() => requireCard(store.id, card.id));
  if (balance.minor !== 0n) complaints.push(`${balance.minor} are left`);
  const { mismatches } = await storage.read(() => verify(5));
  complaints.push(...mismatches.map(({ problem }) => problem));
  return complaints;
}
