/**
 * Works for the payment providers of stores side by side, so that one that responds slowly, or not at all, delays no other.
 * Providers whose last request has failed have places of their own, because each of their requests can take until its timeout.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { ProviderPlace } from '../storage/provider.ts';

/** Providers at the same time, by whether their last request has failed. */
const turnsMax = { working: 16, failing: 8 } as const;

/** The pause between two searches for other work while a provider responds slowly. */
export const searchMs = 1_000;

type Work = {
  /** Lists providers with work, the most urgent first. */
  readonly list: (wish: {
    readonly isFailing: boolean;
    readonly limit: number;
  }) => Promise<readonly ProviderPlace[]>;
  /**
   * Does a part of the work of one provider.
   * @returns how much was done; 0: others do it, or it cannot be done now.
   */
  readonly take: (place: ProviderPlace, isFailing: boolean) => Promise<number>;
  /** The wait before a provider of which nothing could be done is tried again; infinity: until the next call. */
  readonly restMs: number;
  /** No further part is begun. */
  readonly isStopping: () => boolean;
};

type Turn = { readonly isFailing: boolean; readonly ended: Promise<void> };

/** Ends when nothing is left that could be done. @returns how much was done. @throws the first error, after all have ended. */
export async function workSideBySide({ list, take, restMs, isStopping }: Work): Promise<number> {
  const turns = new Map<string, Turn>();
  /** Providers of which nothing could be done, with the time (of `performance.now`) at which they are tried again. */
  const resting = new Map<string, number>();
  const errors: unknown[] = [];
  let done = 0;

  const begin = (place: ProviderPlace, isFailing: boolean): void => {
    const name = `${place.storeId} ${place.kind} ${place.isTest}`;
    if (turns.has(name) || (resting.get(name) ?? 0) > performance.now()) return;
    resting.delete(name);
    const ended = take(place, isFailing)
      .then(
        (count) => {
          done += count;
          if (count === 0) resting.set(name, performance.now() + restMs);
        },
        (error: unknown) => {
          errors.push(error);
          resting.set(name, Number.POSITIVE_INFINITY);
        },
      )
      .finally(() => turns.delete(name));
    turns.set(name, { isFailing, ended });
  };

  for (;;) {
    for (const isFailing of [false, true]) {
      const inProgress = [...turns.values()].filter((turn) => turn.isFailing === isFailing).length;
      const room = turnsMax[isFailing ? 'failing' : 'working'] - inProgress;
      if (room <= 0 || isStopping()) continue;
      // The list can contain providers in progress and providers that rest.
      const found = await list({ isFailing, limit: room + turns.size + resting.size });
      let left = room;
      for (const place of found) {
        const before = turns.size;
        if (left > 0) begin(place, isFailing);
        if (turns.size > before) left -= 1;
      }
    }
    if (turns.size === 0) break;
    const pause = new AbortController();
    await Promise.race([
      ...[...turns.values()].map(({ ended }) => ended),
      wait(searchMs, undefined, { signal: pause.signal }).catch(() => undefined),
    ]);
    pause.abort();
  }
  if (errors.length > 0) throw errors[0];
  return done;
}
