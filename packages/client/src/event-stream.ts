/** The stream of events (server-sent events), which continues after the last event when a connection ends. */

import { ConnectionError, LargesseError, isTemporary } from './errors.ts';
import type { ListEventsResult, WebhookEvent } from './generated/types.ts';
import { nextQueryOf } from './list.ts';
import { pause, startDeadline } from './time.ts';
import type { Transport } from './transport.ts';

/**
 * The events, each once and in the order of their commits, for as long as it is read. A connection that ends is opened again.
 * It throws an `ApiError` that another attempt does not change: for example `events-erased`, or 401 for a revoked token.
 */
export type EventStream = AsyncIterable<WebhookEvent>;

export interface StreamOptions {
  /** Ends the stream, which throws the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** A connection without a byte for this time is opened again, in ms. The service sends one every 15 seconds. */
  idleMs?: number | undefined;
}

const lineCharactersMax = 4 * 1_024 * 1_024;
const paths = { list: '/events', stream: '/events/stream' } as const;

/** @param after the id of an event; `latest` and undefined: only later events. */
export async function* streamOf(
  transport: Transport,
  after: number | 'latest' | undefined,
  { signal, idleMs = 45_000 }: StreamOptions,
): AsyncGenerator<WebhookEvent, void, undefined> {
  // The place is known before the first connection, so that an event before the first message is not missed.
  let last = typeof after === 'number' ? after : await latestEvent(transport, signal);
  for (let failures = 0; ;) {
    signal?.throwIfAborted();
    let failure: unknown;
    try {
      for await (const event of connect(transport, last, { signal, idleMs })) {
        failures = 0;
        last = event.id;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isTemporary(error)) throw error;
      failure = error;
    }
    failures += 1;
    await pause(transport.pauseAfter(failures, failure), signal);
  }
}

/** The id of the newest event; undefined: the store has none. */
async function latestEvent(transport: Transport, signal?: AbortSignal): Promise<number | undefined> {
  const query = new URLSearchParams({ after: 'latest' });
  const { response } = await transport.send(listRequest(query, signal));
  const after = nextQueryOf(response)?.get('after');
  return after === null || after === undefined ? undefined : Number(after);
}

function listRequest(query: URLSearchParams, signal: AbortSignal | undefined) {
  return { method: 'GET', template: paths.list, path: paths.list, query, signal };
}

/** The events of one connection. */
async function* connect(
  transport: Transport,
  last: number | undefined,
  { signal, idleMs }: { readonly signal: AbortSignal | undefined; readonly idleMs: number },
): AsyncGenerator<WebhookEvent, void, undefined> {
  const deadline = startDeadline(idleMs, signal);
  const query = new URLSearchParams(last === undefined ? {} : { after: String(last) });
  try {
    const response = await transport.open({
      method: 'GET',
      template: paths.stream,
      path: paths.stream,
      query,
      signal: deadline.signal,
    });
    const messages = eventsIn(response, () => deadline.restart());
    if (last !== undefined) return yield* messages;
    // Without a last event the stream starts now. The first event of the store may have been before.
    let events = await firstEvents(transport, signal);
    if (events.length === 0) {
      await messages.next();
      events = await firstEvents(transport, signal);
    }
    yield* events;
  } finally {
    deadline.abort();
  }
}

/** The first events of a store that had none. */
async function firstEvents(transport: Transport, signal?: AbortSignal): Promise<WebhookEvent[]> {
  const { text } = await transport.send(listRequest(new URLSearchParams(), signal));
  return (JSON.parse(text) as ListEventsResult).events as WebhookEvent[];
}

/** The events in the body of a response. `onBytes` runs whenever something has arrived. */
async function* eventsIn(
  response: Response,
  onBytes: () => void,
): AsyncGenerator<WebhookEvent, void, undefined> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      throw new ConnectionError(error, {
        request: `GET ${paths.stream}`,
        attempts: 1,
        idempotencyKey: undefined,
      });
    }
    if (part.done) return;
    onBytes();
    const [first = '', ...others] = decoder.decode(part.value, { stream: true }).split('\n');
    const lines = [rest + first, ...others];
    rest = lines.pop() ?? '';
    if (rest.length > lineCharactersMax) throw new LargesseError('an event of the stream is too long');
    // The JSON of an event is one line. The other lines repeat its id and type, or keep the connection open.
    for (const line of lines)
      if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as WebhookEvent;
  }
}
