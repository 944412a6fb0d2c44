/**
 * The queue for slow hashes, which strangers can request without limit. People and devices that the service knows are
 * served first and have places of their own, and no network has all places of strangers.
 */

import type { Limits } from '../../../platform/limits.ts';
import { Fault } from '../../domain/fault.ts';

/** A client that waits for a hash. */
export type HashClient = {
  /** Whether it is a person, browser or till that the service knows. */
  readonly isKnown: boolean;
  /** Names the person, browser or till; of a stranger, the network. */
  readonly key: string;
  /** Whether the client has closed its connection. */
  readonly isGone: () => boolean;
};

export type HashLimits = Pick<Limits, 'hashesAtOnceMax' | 'hashesWaitingMax' | 'hashesPerClientMax'>;

export type HashQueue = {
  /**
   * Runs a task when its turn comes.
   * @throws Fault `overloaded`, before the task runs, if too many wait or the client is gone when its turn comes.
   */
  readonly inTurn: <T>(client: HashClient, task: () => Promise<T>) => Promise<T>;
};

type Waiting = { readonly client: HashClient; readonly start: () => void; readonly reject: () => void };

export function hashQueue({ hashesAtOnceMax, hashesWaitingMax, hashesPerClientMax }: HashLimits): HashQueue {
  const queues: Readonly<Record<'known' | 'strangers', Waiting[]>> = { known: [], strangers: [] };
  /** Hashes that wait or are computed, by client. */
  const perClient = new Map<string, number>();
  let running = 0;

  const count = (client: HashClient, change: number): void => {
    const name = nameOf(client);
    const left = (perClient.get(name) ?? 0) + change;
    if (left === 0) perClient.delete(name);
    else perClient.set(name, left);
  };

  const takeNext = (): Waiting | undefined => {
    for (const queue of [queues.known, queues.strangers])
      for (let next = queue.shift(); next; next = queue.shift()) {
        if (!next.client.isGone()) return next;
        next.reject();
      }
    return undefined;
  };

  const removeGone = (queue: Waiting[]): void => {
    const waiting = queue.splice(0);
    for (const each of waiting) {
      if (each.client.isGone()) each.reject();
      else queue.push(each);
    }
  };

  const waitForTurn = async (client: HashClient): Promise<void> => {
    const queue = client.isKnown ? queues.known : queues.strangers;
    if (queue.length >= hashesWaitingMax) removeGone(queue);
    if (queue.length >= hashesWaitingMax) throw overloaded();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    queue.push({ client, start: resolve, reject: () => reject(overloaded()) });
    await promise;
  };

  return {
    async inTurn(client, task) {
      if ((perClient.get(nameOf(client)) ?? 0) >= hashesPerClientMax) throw overloaded();
      count(client, 1);
      try {
        if (running >= hashesAtOnceMax) await waitForTurn(client);
        else running += 1;
        try {
          return await task();
        } finally {
          // The next one takes over the place.
          const next = takeNext();
          if (next) next.start();
          else running -= 1;
        }
      } finally {
        count(client, -1);
      }
    },
  };
}

function nameOf({ isKnown, key }: HashClient): string {
  return `${isKnown ? 'known' : 'stranger'} ${key}`;
}

function overloaded(): Fault {
  return new Fault('overloaded', { retryAfterSeconds: 5 });
}
