/**
 * Streams of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), and their limits.
 *
 * A stream reads messages only as its client reads them, and keeps none in memory. A client that reads nothing for
 * `patienceMs` is disconnected. The right to read is checked in the same snapshot as the messages.
 */

import { Readable } from 'node:stream';
import { Fault } from '../core/domain/fault.ts';

/** The caller that opens a stream. */
type StreamOwner = {
  readonly storeId: number;
  /** One of the store's clients. */
  readonly clientId: number | null;
};

/** The source of a stream’s messages. */
type StreamSource = {
  /**
   * Reads the next messages, at most `limit`, as the stream sends them; 0: only whether the owner is still allowed.
   * `hasMore`: another read is due at once.
   */
  readonly read: (limit: number) => Promise<{
    readonly isAllowed: boolean;
    readonly messages: readonly string[];
    readonly hasMore: boolean;
  }>;
  /** Called when the messages of a read are sent. */
  readonly sent?: () => void;
};

export type Streams = {
  /**
   * Opens a stream. If the client, the store or the service has its maximum of streams, the stream is closed whose
   * client has stalled for longest.
   * @throws Fault `overloaded` if every client of those streams is reading.
   */
  open(owner: StreamOwner, source: StreamSource): Readable;
  /** Ends all streams when the service stops. */
  close(): void;
};

export type StreamsOptions = {
  readonly onCommit: (listener: () => void) => () => void;
  readonly streamsMax: number;
  /** The longest time that a client can stall before its stream is closed. */
  readonly patienceMs?: number;
  /** The interval of checks for stalled clients, changes of other processes and ended rights. */
  readonly pollMs?: number;
  /** The minimum time between two reads for new messages. */
  readonly pauseMs?: number;
};

const messagesAtOnce = 100;
/** The maximum part of all streams for one store. */
const shareOfStore = 0.25;
/** The maximum part of a store's streams for one client. */
const shareOfClient = 0.5;
/** A stream is closed for another one only if its client has stalled for this time. */
const stalledMs = 1_000;
const heartbeatMs = 15_000;
/** The reconnection time that clients receive. */
const retryMs = 2_000;

export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would otherwise buffer the stream.
  'x-accel-buffering': 'no',
} as const;

export function limitedStreams(options: StreamsOptions): Streams {
  const open = new Set<OpenStream>();
  const ofStoreMax = options.streamsMax * shareOfStore;

  /** The streams of which one must be closed before the owner can open another; undefined if none must be closed. */
  const streamsAtLimit = ({ storeId, clientId }: StreamOwner): readonly OpenStream[] | undefined => {
    const ofStore = [...open].filter(({ owner }) => owner.storeId === storeId);
    const ofClient = ofStore.filter(({ owner }) => owner.clientId === clientId);
    if (ofClient.length >= Math.max(1, ofStoreMax * shareOfClient)) return ofClient;
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
    open(owner, source) {
      const streams = streamsAtLimit(owner);
      if (streams) makeRoom(streams);
      const opened = openStream(options, owner, source);
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
  readonly owner: StreamOwner;
  /** The time (ms) for which the client has not read pending data. */
  readonly stalledForMs: () => number;
  /** Ends the stream after the messages that were already sent. */
  readonly end: () => void;
};

function openStream(
  { onCommit, patienceMs = 30_000, pollMs = 1_000, pauseMs = 50 }: StreamsOptions,
  owner: StreamOwner,
  source: StreamSource,
): OpenStream {
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
      readMessages();
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

  const readMessages = (): void => {
    if (isOver()) return;
    isDue = true;
    if (isReading) return;
    clearTimeout(pause);
    const pauseNowMs = readAt + pauseMs - performance.now();
    if (pauseNowMs > 0) {
      pause = setTimeout(readMessages, pauseNowMs);
      return;
    }
    isReading = true;
    isDue = false;
    const limit = isClientReading ? messagesAtOnce : 0;
    source
      .read(limit)
      .then(
        ({ isAllowed, messages, hasMore }) => {
          if (isOver()) return;
          if (!isAllowed) return endImmediately();
          for (const message of messages) send(message);
          source.sent?.();
          isDue ||= isClientReading && (hasMore || limit === 0);
          readAt = hasMore ? Number.NEGATIVE_INFINITY : performance.now();
        },
        // The database is unavailable. The next read retries.
        () => void (readAt = performance.now()),
      )
      .then(() => {
        isReading = false;
        if (isDue) readMessages();
      })
      .catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  };

  const sendHeartbeat = (): void => {
    if (isClientReading && !isOver()) send(': \n\n');
  };
  const poll = (): void => {
    if (!isClientReading && performance.now() - rejectedAt >= patienceMs) stream.destroy();
    readMessages();
  };
  const timers = [setInterval(poll, pollMs), setInterval(sendHeartbeat, heartbeatMs)].map((timer) =>
    timer.unref(),
  );
  const unsubscribe = onCommit(readMessages);
  send(`retry: ${retryMs}\n\n`);
  const stalledForMs = (): number => (isClientReading ? 0 : performance.now() - rejectedAt);
  return { stream, owner, stalledForMs, end };
}
