/**
 * Events as they happen: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A stream reads from the database behind the last event that it told, no more than its client takes, so that it
 * holds nothing in memory and a client that comes back goes on where it was. A client that takes nothing for a while
 * is cut off; so is one whose token works no more.
 */

import { Readable } from 'node:stream';
import { eventJson, type WrittenEvent } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { isStillAllowed } from '../service/caller.ts';
import { listEvents } from '../service/event.ts';
import type { Storage } from '../storage/storage.ts';
import type { Caller } from './auth.ts';

export type EventStreams = {
  /**
   * A stream of the caller's events behind the one with the id `after`; null: from the store's first one on.
   * @throws Fault `overloaded` if there are as many as there may be.
   */
  open(caller: Caller, after: number | null): Readable;
  /** Ends all of them, when the service is stopped. */
  close(): void;
};

type StreamsOptions = {
  readonly storage: Storage;
  readonly onCommit: (listener: () => void) => () => void;
  readonly streamsMax: number;
  /** How long a client may take nothing. */
  readonly patienceMs?: number;
  /** How often it is seen whether it has, and whether its token still works. */
  readonly judgedEveryMs?: number;
};

const eventsAtOnce = 100;
/** Of all stores' streams together, one store's. */
const shareOfStore = 0.25;
/** How often a stream looks for what other processes have committed, and how often at most for what this one has. */
const pollMs = 1_000;
const restMs = 50;
const heartbeatMs = 15_000;
/** What the client is told to wait before it comes back. */
const retryMs = 2_000;

export function eventStreams(options: StreamsOptions): EventStreams {
  const open = new Map<Readable, number>();
  return {
    open(caller, after) {
      const ofStore = [...open.values()].filter((storeId) => storeId === caller.store.id).length;
      if (open.size >= options.streamsMax || ofStore >= options.streamsMax * shareOfStore)
        throw new Fault('overloaded', { retryAfterSeconds: 5 });
      const stream = openStream(options, caller, after);
      open.set(stream, caller.store.id);
      stream.once('close', () => open.delete(stream));
      return stream;
    },
    close() {
      for (const stream of open.keys()) stream.push(null);
    },
  };
}

function openStream(
  { storage, onCommit, patienceMs = 30_000, judgedEveryMs = 5_000 }: StreamsOptions,
  caller: Caller,
  after: number | null,
): Readable {
  const { store } = caller;
  let last = after;
  /** Whether the client takes more, and since when it does not. */
  let isWanted = false;
  let refusedAt = performance.now();
  let isLooking = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let rest: NodeJS.Timeout | undefined;

  const stream = new Readable({
    read() {
      isWanted = true;
      look();
    },
    destroy(error, done) {
      clearTimeout(rest);
      for (const timer of timers) clearInterval(timer);
      unsubscribe();
      done(error);
    },
  });
  const tell = (text: string): void => {
    if (stream.destroyed || stream.readableEnded) return;
    isWanted = stream.push(text);
    if (!isWanted) refusedAt = performance.now();
  };

  const look = (): void => {
    if (!isWanted || isLooking || stream.destroyed) return;
    clearTimeout(rest);
    const restNowMs = lookedAt + restMs - performance.now();
    if (restNowMs > 0) {
      rest = setTimeout(look, restNowMs);
      return;
    }
    isLooking = true;
    storage
      .read(() => listEvents(store.id, { after: last, limit: eventsAtOnce }))
      .then(
        (events) => {
          for (const event of events) tell(messageOf(event, store.domain));
          last = events.at(-1)?.id ?? last;
          // Where there were so many there may be more at once.
          lookedAt = events.length === eventsAtOnce ? Number.NEGATIVE_INFINITY : performance.now();
          return events.length === eventsAtOnce;
        },
        // The database cannot be asked at the moment: the next look asks again.
        () => false,
      )
      .then((hasMore) => {
        isLooking = false;
        if (hasMore) look();
      })
      .catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  };

  const beat = (): void => {
    if (isWanted) tell(': \n\n');
  };
  const judge = (): void => {
    if (!isWanted && performance.now() - refusedAt >= patienceMs) stream.destroy();
    storage
      .read(() => isStillAllowed({ storeId: store.id, tokenId: caller.tokenId }))
      .then(
        (isAllowed) => {
          if (!isAllowed && !stream.destroyed) stream.push(null);
        },
        () => undefined,
      )
      .catch(() => undefined);
  };
  const timers = [
    setInterval(look, pollMs),
    setInterval(beat, heartbeatMs),
    setInterval(judge, judgedEveryMs),
  ].map((timer) => timer.unref());
  const unsubscribe = onCommit(look);
  tell(`retry: ${retryMs}\n\n`);
  return stream;
}

function messageOf(event: WrittenEvent, store: string): string {
  // JSON has no line breaks of its own.
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event, store)}\n\n`;
}
