/** The queue of webhook deliveries. Each webhook is a destination. */

import type { Context } from '../../../core/storage/context.ts';
import { eventJson } from '../../../core/events/domain/event.ts';
import { webhookEvent } from '../domain/webhook-event.ts';
import { sandboxHeader } from '../../../core/domain/sandbox.ts';
import { parseRetryAfter } from '../../../platform/retry-after.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { AttemptResult, Webhook } from '../domain/webhook.ts';
import {
  claimDeliveries,
  hasActiveWebhook,
  listDueWebhooks,
  noteFailure,
  noteRecovery,
  pauseFailing,
  releaseDelivery,
  settleDelivery,
  type ClaimedDelivery,
  type DueWebhook,
  type SettledAttempt,
} from '../storage/delivery-queue.ts';
import { writeByStore } from '../../../database/sql/by-store.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import type { ReadCache, Storage } from '../../../database/storage.ts';
import { openWebhookSecret, type WebhookPlace } from '../storage/webhook.ts';
import { nextAttempt, webhookBackoff } from '../../../delivery/backoff.ts';
import { isAccepted, type Outbound, type PostResult } from './post.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import type { Claimed, ClaimedJobs, ClaimRoom, Queue, Sent, SentJob } from '../../../delivery/worker.ts';
import { signatureHeaders } from './signature.ts';
import { tracedPost } from './traced-post.ts';

/** Metrics and logs of deliveries. */
export type DeliveryObserver = {
  attempted(outcome: 'delivered' | 'retrying' | 'dead', seconds: number): void;
  paused(webhook: Webhook): void;
};

export type WebhookQueueOptions = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly outbound: Outbound;
  /** Whether webhook URLs can now lead to this machine. */
  readonly mayUseLoopback: () => Promise<boolean>;
  readonly observer: DeliveryObserver;
  /** Null or absent: nothing is traced. */
  readonly tracing?: Tracing | null;
};

export type WebhookJob = {
  readonly delivery: ClaimedDelivery;
  readonly url: string;
  readonly store: string;
  /** The current secret first. */
  readonly secrets: readonly Secret[];
  /** On the monotonic clock. */
  readonly startsUntil: number;
};

/** Longer than the longest request, with time to record its result. */
const leaseMs = 30_000;
/** The longest time that a claimed job waits in this process before it starts. */
const startsWithinMs = 12_000;

const webhooksAtOnceMax = 64;
const start: WebhookPlace = { storeId: 0, id: 0 };

/** A webhook is paused when a delivery ends as `dead` and nothing was delivered to it for this time. */
const pauseAfterMs = webhookBackoff.windowMs;

const gone = 410;

type Post = (headers: Readonly<Record<string, string>>) => Promise<PostResult>;

class WebhookQueue implements Queue<WebhookJob, SettledAttempt> {
  readonly name = 'webhooks';
  readonly #options: WebhookQueueOptions;
  /** Whether a webhook is active, which is rare. */
  readonly #activity: ReadCache<boolean>;
  /** The last webhook of the last claim: the next claim continues after it, so that every webhook gets a turn. */
  #place = start;

  constructor(options: WebhookQueueOptions) {
    this.#options = options;
    this.#activity = options.storage.cache({ entriesMax: 1 });
  }

  mayHaveJobs(): boolean {
    return this.#activity.findOwn('') !== false;
  }

  async claim({ limit, roomOf }: ClaimRoom): Promise<ClaimedJobs<WebhookJob>> {
    const { ctx, storage } = this.#options;
    const webhooks = await this.#due();
    let left = limit;
    const wanted = webhooks.flatMap((found) => {
      const room = Math.min(roomOf(destinationOf(found.webhook)), left);
      left -= Math.max(0, room);
      return room > 0 ? [{ storeId: found.webhook.storeId, found, room }] : [];
    });
    const hasMorePlaces = this.#place !== start;
    if (wanted.length === 0) return { claimed: [], hasMore: hasMorePlaces };
    const startsUntil = performance.now() + startsWithinMs;
    const batches: Batch[] = [];
    const committed = (claimed: readonly Batch[]): void => void batches.push(...claimed);
    await writeByStore({ storage, committed }, wanted, (ofStore) => claimAll(ctx, ofStore)).catch(
      (error: unknown) => {
        // The claims of other stores were committed.
        if (batches.length === 0) throw error;
      },
    );
    const claimed = batches.flatMap(({ found, deliveries }) =>
      deliveries.length > 0 ? jobsOf(ctx, found, deliveries, startsUntil) : [],
    );
    const isFull = batches.some(({ deliveries, room }) => deliveries.length === room);
    return { claimed, hasMore: hasMorePlaces || (isFull && claimed.length > 0) };
  }

  async send(job: WebhookJob, signal: AbortSignal): Promise<Sent<SettledAttempt>> {
    const { delivery, url } = job;
    const { ctx, observer, tracing = null } = this.#options;
    const [at, firstAt] = [ctx.clock.now(), ctx.clock.latest()];
    const post = await this.#postOf(job, ctx.wallClock.now(), signal);
    const posted = tracing ? await tracedPost(tracing, { delivery, url }, post) : await post({});
    const isDelivered = isAccepted(posted);
    const now = ctx.clock.earliest();
    const nextAt = isDelivered ? null : nextAfter(ctx, delivery, { firstAt, now, posted });
    const status = statusOf(isDelivered, nextAt);
    observer.attempted(status, posted.durationMs / 1_000);
    const result: AttemptResult =
      posted.kind === 'responded'
        ? { kind: 'responded', status: posted.status, body: posted.body }
        : { kind: 'failed', reason: posted.reason, detail: posted.detail };
    return {
      result: { at, firstAt, durationMs: posted.durationMs, result, status, nextAt },
      isHealthy: isDelivered || (posted.kind === 'responded' && posted.status < 500 && posted.status !== 429),
    };
  }

  async settle(sent: readonly SentJob<WebhookJob, SettledAttempt>[]): Promise<void> {
    const { ctx, storage, observer } = this.#options;
    const committed = (paused: readonly Webhook[]): void => {
      for (const webhook of paused) observer.paused(webhook);
    };
    const settled = sent.map((each) => ({ ...each, storeId: each.job.delivery.storeId }));
    await writeByStore({ storage, committed }, settled, (ofStore) => settleAll(ctx, ofStore));
  }

  async release(jobs: readonly WebhookJob[]): Promise<void> {
    const { ctx, storage } = this.#options;
    const released = jobs.map(({ delivery }) => delivery);
    await writeByStore({ storage }, released, function* (ofStore) {
      for (const delivery of ofStore) yield* releaseDelivery(delivery, ctx.clock.earliest());
    });
  }

  startsUntil(job: WebhookJob): number {
    return job.startsUntil;
  }

  async #due(): Promise<readonly DueWebhook[]> {
    const { ctx, storage } = this.#options;
    if (!(this.#activity.find('') ?? (await this.#activity.read('', hasActiveWebhook)))) return [];
    const limit = webhooksAtOnceMax;
    const after = this.#place;
    const found = await storage.read(() => listDueWebhooks(after, { now: ctx.clock.earliest(), limit }));
    this.#place = (found.length === limit ? found.at(-1)?.webhook : undefined) ?? start;
    return found.length > 0 || after === start ? found : this.#due();
  }

  /** Returns what sends the request of a job, with additional headers. @param at the real time, of its signature. */
  async #postOf(
    { delivery, url, store, secrets }: WebhookJob,
    at: number,
    signal: AbortSignal,
  ): Promise<Post> {
    const { ctx, outbound, mayUseLoopback } = this.#options;
    const body = eventJson(delivery.event, store);
    const id = String(delivery.eventId);
    const allowLoopback = await mayUseLoopback();
    return (headers) =>
      outbound.post({
        url,
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(ctx.testClock && { [sandboxHeader.toLowerCase()]: 'true' }),
          ...signatureHeaders({ id, attemptedAt: at, body }, secrets),
        },
        body,
        allowLoopback,
        signal,
      });
  }
}

export function webhookQueue(options: WebhookQueueOptions): Queue<WebhookJob, SettledAttempt> {
  return new WebhookQueue(options);
}

function destinationOf({ storeId, id }: Pick<Webhook, 'storeId' | 'id'>): string {
  return `${storeId} ${id}`;
}

/** A webhook, and how many of its deliveries are claimed at most. */
type Wanted = { readonly found: DueWebhook; readonly room: number };
type Batch = Wanted & { readonly deliveries: readonly ClaimedDelivery[] };

function* claimAll(ctx: Context, wanted: readonly Wanted[]): Script<readonly Batch[]> {
  if (!(yield* mayClaim(ctx))) return [];
  const now = ctx.clock.earliest();
  const claim = { lease: ctx.random.id(), now, until: now + leaseMs };
  const claimed = yield* parallel(
    ...wanted.map(({ found: { webhook }, room }) =>
      claimDeliveries({ storeId: webhook.storeId, webhookId: webhook.id, limit: room }, claim),
    ),
  );
  return wanted.map(({ found, room }, place) => ({ found, room, deliveries: claimed[place] ?? [] }));
}

function jobsOf(
  ctx: Context,
  { webhook, store, sealedSecret, sealedPrevious }: DueWebhook,
  deliveries: readonly ClaimedDelivery[],
  startsUntil: number,
): readonly Claimed<WebhookJob>[] {
  const isPreviousGood = (webhook.previousSecretUntil ?? 0) > ctx.clock.earliest();
  const sealed = sealedPrevious && isPreviousGood ? [sealedSecret, sealedPrevious] : [sealedSecret];
  const secrets = sealed.map((one) => openWebhookSecret(ctx, webhook, one));
  return deliveries.map((delivery) => ({
    job: { delivery, url: webhook.url, store, secrets, startsUntil },
    destination: destinationOf(webhook),
    startsThrottled: webhook.failing !== null,
  }));
}

/** When a failed delivery is retried; null: never. */
function nextAfter(
  ctx: Context,
  delivery: ClaimedDelivery,
  {
    firstAt,
    now,
    posted,
  }: {
    readonly firstAt: number;
    readonly now: number;
    readonly posted: Awaited<ReturnType<Outbound['post']>>;
  },
): number | null {
  if (posted.kind === 'failed' && posted.reason === 'cancelled') return now;
  if (posted.kind === 'responded' && posted.status === gone) return null;
  const retryAfter = posted.kind === 'responded' ? posted.headers['retry-after'] : undefined;
  const [byte = 0] = ctx.random.bytes(1);
  return nextAttempt(
    webhookBackoff,
    { made: delivery.attemptsSince + 1, firstAt: delivery.firstAt ?? firstAt },
    { now, random: byte / 256, retryAfterMs: parseRetryAfter(retryAfter, ctx.wallClock.now()) },
  );
}

function statusOf(isDelivered: boolean, nextAt: number | null): SettledAttempt['status'] {
  if (isDelivered) return 'delivered';
  return nextAt === null ? 'dead' : 'retrying';
}

/** Records attempts and the state of their webhooks. @returns the webhooks that it paused. */
function* settleAll(
  ctx: Context,
  sent: readonly SentJob<WebhookJob, SettledAttempt>[],
): Script<readonly Webhook[]> {
  const now = ctx.clock.earliest();
  for (const { job, result } of sent) {
    if (isCancelled(result)) yield* releaseDelivery(job.delivery, now);
    else yield* settleDelivery(job.delivery, result);
  }
  // In one order, so that two processes cannot deadlock.
  const attempted = sent.filter(({ result }) => !isCancelled(result));
  const byWebhook = [...Map.groupBy(attempted, ({ job }) => job.delivery.webhookId)].toSorted(
    ([left], [right]) => left - right,
  );
  const paused: Webhook[] = [];
  for (const [, attempts] of byWebhook) {
    const key = attempts[0]?.job.delivery;
    if (!key) continue;
    const failed = attempts.filter(({ result }) => result.status !== 'delivered');
    const isGone = failed.some(
      ({ result: { result } }) => result.kind === 'responded' && result.status === gone,
    );
    const first = failed[0]?.result;
    if (failed.length < attempts.length) yield* noteRecovery(key, now);
    else if (first) yield* noteFailure(key, { at: first.at, failure: failureOf(first.result) });
    if (isGone || failed.some(({ result }) => result.status === 'dead')) {
      const failingSince = isGone ? now : now - pauseAfterMs;
      const webhook = yield* pauseFailing(key, { now, reason: isGone ? 'gone' : 'failures', failingSince });
      if (webhook) {
        yield* recordEvent(ctx, webhookEvent('webhook.paused', webhook.webhook));
        paused.push(webhook.webhook);
      }
    }
  }
  return paused;
}

/** Aborted because the service stops. This is not an attempt; the next process makes it. */
function isCancelled({ result }: SettledAttempt): boolean {
  return result.kind === 'failed' && result.reason === 'cancelled';
}

function failureOf(result: AttemptResult): string {
  return result.kind === 'responded' ? `responded with ${result.status}` : result.detail;
}
