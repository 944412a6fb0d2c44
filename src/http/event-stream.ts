/**
 * Event streams: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A stream reads events after the last one that it sent, and only as many as its client reads. It keeps no events in
 * memory, and a reconnecting client continues after its last event. A client that reads nothing for `patienceMs` is
 * disconnected.
 *
 * The token is checked in the same snapshot as the events, so an event written after its revocation is never sent.
 */

import { Readable } from 'node:stream';
import { eventJson, type WrittenEvent } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { isStillAllowed } from '../service/caller.ts';
import { listPublishedEvents } from '../service/event.ts';
import { resolved, parallel } from '../storage/sql.ts';
import type { Storage } from '../storage/storage.ts';
import type { Caller } from './auth.ts';

export type EventStreams = {
  /**
   * Opens a stream of the caller's events after the event `after`; null: from the store's first event.
   * If the token, the store or the service has its maximum of streams, the stream is closed whose client has stalled
   * for longest.
   * @throws Fault `overloaded` if every client of those streams is reading.
   */
  open(caller: Caller, after: number | null): Readable;
  /** Ends all streams when the service stops. */
  close(): void;
};

type StreamsOptions = {
  readonly storage: Storage;
  readonly onCommit: (listener: () => void) => () => void;
  readonly streamsMax: number;
  /** How long a client can stall before its stream is closed. */
  readonly patienceMs?: number;
  /** The interval of checks for stalled clients, events of other processes and revoked tokens. */
  readonly pollMs?: number;
};

const eventsAtOnce = 100;
/** The maximum part of all streams for one store. */
const shareOfStore = 0.25;
/** The maximum part of a store's streams for one token. */
const shareOfToken = 0.5;
/** A stream is closed for another one only if its client has stalled for this time. */
const stalledMs = 1_000;
/** The minimum time between two reads for new events. */
const pauseMs = 50;
const heartbeatMs = 15_000;
/** The reconnection time that clients receive. */
const retryMs = 2_000;

export function eventStreams(options: StreamsOptions): EventStreams {
  const open = new Set<OpenStream>();
  const ofStoreMax = options.streamsMax * shareOfStore;

  /** The streams of which one must be closed before the caller can open another; undefined if none must be closed. */
  const streamsAtLimit = ({ store, tokenId }: Caller): readonly OpenStream[] | undefined => {
    const ofStore = [...open].filter(({ caller }) => caller.store.id === store.id);
    const ofToken = ofStore.filter(({ caller }) => caller.tokenId === tokenId);
    if (ofToken.length >= Math.max(1, ofStoreMax * shareOfToken)) return ofToken;
    if (ofStore.length >= ofStoreMax) return ofStore;
    return open.size >= options.streamsMax ? [...open] : undefined;
  };

  const makeRoom = (streams: readonly OpenStream[]): void => {
    const [slowest] = streams.toSorted((left, right) => right.stalledForMs() - left.stalledForMs());
    if (!slowest || slowest.stalledForMs() < stalledMs)
      throw new Fault('overloaded', { retryAfterSeconds: 5 });
    open.delete(slowest);
    slowest.stream.destroy();
  };

  return {
    open(caller, after) {
      const streams = streamsAtLimit(caller);
      if (streams) makeRoom(streams);
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
  /** How long the client has not read pending data, in ms. */
  readonly stalledForMs: () => number;
  /** Ends the stream after the events that were already sent. */
  readonly end: () => void;
};

function openStream(
  { storage, onCommit, patienceMs = 30_000, pollMs = 1_000 }: StreamsOptions,
  caller: Caller,
  after: number | null,
): OpenStream {
  const { store, tokenId } = caller;
  let last = after;
  /** Whether the client is reading. If not, `rejectedAt` is when it stopped. */
  let isClientReading = false;
  let rejectedAt = performance.now();
  let isReading = false;
  /** Whether another read is due after the one in progress. */
  let isDue = false;
  let readAt = Number.NEGATIVE_INFINITY;
  let pause: NodeJS.Timeout | undefined;
  let hasEnd = false;

  const stream = new Readable({
    read() {
      isClientReading = true;
      readEvents();
    },
    destroy(error, done) {
      clearTimeout(pause);
      for (const timer of timers) clearInterval(timer);
      unsubscribe();
      done(error);
    },
  });
  const send = (text: string): void => {
    isClientReading = stream.push(text);
    if (!isClientReading) rejectedAt = performance.now();
  };
  const isOver = (): boolean => hasEnd || stream.destroyed;
  const end = (): void => {
    if (isOver()) return;
    hasEnd = true;
    stream.push(null);
    // A client that does not read the rest is disconnected like any other.
    isClientReading = false;
    rejectedAt = performance.now();
  };
  const endImmediately = (): void => {
    // A client that is not reading now would not receive the end.
    if (isClientReading) end();
    else stream.destroy();
  };

  const readEvents = (): void => {
    if (isOver()) return;
    isDue = true;
    if (isReading) return;
    clearTimeout(pause);
    const pauseNowMs = readAt + pauseMs - performance.now();
    if (pauseNowMs > 0) {
      pause = setTimeout(readEvents, pauseNowMs);
      return;
    }
    isReading = true;
    isDue = false;
    const limit = isClientReading ? eventsAtOnce : 0;
    storage
      .read(() =>
        // One snapshot, so an event that was committed after a revocation is never read without it.
        parallel(
          isStillAllowed({ storeId: store.id, tokenId }),
          limit > 0 ? listPublishedEvents(store.id, { after: last, limit }) : resolved([]),
        ),
      )
      .then(
        ([isAllowed, events]) => {
          if (isOver()) return;
          if (!isAllowed) return endImmediately();
          for (const event of events) send(messageOf(event, store.domain));
          last = events.at(-1)?.id ?? last;
          const mayHaveMore = limit > 0 && events.length === limit;
          isDue ||= isClientReading && (mayHaveMore || limit === 0);
          readAt = mayHaveMore ? Number.NEGATIVE_INFINITY : performance.now();
        },
        // The database is unavailable. The next read retries.
        () => void (readAt = performance.now()),
      )
      .then(() => {
        isReading = false;
        if (isDue) readEvents();
      })
      .catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  };

  const sendHeartbeat = (): void => {
    if (isClientReading && !isOver()) send(': \n\n');
  };
  const poll = (): void => {
    if (!isClientReading && performance.now() - rejectedAt >= patienceMs) stream.destroy();
    readEvents();
  };
  const timers = [setInterval(poll, pollMs), setInterval(sendHeartbeat, heartbeatMs)].map((timer) =>
    timer.unref(),
  );
  const unsubscribe = onCommit(readEvents);
  send(`retry: ${retryMs}\n\n`);
  const stalledForMs = (): number => (isClientReading ? 0 : performance.now() - rejectedAt);
  return { stream, caller, stalledForMs, end };
}

function messageOf(event: WrittenEvent, store: string): string {
  // The JSON has no line breaks, which would end the data field.
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event, store)}\n\n`;
}
