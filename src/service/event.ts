/** Events as they are read: after one another, and told once more. */

import type { Context } from '../context.ts';
import type { WrittenEvent } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import type { Delivery } from '../domain/webhook.ts';
import { findEvent, findLastEventId, listEventsAfter, listFirstEvents } from '../storage/event.ts';
import type { Script } from '../storage/sql.ts';
import { findDelivery, requeueDelivery } from '../storage/webhook-delivery.ts';
import { listWebhooks } from '../storage/webhook.ts';

/** @throws Fault `not-found` if the store has no such event. */
export function* showEvent(storeId: number, id: number): Script<WrittenEvent> {
  const event = yield* findEvent(storeId, id);
  if (!event) throw new Fault('not-found');
  return event;
}

/**
 * The events behind the one with the id `after`, in the order of their commits; null: from the first one on. Nothing
 * is skipped: what is committed later comes later.
 * @throws Fault `invalid-query` if the store has no such event.
 */
export function* listEvents(
  storeId: number,
  { after, limit }: { readonly after: number | null; readonly limit: number },
): Script<readonly WrittenEvent[]> {
  if (after === null) return yield* listFirstEvents(storeId, limit);
  const events = yield* listEventsAfter(storeId, { after, limit });
  if (events.length === 0 && !(yield* findEvent(storeId, after)))
    throw new Fault('invalid-query', { errors: { after: ['names no event'] } });
  return events;
}

/** Where somebody starts who wants what comes from now on: the last event, or null where there is none yet. */
export function* findEnd(storeId: number): Script<number | null> {
  return (yield* findLastEventId(storeId)) ?? null;
}

/**
 * Tells an event once more: to one webhook, or to every active one that wants its kind.
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
  const webhooks = (yield* listWebhooks(storeId)).map(({ webhook }) => webhook);
  const named = webhooks.filter(({ id }) => id === webhookId);
  if (webhookId !== null && named.length === 0)
    throw new Fault('invalid-parameter', { errors: { webhook_id: ['names no webhook'] } });
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
