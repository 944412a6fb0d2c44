/** Webhooks and their signing secrets, which are encrypted for their row. */

import type { Context } from '../context.ts';
import { Secret } from '../domain/secret.ts';
import type { PauseReason, Webhook } from '../domain/webhook.ts';
import { sealNonceLength } from '../keys.ts';
import { all, first, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

export type WebhookRow = {
  readonly store_id: bigint;
  readonly id: bigint;
  readonly version: bigint;
  readonly url: string;
  readonly patterns: string;
  readonly secret: Uint8Array;
  readonly previous_secret: Uint8Array | null;
  readonly previous_secret_until: bigint | null;
  readonly paused_at: bigint | null;
  readonly pause_reason: PauseReason | null;
  readonly failing_since: bigint | null;
  readonly failure: string | null;
  readonly created_at: bigint;
  readonly updated_at: bigint;
};

/** A webhook with its sealed secrets. */
export type WebhookKept = {
  readonly webhook: Webhook;
  readonly sealedSecret: Uint8Array;
  readonly sealedPrevious: Uint8Array | null;
};

export function toWebhook(row: WebhookRow): WebhookKept {
  const { paused_at: pausedAt, pause_reason: reason, failing_since: failingSince, failure } = row;
  return {
    webhook: {
      storeId: toNumber(row.store_id),
      id: toNumber(row.id),
      version: toNumber(row.version),
      url: row.url,
      patterns: row.patterns.trim().split(' '),
      paused: pausedAt === null || reason === null ? null : { at: toNumber(pausedAt), reason },
      failing: failingSince === null || failure === null ? null : { since: toNumber(failingSince), failure },
      previousSecretUntil: toNumberOrNull(row.previous_secret_until),
      createdAt: toNumber(row.created_at),
      updatedAt: toNumber(row.updated_at),
    },
    sealedSecret: row.secret,
    sealedPrevious: row.previous_secret,
  };
}

type WebhookKey = Pick<Webhook, 'storeId' | 'id'>;

function boundTo({ storeId, id }: WebhookKey): string {
  return `webhook ${storeId} ${id}`;
}

export function sealWebhookSecret({ keys, random }: Context, key: WebhookKey, secret: Secret): Uint8Array {
  return keys.seal(
    'webhook-secret',
    Buffer.from(secret.reveal()),
    boundTo(key),
    random.bytes(sealNonceLength),
  );
}

export function openWebhookSecret(
  { keys }: Pick<Context, 'keys'>,
  key: WebhookKey,
  sealed: Uint8Array,
): Secret {
  return new Secret(Buffer.from(keys.open('webhook-secret', sealed, boundTo(key))).toString());
}

function spaced(patterns: readonly string[]): string {
  return ` ${patterns.join(' ')} `;
}

/** Serializes transactions that add webhooks to a store. Other transactions of the store do not wait for it. */
export function* takeTurn(storeId: number, now: number): Script<void> {
  yield* execute(sql`update stores set updated_at = ${now} where id = ${storeId}`);
}

/** Inserts a webhook. Events that are committed after it are enqueued for it if they match its patterns. */
export function* insertWebhook({ webhook, sealedSecret }: WebhookKept): Script<void> {
  yield* execute(sql`
    insert into webhooks (store_id, id, version, url, patterns, secret, status, paused_at, pause_reason,
      created_at, updated_at)
    values (${webhook.storeId}, ${webhook.id}, ${webhook.version}, ${webhook.url}, ${spaced(webhook.patterns)},
      ${sealedSecret}, ${webhook.paused ? 'paused' : 'active'}, ${webhook.paused?.at ?? null},
      ${webhook.paused?.reason ?? null}, ${webhook.createdAt}, ${webhook.updatedAt})`);
}

/** Updates a webhook. Returns false if it no longer has the version that was read. */
export function* replaceWebhook(
  read: Webhook,
  { webhook, sealedSecret, sealedPrevious }: WebhookKept,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update webhooks set version = ${webhook.version}, url = ${webhook.url}, patterns = ${spaced(webhook.patterns)},
      secret = ${sealedSecret}, previous_secret = ${sealedPrevious},
      previous_secret_until = ${webhook.previousSecretUntil}, status = ${webhook.paused ? 'paused' : 'active'},
      paused_at = ${webhook.paused?.at ?? null}, pause_reason = ${webhook.paused?.reason ?? null},
      failing_since = ${webhook.failing?.since ?? null}, failure = ${webhook.failing?.failure ?? null},
      updated_at = ${webhook.updatedAt}
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  return row !== undefined;
}

/** Deletes a webhook and its deliveries. Returns false if it no longer has the version that was read. */
export function* deleteWebhook(read: Webhook): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    delete from webhooks where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  return row !== undefined;
}

export function* findWebhook(storeId: number, id: number): Script<WebhookKept | undefined> {
  const row = yield* first(sql<WebhookRow>`
    select * from webhooks where store_id = ${storeId} and id = ${id}`);
  return row && toWebhook(row);
}

/** Returns a store's webhooks, oldest first. */
export function* listWebhooks(storeId: number): Script<readonly WebhookKept[]> {
  const rows = yield* all(sql<WebhookRow>`
    select * from webhooks where store_id = ${storeId} order by id`);
  return rows.map(toWebhook);
}

export type WebhookPlace = { readonly storeId: number; readonly id: number };

/** Returns webhooks of all stores after a position, ordered by store and id. */
export function* listWebhookPlaces(after: WebhookPlace, limit: number): Script<readonly WebhookPlace[]> {
  const rows = yield* all(sql<{ store_id: bigint; id: bigint }>`
    select store_id, id from webhooks where (store_id, id) > (${after.storeId}, ${after.id})
    order by store_id, id limit ${limit}`);
  return rows.map((row) => ({ storeId: toNumber(row.store_id), id: toNumber(row.id) }));
}
