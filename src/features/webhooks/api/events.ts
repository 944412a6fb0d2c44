/** Events: list, stream and redeliver them. */

import { Readable } from 'node:stream';
import Type from 'typebox';
import { eventJson } from '../../../core/events/domain/event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { eventSchema } from '../domain/event-schemas.ts';
import { deliverySchema } from '../domain/webhook-schemas.ts';
import { deliveryRecordOf } from '../domain/webhook-record.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { eventStreamsTool } from '../http/event-stream.ts';
import { streamHeaders } from '../../../http/streams.ts';
import { findEnd, listPublishedEvents as findEvents, redeliver, showEvent } from '../service/event.ts';
import * as examples from '../../../api/examples.ts';
import { field, integerFromForm } from '../../../api/field.ts';
import * as fields from '../../../core/cards/api/fields.ts';
import { limit, limitDefault, pageLink } from '../../../api/list.ts';
import { read, write } from '../../../api/operation.ts';
import { stream } from '../../../api/operation-stream.ts';
import { StoredJson } from '../../../api/response.ts';

type Start = number | 'latest';

const after = field<Start>(
  Type.Unsafe({
    anyOf: [{ type: 'integer', minimum: 1 }, { const: 'latest' }],
    description:
      'Only events committed after the event with this id. `latest`: only events committed from now on.',
  }),
  (value) =>
    value === 'latest' || Number.isSafeInteger(value)
      ? accepted(value as Start)
      : rejected('must be the id of an event, or latest'),
  integerFromForm,
);

export const listEvents = read({
  id: 'listEvents',
  path: '/events',
  scopes: ['read_events'],
  tag: 'Events',
  summary: 'List events',
  description:
    'Returns events in the order in which they were committed, oldest first. `Link` has the page after the last event, including events that are committed later: a client that follows it receives every event once, in order. `after=latest` returns no events and a `Link` to the events committed from now on, also for a store without events. An event can appear shortly after the response to its change, while an earlier change is being committed. Events are stored for a time that the operator sets, 400 days by default. If the event in `after` has been erased, the response is 410 `events-erased`, so that a client notices that it has missed events: it reads the present state, and continues with `after=latest`.',
  query: { limit, after },
  response: {
    description: 'A page of events.',
    members: { events: Type.Array(eventSchema) },
    example: { events: [examples.event] },
    headers: ['Link'],
  },
  errors: ['events-erased'],
  sample: { query: `after=${examples.event.id}&limit=100` },
  *run({ store, query: { limit: size = limitDefault, after: start = null }, requestContext }) {
    const isLatest = start === 'latest';
    const events = isLatest ? [] : yield* findEvents(store.id, { after: start, limit: size });
    const last = isLatest ? yield* findEnd(store.id) : (events.at(-1)?.id ?? start);
    // There is always a next page, for later events. Before the store's first event, it is the first page.
    const link = pageLink(requestContext, `limit=${size}${last === null ? '' : `&after=${last}`}`, 'next');
    const records = events.map((event) => eventJson(event, store.domain));
    return { body: new StoredJson(`{"events":[${records.join(',')}]}`), headers: { link } };
  },
});

export const streamEvents = stream({
  id: 'streamEvents',
  path: '/events/stream',
  scopes: ['read_events'],
  tag: 'Events',
  summary: 'Stream events',
  description:
    'Server-sent events: `id` is the event’s id, `event` its type, `data` the event as JSON. A client that reconnects with `Last-Event-ID` continues after that event and receives every later one; without it, the stream starts with the next event. A comment every 15 seconds keeps the connection open. The stream ends when the service stops, and about a second after the token is revoked: it returns no event that was written after that. The server closes it if the client reads nothing for half a minute. A store can have 16 streams at once per process, and a token 8 of them; at the limit, a stream whose client reads nothing is closed for a new one.',
  query: { after },
  takesLastEventId: true,
  response: {
    description: 'The stream.',
    type: 'text/event-stream',
    example: `id: ${examples.event.id}\nevent: gift_card.redeemed\ndata: {"id":${examples.event.id},"type":"gift_card.redeemed",…}\n\n`,
  },
  errors: ['events-erased'],
  async open(requestContext, query) {
    const { storage, caller, request, tools } = requestContext;
    const headers = streamHeaders;
    if (request.method === 'HEAD') return { status: 200, headers, stream: Readable.from([]) };
    const { id: storeId } = caller.store;
    const start = lastEventIdOf(requestContext) ?? query.after ?? 'latest';
    const from = start === 'latest' ? await storage.read(() => findEnd(storeId)) : start;
    // An unknown event is rejected here, while an error response is possible.
    if (from !== null) await storage.read(() => findEvents(storeId, { after: from, limit: 1 }));
    return { status: 200, headers, stream: tools.of(eventStreamsTool).open(caller, from) };
  },
});

/** The last event that a reconnecting client has received. @throws Fault `invalid-query`. */
function lastEventIdOf({ request }: RequestContext): number | undefined {
  const header = request.headers['last-event-id'];
  if (typeof header !== 'string' || header === '') return undefined;
  const id = integerFromForm(header);
  if (Number.isSafeInteger(id)) return id as number;
  throw new Fault('invalid-query', { errors: { after: ['must be the id of an event'] } });
}

export const retrieveEvent = read({
  id: 'retrieveEvent',
  path: '/events/:event_id',
  scopes: ['read_events'],
  tag: 'Events',
  summary: 'Retrieve an event',
  description: 'Returns the event as webhooks receive it.',
  response: {
    description: 'The event.',
    members: { event: eventSchema },
    example: { event: examples.event },
  },
  errors: ['not-found'],
  *run({ store, ids }) {
    const event = yield* showEvent(store.id, ids.event_id);
    return { body: new StoredJson(`{"event":${eventJson(event, store.domain)}}`) };
  },
});

export const redeliverEvent = write({
  id: 'redeliverEvent',
  method: 'POST',
  path: '/events/:event_id/redeliver',
  scopes: ['manage_webhooks'],
  tag: 'Events',
  summary: 'Redeliver an event',
  description:
    'Sends the event again to one webhook, or to every active webhook that subscribes to its type, delivered before or not. The message and its `webhook-id` are the same. The attempts start over.',
  body: {
    name: 'Redeliver',
    wrapper: 'event',
    fields: { webhook_id: fields.webhookId },
    example: { webhook_id: examples.webhook.id },
  },
  response: {
    status: 202,
    description: 'The queued deliveries, one per webhook.',
    members: { deliveries: Type.Array(deliverySchema) },
    example: { deliveries: [examples.delivery] },
  },
  errors: ['not-found', 'webhook-paused'],
  sample: { body: null },
  *run({ ctx, store, ids, body: { webhook_id: webhookId = null } }) {
    const deliveries = yield* redeliver(ctx, { storeId: store.id, eventId: ids.event_id, webhookId });
    return { body: { deliveries: deliveries.map(deliveryRecordOf) } };
  },
});
