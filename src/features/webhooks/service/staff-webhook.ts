/**
 * Webhooks that developers of a store change. The list of what staff do names them by the host: the rest of a URL can
 * contain a secret of the receiver.
 */

import { hostOf, type Delivery, type Webhook } from '../domain/webhook.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { StaffAction } from '../../../core/staff/storage/action.ts';
import { redeliver } from './event.ts';
import {
  addWebhook,
  changeWebhook,
  removeWebhook,
  replaceWebhookSecret,
  sendTestEvent,
  showWebhook,
  type WebhookWithSecret,
} from './webhook.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

type WebhookFields = Pick<Webhook, 'url' | 'patterns'>;

function entryOf(
  action: 'webhook-created' | 'webhook-changed' | 'webhook-deleted' | 'event-sent',
  webhook: Pick<Webhook, 'id' | 'url'>,
  details: StaffAction['details'] = {},
): Pick<StaffAction, 'action' | 'subjectId' | 'details'> {
  return { action, subjectId: webhook.id, details: { name: hostOf(webhook), ...details } };
}

/** Creates a webhook. @throws Fault `too-many-webhooks`, and as `assertMay` does. */
export function* registerWebhook(
  ctx: Context,
  by: ByStaff,
  webhook: WebhookFields & { readonly secret: Secret },
): Script<WebhookWithSecret> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => addWebhook(ctx, { storeId: by.store.id, ...webhook }),
    entryOf: (added) => entryOf('webhook-created', added.webhook),
  });
}

/**
 * Changes the URL and the events of a webhook.
 * @param version that of the form. @throws Fault `not-found`, `precondition-failed`, and as `assertMay` does.
 */
export function* editWebhook(
  ctx: Context,
  by: ByStaff,
  { id, version, fields }: { readonly id: number; readonly version: string; readonly fields: WebhookFields },
): Script<Webhook> {
  const key = { storeId: by.store.id, id };
  const { after } = yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    *change() {
      const before = yield* showWebhook(key.storeId, id);
      const changed = yield* changeWebhook(ctx, { ...key, versions: [version], changes: fields });
      return { before, after: changed };
    },
    entryOf({ before, after: changed }) {
      const names = [
        ...(changed.url === before.url ? [] : ['url']),
        ...(changed.patterns.join(' ') === before.patterns.join(' ') ? [] : ['events']),
      ];
      return names.length > 0 ? entryOf('webhook-changed', changed, { fields: names.join(', ') }) : null;
    },
  });
  return after;
}

/** Pauses or resumes a webhook. @throws Fault `not-found`, and as `assertMay` does. */
export function* pauseWebhook(ctx: Context, by: ByStaff, id: number, paused: boolean): Script<void> {
  const key = { storeId: by.store.id, id };
  yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    *change() {
      const { version } = yield* showWebhook(key.storeId, id);
      const changed = yield* changeWebhook(ctx, { ...key, versions: null, changes: { paused } });
      return { changed, isSame: changed.version === version };
    },
    // Another click has paused or resumed it.
    entryOf: ({ changed, isSame }) =>
      isSame ? null : entryOf('webhook-changed', changed, { [paused ? 'paused' : 'resumed']: true }),
  });
}

/** Replaces the secret of a webhook. @throws Fault `not-found`, and as `assertMay` does. */
export function* renewWebhookSecret(
  ctx: Context,
  by: ByStaff,
  { id, secret }: { readonly id: number; readonly secret: Secret },
): Script<WebhookWithSecret> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => replaceWebhookSecret(ctx, { storeId: by.store.id, id, versions: null, secret }),
    entryOf: ({ webhook }) => entryOf('webhook-changed', webhook, { rotated: true }),
  });
}

/** Deletes a webhook and the log of its deliveries. @throws Fault `not-found`, and as `assertMay` does. */
export function* discardWebhook(ctx: Context, by: ByStaff, id: number): Script<Webhook> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => removeWebhook({ storeId: by.store.id, id, versions: null }),
    entryOf: (webhook) => entryOf('webhook-deleted', webhook),
  });
}

/** Enqueues a test event for a webhook. @throws Fault `not-found`, `webhook-paused`, and as `assertMay` does. */
export function* sendTestTo(ctx: Context, by: ByStaff, webhook: Webhook): Script<Delivery> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => sendTestEvent(ctx, { storeId: by.store.id, id: webhook.id }),
    entryOf: () => entryOf('event-sent', webhook, { test: true }),
  });
}

/** Redelivers an event to a webhook. @throws Fault as `redeliver` and `assertMay` do. */
export function* redeliverTo(
  ctx: Context,
  by: ByStaff,
  { webhook, eventId }: { readonly webhook: Webhook; readonly eventId: number },
): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => redeliver(ctx, { storeId: by.store.id, eventId, webhookId: webhook.id }),
    entryOf: () => entryOf('event-sent', webhook, { event: eventId }),
  });
}
