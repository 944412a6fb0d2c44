/**
 * Events as they happen: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A stream reads from the database behind the last event that it told, no more than its client takes, so that it
 * holds nothing in memory and a client that comes back goes on where it was. A client that takes nothing for a while
 * is cut off. The token is checked in the read that returns the events, so that no event that was written after its
 * revocation reaches the client.
 */

import { Readable } from 'node:stream';
import { eventJson, type WrittenEvent } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { isStillAllowed } from '../service/caller.ts';
import { listEvents } from '../service/event.ts';
import { constant, together } from '../storage/sql.ts';
import type { Storage } from '../storage/storage.ts';
import type { Caller } from './auth.ts';

export type EventStreams = {
  /**
   * A stream of the caller's events behind the one with the id `after`; null: from the store's first one on.
   * Where there are as many as there may be, of the token, the store or all, the one whose client has taken nothing
   * for longest is cut off.
   * @throws Fault `overloaded` if there are as many as there may be and each client takes what there is.
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
  /** How often it is seen whether it has, what other processes have committed, and whether its token still works. */
  readonly pollMs?: number;
};

const eventsAtOnce = 100;
/** Of all stores' streams together, one store's. */
const shareOfStore = 0.25;
/** Of one store's streams, those of one token. */
const shareOfToken = 0.5;
/** How long a client has taken nothing whose stream makes room for another one. */
const stalledMs = 1_000;
/** How long a stream waits at least before it looks again for what this process has committed. */
const restMs = 50;
const heartbeatMs = 15_000;
/** What the client is told to wait before it comes back. */
const retryMs = 2_000;

export function eventStreams(options: StreamsOptions): EventStreams {
  const open = new Set<OpenStream>();
  const ofStoreMax = options.streamsMax * shareOfStore;

  /** The streams of which one has to go before the caller may have another; undefined: none. */
  const crowdOf = ({ store, tokenId }: Caller): readonly OpenStream[] | undefined => {
    const ofStore = [...open].filter(({ caller }) => caller.store.id === store.id);
    const ofToken = ofStore.filter(({ caller }) => caller.tokenId === tokenId);
    if (ofToken.length >= Math.max(1, ofStoreMax * shareOfToken)) return ofToken;
    if (ofStore.length >= ofStoreMax) return ofStore;
    return open.size >= options.streamsMax ? [...open] : undefined;
  };

  const makeRoom = (crowd: readonly OpenStream[]): void => {
    const [slowest] = crowd.toSorted((left, right) => right.stalledForMs() - left.stalledForMs());
    if (!slowest || slowest.stalledForMs() < stalledMs)
      throw new Fault('overloaded', { retryAfterSeconds: 5 });
    open.delete(slowest);
    slowest.stream.destroy();
  };

  return {
    open(caller, after) {
      const crowd = crowdOf(caller);
      if (crowd) makeRoom(crowd);
      const opened = openStream(options, caller, after);
      open.add(opened);
      opened.stream.once('close', () => open.delete(opened));
      return opened.stream;
    },
    close() {
      for (const { end } of open) end();
    },
  };
}

type OpenStream = {
  readonly stream: Readable;
  readonly caller: Caller;
  /** How long its client has taken nothing although there was something, in ms. */
  readonly stalledForMs: () => number;
  /** Ends it behind the events that were sent already. */
  readonly end: () => void;
};

function openStream(
  { storage, onCommit, patienceMs = 30_000, pollMs = 1_000 }: StreamsOptions,
  caller: Caller,
  after: number | null,
): OpenStream {
  const { store, tokenId } = caller;
  let last = after;
  /** Whether the client takes more, and since when it does not. */
  let isWanted = false;
  let refusedAt = performance.now();
  let isLooking = false;
  /** Whether something has happened since the look that is under way began. */
  let isDue = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let rest: NodeJS.Timeout | undefined;
  let hasEnd = false;

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
    isWanted = stream.push(text);
    if (!isWanted) refusedAt = performance.now();
  };
  const isOver = (): boolean => hasEnd || stream.destroyed;
  const end = (): void => {
    if (isOver()) return;
    hasEnd = true;
    stream.push(null);
    // A client that does not take what is left is cut off like any other.
    isWanted = false;
    refusedAt = performance.now();
  };
  const endAtOnce = (): void => {
    // A client that takes nothing now would not get to the end.
    if (isWanted) end();
    else stream.destroy();
  };

  const look = (): void => {
    if (isOver()) return;
    isDue = true;
    if (isLooking) return;
    clearTimeout(rest);
    const restNowMs = lookedAt + restMs - performance.now();
    if (restNowMs > 0) {
      rest = setTimeout(look, restNowMs);
      return;
    }
    isLooking = true;
    isDue = false;
    const limit = isWanted ? eventsAtOnce : 0;
    storage
      .read(() =>
        // One step, which sees one state: no event that is committed after a revocation is read without it.
        together(
          isStillAllowed({ storeId: store.id, tokenId }),
          limit > 0 ? listEvents(store.id, { after: last, limit }) : constant([]),
        ),
      )
      .then(
        ([isAllowed, events]) => {
          if (isOver()) return;
          if (!isAllowed) return endAtOnce();
          for (const event of events) tell(messageOf(event, store.domain));
          last = events.at(-1)?.id ?? last;
          const mayHaveMore = limit > 0 && events.length === limit;
          isDue ||= isWanted && (mayHaveMore || limit === 0);
          lookedAt = mayHaveMore ? Number.NEGATIVE_INFINITY : performance.now();
        },
        // The database cannot be asked at the moment: the next look asks again.
        () => void (lookedAt = performance.now()),
      )
      .then(() => {
        isLooking = false;
        if (isDue) look();
      })
      .catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  };

  const beat = (): void => {
    if (isWanted && !isOver()) tell(': \n\n');
  };
  const poll = (): void => {
    if (!isWanted && performance.now() - refusedAt >= patienceMs) stream.destroy();
    look();
  };
  const timers = [setInterval(poll, pollMs), setInterval(beat, heartbeatMs)].map((timer) => timer.unref());
  const unsubscribe = onCommit(look);
  tell(`retry: ${retryMs}\n\n`);
  const stalledForMs = (): number => (isWanted ? 0 : performance.now() - refusedAt);
  return { stream, caller, stalledForMs, end };
}

function messageOf(event: WrittenEvent, store: string): string {
  // JSON has no line breaks of its own.
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event, store)}\n\n`;
}
