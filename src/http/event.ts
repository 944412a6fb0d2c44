/** Events over HTTP: read one after another, as they happen, and told once more. */

import { Readable } from 'node:stream';
import { eventJson } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { deliveryRecordOf } from '../domain/webhook.ts';
import { findEnd, listEvents, redeliver, showEvent } from '../service/event.ts';
import type { Answer } from '../service/idempotency.ts';
import type { Exchange, Streamed } from './exchange.ts';
import { jsonHeaders, limitOf } from './history.ts';
import { readBody } from './money.ts';
import * as parameters from './parameters.ts';
import { idOf } from './reading.ts';

/** `GET /events` */
export async function getEvents(exchange: Exchange): Promise<Answer> {
  const { storage, caller, query, request } = exchange;
  const given = new Map(query);
  const limit = limitOf(given);
  const start = startIn(given);
  const { id: storeId } = caller.store;
  const { events, last } = await storage.read(function* () {
    if (start === 'latest') return { events: [], last: yield* findEnd(storeId) };
    const found = yield* listEvents(storeId, { after: start ?? null, limit });
    return { events: found, last: found.at(-1)?.id ?? start ?? null };
  });
  const path = request.url.split('?', 1)[0] ?? '';
  // Also behind the last one there is: what comes later is found there. Where there is none, every later one is new.
  const next = `<${path}?limit=${limit}${last === null ? '' : `&after=${last}`}>; rel="next"`;
  const told = events.map((event) => eventJson(event, caller.store.domain));
  return { status: 200, headers: { ...jsonHeaders, link: next }, body: `{"events":[${told.join(',')}]}` };
}

/** Where `after` has a client start: behind an event, or behind the newest one. @throws Fault `invalid-query`. */
function startIn(given: ReadonlyMap<string, string>): number | 'latest' | undefined {
  const text = given.get('after');
  if (text === undefined || text === 'latest') return text;
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(id)) return id;
  throw new Fault('invalid-query', { errors: { after: ['must be the id of an event, or latest'] } });
}

/** `GET /events/{event_id}` */
export async function getEvent(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const event = await storage.read(() => showEvent(caller.store.id, idOf(exchange, 'event_id')));
  return { status: 200, headers: jsonHeaders, body: `{"event":${eventJson(event, caller.store.domain)}}` };
}

/** `POST /events/{event_id}/redeliver` */
export async function postRedeliver(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'event', { webhook_id: parameters.webhookId });
  return exchange.write(body, function* () {
    const eventId = idOf(exchange, 'event_id');
    const { webhook_id: webhookId = null } = values();
    const deliveries = yield* redeliver(ctx, { storeId: caller.store.id, eventId, webhookId });
    return {
      status: 202,
      headers: jsonHeaders,
      body: JSON.stringify({ deliveries: deliveries.map(deliveryRecordOf) }),
    };
  });
}

/** `GET /events/stream` */
export async function streamEvents(exchange: Exchange): Promise<Streamed> {
  const { storage, caller, request, streams } = exchange;
  const { id: storeId } = caller.store;
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // nginx would collect them otherwise.
    'x-accel-buffering': 'no',
  };
  if (request.method === 'HEAD') return { status: 200, headers, stream: Readable.from([]) };
  const start = startOf(exchange) ?? 'latest';
  const after = start === 'latest' ? await storage.read(() => findEnd(storeId)) : start;
  // Refused here, where it can still be answered.
  if (after !== null) await storage.read(() => listEvents(storeId, { after, limit: 1 }));
  return { status: 200, headers, stream: streams.open(caller, after) };
}

/** The event that the client has told last: by its header when it comes back, or by its query. @throws Fault `invalid-query`. */
function startOf({ request, query }: Exchange): number | 'latest' | undefined {
  const header = request.headers['last-event-id'];
  if (typeof header !== 'string' || header === '') return startIn(new Map(query));
  const id = /^[1-9]\d{0,15}$/.test(header) ? Number(header) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new Fault('invalid-query', { errors: { after: ['names no event'] } });
  return id;
}
