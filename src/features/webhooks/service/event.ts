/** Lists and redelivers events. */

import type { Context } from '../../../core/storage/context.ts';
import type { WrittenEvent } from '../../../core/events/domain/event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Delivery } from '../domain/webhook.ts';
import {
  findEvent,
  findLastEventId,
  listEventsAfter,
  listFirstEvents,
} from '../../../core/events/storage/event.ts';
import { findErasedThrough } from '../storage/retention.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findDelivery, requeueDelivery } from '../storage/webhook-delivery.ts';
import { findWebhooks } from '../storage/webhook.ts';

/** @throws Fault `not-found` if the store has no such event. */
export function* showEvent(storeId: number, id: number): Script<WrittenEvent> {
  const event = yield* findEvent(storeId, id);
  if (!event) throw new Fault('not-found');
  return event;
}

/**
 * The events after the one with the id `after`, in the order of their commits; null: from the first one. A later commit
 * always comes later, so a caller that pages through the events does not miss any.
 * @throws Fault `events-erased` if the event is older than all that are stored; `invalid-query` if the store has no such
 * event.
 */
export function* listPublishedEvents(
  storeId: number,
  { after, limit }: { readonly after: number | null; readonly limit: number },
): Script<readonly WrittenEvent[]> {
  if (after === null) return yield* listFirstEvents(storeId, limit);
  const events = yield* listEventsAfter(storeId, { after, limit });
  if (events.length === 0 && !(yield* findEvent(storeId, after))) {
    if (after <= (yield* findErasedThrough(storeId))) throw new Fault('events-erased');
    throw new Fault('invalid-query', { errors: { after: ['must be the id of an event'] } });
  }
  return events;
}

/** The id of the last event, from which a caller can follow new events; null if there is none. */
export function* findEnd(storeId: number): Script<number | null> {
  return (yield* findLastEventId(storeId)) ?? null;
}

/**
 * Redelivers an event to one webhook, or to every active webhook with a matching pattern.
 * @throws Fault `not-found` if there is no such event, `invalid-parameter` if there is no such webhook,
 * `webhook-paused`.
 */
export function* redeliver(
  ctx: Context,
  {
    storeId,
    eventId,
    webhookId,
  }: { readonly storeId: number; readonly eventId: number; readonly webhookId: number | null },
): Script<readonly Delivery[]> {
  const event = yield* showEvent(storeId, eventId);
  const webhooks = (yield* findWebhooks(storeId)).map(({ webhook }) => webhook);
  const named = webhooks.filter(({ id }) => id === webhookId);
  if (webhookId !== null && named.length === 0)
    throw new Fault('invalid-parameter', { errors: { webhook_id: ['must be the id of a webhook'] } });
  if (named.some(({ paused }) => paused)) throw new Fault('webhook-paused');
  const [group = ''] = event.type.split('.', 1);
  const wanted = new Set(['*', `${group}.*`, event.type]);
  const targets =
    webhookId === null
      ? webhooks.filter(({ paused, patterns }) => !paused && patterns.some((pattern) => wanted.has(pattern)))
      : named;
  const deliveries: Delivery[] = [];
  for (const { id } of targets) {
    const key = { storeId, webhookId: id, eventId };
    yield* requeueDelivery(key, ctx.clock.earliest());
    const delivery = yield* findDelivery(key);
    if (delivery) deliveries.push(delivery);
  }
  return deliveries;
}
