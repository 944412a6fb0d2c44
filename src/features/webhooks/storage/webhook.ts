/** Webhooks and their signing secrets, which are encrypted for their row. */

import type { Context } from '../../../core/storage/context.ts';
import { Secret } from '../../../platform/secret.ts';
import type { PauseReason, Webhook } from '../domain/webhook.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import {
  columns,
  integer,
  integerOrNull,
  text,
  writeOnly,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, first, execute, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { fragment } from '../../../database/sql/fragments.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

/** A webhook with its sealed secrets. */
export type WebhookKept = {
  readonly webhook: Webhook;
  readonly sealedSecret: Uint8Array;
  readonly sealedPrevious: Uint8Array | null;
};

const changeable = {
  version: integer('version'),
  url: text('url'),
  patterns: {
    field: 'patterns',
    read: (patterns: string): readonly string[] => patterns.trim().split(' '),
    write: ({ patterns }: Webhook) => spaced(patterns),
  },
  status: writeOnly<string>()(statusOf),
  paused_at: {
    field: 'paused',
    read: (at: bigint | null, { pause_reason: reason }: { readonly pause_reason: PauseReason | null }) =>
      at === null || reason === null ? null : { at: toNumber(at), reason },
    write: ({ paused }: Webhook) => paused?.at ?? null,
  },
  pause_reason: writeOnly<PauseReason | null>()(({ paused }: Webhook) => paused?.reason ?? null),
  failing_since: {
    field: 'failing',
    read: (since: bigint | null, { failure }: { readonly failure: string | null }) =>
      since === null || failure === null ? null : { since: toNumber(since), failure },
    write: ({ failing }: Webhook) => failing?.since ?? null,
  },
  failure: writeOnly<string | null>()(({ failing }: Webhook) => failing?.failure ?? null),
  previous_secret_until: integerOrNull('previousSecretUntil'),
  updated_at: integer('updatedAt'),
} as const;

const changes = columns(changeable);
const webhooks = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  created_at: integer('createdAt'),
  ...changeable,
});

export type WebhookRow = RowOf<typeof webhooks> & {
  readonly secret: Uint8Array;
  readonly previous_secret: Uint8Array | null;
};

/** The columns of `WebhookRow`, of a table without an alias. */
export const webhookColumns = fragment`${webhooks.of('webhooks')}, webhooks.secret, webhooks.previous_secret`;

export function toWebhook(row: WebhookRow): WebhookKept {
  return { webhook: webhooks.read(row), sealedSecret: row.secret, sealedPrevious: row.previous_secret };
}

function spaced(patterns: readonly string[]): string {
  return ` ${patterns.join(' ')} `;
}

function statusOf({ paused }: Webhook): string {
  return paused ? 'paused' : 'active';
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

/** Serializes transactions that add webhooks to a store. Other transactions of the store do not wait for it. */
export function* takeTurn(storeId: number, now: number): Script<void> {
  yield* execute(sql`update stores set updated_at = ${now} where id = ${storeId}`);
}

/** Inserts a webhook. Events that are committed after it are enqueued for it if they match its patterns. */
export function* insertWebhook({ webhook, sealedSecret, sealedPrevious }: WebhookKept): Script<void> {
  yield* execute(sql`
    insert into webhooks (${webhooks.names}, secret, previous_secret)
    values (${webhooks.values(webhook)}, ${sealedSecret}, ${sealedPrevious})`);
}

/** Updates a webhook. Returns false if it no longer has the version that was read. */
export function* replaceWebhook(
  read: Webhook,
  { webhook, sealedSecret, sealedPrevious }: WebhookKept,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update webhooks set secret = ${sealedSecret}, previous_secret = ${sealedPrevious},
      (${changes.names}) = (${changes.values(webhook)})
    where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  return row !== undefined;
}

/** Deletes a webhook and its deliveries. Returns false if it no longer has the version that was read. */
export function* eraseWebhook(read: Webhook): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    delete from webhooks where store_id = ${read.storeId} and id = ${read.id} and version = ${read.version}
    returning id`);
  return row !== undefined;
}

export function* findWebhook(storeId: number, id: number): Script<WebhookKept | undefined> {
  const row = yield* first(sql<WebhookRow>`
    select ${webhookColumns} from webhooks where store_id = ${storeId} and id = ${id}`);
  return row && toWebhook(row);
}

/** Returns a store's webhooks, oldest first. */
export function* findWebhooks(storeId: number): Script<readonly WebhookKept[]> {
  const rows = yield* all(sql<WebhookRow>`
    select ${webhookColumns} from webhooks where store_id = ${storeId} order by id`);
  return rows.map(toWebhook);
}

export type WebhookPlace = { readonly storeId: number; readonly id: number };

/** The number of webhooks of all stores that were paused because of failures, not on request. */
export function* countPausedWebhooks(): Script<number> {
  const { paused } = yield* one(
    sql<{
      paused: bigint;
    }>`select count(*) as paused from webhooks where pause_reason <> 'requested' and ${ofOpenStore}`,
  );
  return toNumber(paused);
}
