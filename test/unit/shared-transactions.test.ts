/** The writes that share a transaction. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBatches, type BatchedScript } from '../../src/database/postgres/batches.ts';
import type { Session } from '../../src/database/postgres/session.ts';
import { resolved } from '../../src/database/sql/sql.ts';

/** Returns the stores of each transaction if writes of these stores wait for one connection. */
async function storesTogether(
  storeIds: readonly number[],
  isDistributed: boolean,
): Promise<readonly (readonly number[])[]> {
  const transactions: number[][] = [];
  const waiting: { readonly job: BatchedScript; readonly give: (session: Session | undefined) => void }[] =
    [];
  // No function of the session is called.
  const session = {} as Session;
  const handOut = (): void => waiting.shift()?.give(session);
  const batches = openBatches({
    pool: {
      isDistributed,
      waiting: 0,
      take: () => Promise.reject(new Error('not used')),
      connect: () => Promise.reject(new Error('not used')),
      close: async () => undefined,
      share: (_until, job) =>
        new Promise((give) => {
          assert(job.lane === 'writes');
          waiting.push({ job, give });
        }),
      takeAlong(isChosen) {
        const chosen = waiting.filter(({ job }) => isChosen(job));
        for (const one of chosen) {
          waiting.splice(waiting.indexOf(one), 1);
          one.give(undefined);
        }
        return chosen.map(({ job }) => job);
      },
      giveBack: handOut,
    },
    alone: () => Promise.reject(new Error('not used')),
    async commitBatch(_session, scripts) {
      return scripts.map((script) => {
        const step = script.next([]);
        assert(step.done === true);
        return { kind: 'returned', value: step.value };
      });
    },
    mayRunAgain: () => false,
    publicError: (error) => error,
  });
  let current: number[] | undefined;
  const written = storeIds.map((storeId, index) =>
    batches.share(
      () => {
        if (!current) {
          current = [];
          transactions.push(current);
          queueMicrotask(() => (current = undefined));
        }
        current.push(storeId);
        return resolved(undefined);
      },
      { storeId, cardId: index + 1 },
      Number.POSITIVE_INFINITY,
    ),
  );
  handOut();
  await Promise.all(written);
  return transactions;
}

test('writes of several stores share a transaction on one server', async () => {
  assert.deepEqual(await storesTogether([1, 2, 1, 3], false), [[1, 1, 2, 3]]);
});

test('in a distributed database a shared transaction contains one store', async () => {
  assert.deepEqual(await storesTogether([1, 2, 1, 3, 2], true), [[1, 1], [2, 2], [3]]);
});
