/**
 * The queue of emails. Its destinations are the operator's mail server or, without one, those of the stores.
 *
 * The content and the wording of an email are read just before it is sent. After a temporary rejection it is retried for 72 hours;
 * a permanent rejection ends it; a rejection because of the service's own settings is retried for 14 days.
 */

import type { Context } from '../../../core/storage/context.ts';
import { deliveryFailedEvent } from '../../../core/events/domain/event.ts';
import { buyerOf, messageName, toppedUpBy } from '../../../core/emails/domain/email.ts';
import { emailRecordOf } from '../domain/record.ts';
import { cardLink, recipientPageUrl } from '../../../core/emails/domain/recipient-page.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { writeByStore } from '../../../database/sql/by-store.ts';
import { findCard, lockCard } from '../../../core/cards/storage/card.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import {
  claimEmails,
  findFirstSendAt,
  holdEmail,
  hasEmail,
  releaseEmail,
  settleEmail,
  type ClaimedEmail,
  type EmailSettlement,
} from '../storage/queue.ts';
import {
  enqueueEmail,
  findEmailSettings,
  heldCheckMs,
  openEmailedCode,
  type EmailKey,
} from '../../../core/emails/storage/email.ts';
import { listTextsOfKind } from '../storage/wording.ts';
import { findLogo } from '../../../core/stores/storage/logo.ts';
import { listWallets } from '../../wallets/storage/wallet.ts';
import { findSaleOfCard } from '../../online-sales/storage/sale.ts';
import { findEmailPlace } from '../../../core/emails/storage/place.ts';
import { findTransfer } from '../../../core/money/storage/transfer.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import { findStore, hasRealStores } from '../../../core/stores/storage/store.ts';
import { isOfOrder, orderedEmail } from './ordered.ts';
import { emailBackoff } from '../../../delivery/backoff.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import type { ClaimedJobs, ClaimRoom, Queue, Sent, SentJob } from '../../../delivery/worker.ts';
import { cancelReasonOf, contentOf, isHeldWith, type EmailContent } from './content.ts';
import { emailDestinations, type EmailDestinations, type EmailSenders } from './destinations.ts';
import { messageIdOf, type Email } from './message.ts';
import { renderEmail } from './render.ts';
import { senderOf, type Sender } from './sender.ts';
import { tracedEmail } from './traced.ts';
import type { EmailTransport } from './transport.ts';
import { finalSettlement, isHealthy, settlementOf } from './settlement.ts';

/** Metrics and logs of emails. */
type EmailObserver = {
  attempted(outcome: EmailSettlement['state'] | 'unknown', seconds: number): void;
  /** A mail server rejects its settings with this response. @param domain of the store that it belongs to; null: the operator's. */
  operatorNeeded(response: string, domain: string | null): void;
  /** An email was claimed again because its claim had expired: it may be sent twice. */
  reclaimed(): void;
};

export type EmailQueueOptions = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly senders: EmailSenders;
  readonly observer: EmailObserver;
  /** The public URL of the service, where recipients see their cards; null: there is no such page. */
  readonly pagesUrl: string | null;
  /** Null or absent: nothing is traced. */
  readonly tracing?: Tracing | null;
};

export type EmailJob = {
  readonly claimed: ClaimedEmail;
  /** On the monotonic clock. */
  readonly startsUntil: number;
};

/**
 * The recorded data of an attempt; `held` if the email waits until its card is resumed; null if another process has claimed
 * the email, or it is cancelled.
 */
export type EmailResult = EmailSettlement | 'held' | null;

/** The longest time that a claimed job waits in this process before it starts. */
const startsWithinMs = 60_000;
/** Time to record the outcome after the longest attempt. */
const settlesWithinMs = 30_000;

class EmailQueue implements Queue<EmailJob, EmailResult> {
  readonly name = 'emails';
  readonly #options: EmailQueueOptions;
  readonly #destinations: EmailDestinations;
  readonly #leaseMs: number;

  constructor(options: EmailQueueOptions) {
    const { ctx, storage, senders, tracing = null } = options;
    this.#options = options;
    this.#destinations = emailDestinations({ ctx, storage }, senders, tracing);
    this.#leaseMs = startsWithinMs + this.#destinations.emailMaxMs + settlesWithinMs;
  }

  mayHaveJobs(): boolean {
    return this.#destinations.mayBeDue(this.#options.ctx.clock.earliest());
  }

  async claim({ limit, roomOf }: ClaimRoom): Promise<ClaimedJobs<EmailJob>> {
    const { ctx, storage, observer } = this.#options;
    const now = ctx.clock.earliest();
    const { emails: found, hasMore } = await this.#destinations.listDue(now, { limit, roomOf });
    if (found.length === 0) return { claimed: [], hasMore: false };
    const startsUntil = performance.now() + startsWithinMs;
    const leaseMs = this.#leaseMs;
    const emails: ClaimedEmail[] = [];
    const committed = (claimed: readonly ClaimedEmail[]): void => void emails.push(...claimed);
    await writeByStore({ storage, committed }, found, (due) => claimAll(ctx, due, leaseMs)).catch(
      (error: unknown) => {
        // The claims of other stores were committed.
        if (emails.length === 0) throw error;
      },
    );
    for (const { isReclaimed } of emails) if (isReclaimed) observer.reclaimed();
    return {
      claimed: emails.map((claimed) => ({
        job: { claimed, startsUntil },
        destination: this.#destinations.destinationOf(claimed.storeId),
        startsThrottled: false,
      })),
      hasMore: hasMore && emails.length > 0,
    };
  }

  async send(job: EmailJob, signal: AbortSignal): Promise<Sent<EmailResult>> {
    const attempt = () => this.#attempt(job, signal);
    const { tracing } = this.#options;
    return await (tracing ? tracedEmail(tracing, job.claimed, attempt) : attempt());
  }

  async settle(sent: readonly SentJob<EmailJob, EmailResult>[]): Promise<void> {
    const { ctx, storage } = this.#options;
    const settled = sent.map((each) => ({ ...each, storeId: each.job.claimed.storeId }));
    await writeByStore({ storage }, settled, function* (ofStore) {
      for (const { job, result } of ofStore) if (result !== null) yield* settle(ctx, job.claimed, result);
    });
  }

  async release(jobs: readonly EmailJob[]): Promise<void> {
    const { ctx, storage } = this.#options;
    const released = jobs.map(({ claimed }) => claimed);
    await writeByStore({ storage }, released, function* (ofStore) {
      for (const claimed of ofStore) yield* releaseEmail(claimed, ctx.clock.earliest());
    });
  }

  startsUntil(job: EmailJob): number {
    return job.startsUntil;
  }

  async #attempt({ claimed }: EmailJob, signal: AbortSignal): Promise<Sent<EmailResult>> {
    const { ctx, storage, observer, pagesUrl } = this.#options;
    const now = ctx.clock.earliest();
    const loaded = await storage.read(() =>
      load(ctx, claimed, { destinations: this.#destinations, now, pagesUrl }),
    );
    if (loaded === undefined) return { result: null, isHealthy: true };
    if (loaded === 'held' || 'state' in loaded) return { result: loaded, isHealthy: true };
    const email = emailOf(claimed, loaded);
    const startedAt = performance.now();
    const outcome = await loaded.transport.send(
      email,
      { name: fileName(claimed), sendAt: claimed.sendAt },
      signal,
    );
    const result = settlementOf(ctx, claimed, outcome);
    if (outcome.kind === 'deferred' && outcome.cause === 'operator')
      observer.operatorNeeded(outcome.response, loaded.isOwn ? loaded.domain : null);
    observer.attempted(
      outcome.kind === 'unknown' ? 'unknown' : result.state,
      (performance.now() - startedAt) / 1_000,
    );
    return { result, isHealthy: isHealthy(outcome) };
  }
}

export function emailQueue(options: EmailQueueOptions): Queue<EmailJob, EmailResult> {
  return new EmailQueue(options);
}

type Loaded = {
  readonly content: EmailContent;
  readonly sender: Sender;
  readonly domain: string;
  readonly transport: EmailTransport;
  /** Whether the store has a mail server of its own. */
  readonly isOwn: boolean;
};

/**
 * The content of an email now, its end if it is not sent, or `held`; undefined if the claim is lost, or the store has
 * no server to send with.
 */
function* load(
  ctx: Context,
  claimed: ClaimedEmail,
  {
    destinations,
    now,
    pagesUrl,
  }: { readonly destinations: EmailDestinations; readonly now: number } & Pick<EmailQueueOptions, 'pagesUrl'>,
): Script<Loaded | EmailSettlement | 'held' | undefined> {
  const { storeId, cardId, sealedCode } = claimed;
  const transferId = toppedUpBy(claimed);
  const [isOurs, card, record, settings, texts, logo, firstSendAt, toppedUp, server, wallets, sale] =
    yield* parallel(
      hasEmail(claimed),
      findCard(storeId, cardId),
      findStore(storeId),
      findEmailSettings(storeId),
      listTextsOfKind(storeId, claimed.kind),
      findLogo(storeId),
      findFirstSendAt(storeId, cardId),
      transferId === null ? resolved(undefined) : findTransfer(storeId, transferId),
      destinations.findServer(storeId),
      listWallets(storeId),
      isOfOrder(claimed) ? findSaleOfCard(storeId, cardId) : resolved(undefined),
    );
  const transport = destinations.transportOf(storeId, server);
  if (!isOurs || !card || !record || !transport) return undefined;
  const { store } = record;
  const cancelReason = cancelReasonOf(claimed, card, { timeZone: store.timeZone, now });
  if (cancelReason !== null) return finalSettlement('cancelled', cancelReason);
  if (isHeldWith(claimed, card)) return 'held';
  // The email was attempted for all this time without a recorded outcome: it may be the cause of the crashes.
  if (claimed.isReclaimed && now - claimed.firstAt >= emailBackoff.windowMs)
    return finalSettlement('dead', claimed.response ?? 'the email could not be sent');
  const code = sealedCode && openEmailedCode(ctx, claimed, sealedCode);
  const cardPage = yield* pageOf(store, pagesUrl);
  const ownPage = cardPage === null || code === null ? cardPage : cardLink(cardPage, code);
  const place = yield* findEmailPlace(claimed, toppedUp);
  const ordered = sale && (yield* orderedEmail(ctx, store, { sale, settings, pagesUrl }));
  const content = contentOf(claimed, card, {
    timeZone: store.timeZone,
    place,
    pageUrl: settings.pageUrl ?? ownPage,
    cardPage,
    // Phones reach only a service with TLS.
    wallets:
      ownPage?.startsWith('https://') === true
        ? { url: ownPage, kinds: wallets.map(({ kind }) => kind) }
        : null,
    code,
    cardSentAt: firstSendAt ?? claimed.sendAt,
    toppedUp,
    order: ordered?.order,
  });
  const shown = ordered?.settings ?? settings;
  const sender = senderOf({ store, settings: shown, texts, logo, place }, transport.from);
  return { content, sender, domain: store.domain, transport, isOwn: server !== undefined };
}

function* claimAll(ctx: Context, due: readonly EmailKey[], leaseMs: number): Script<readonly ClaimedEmail[]> {
  if (!(yield* mayClaim(ctx))) return [];
  const now = ctx.clock.earliest();
  const claim = { lease: ctx.random.id(), now, firstAt: ctx.clock.latest(), until: now + leaseMs };
  return yield* claimEmails(due, claim);
}

/** The URL of the service's page of recipients of a store; null: there is none. */
function* pageOf({ domain, demonstration }: Store, pagesUrl: string | null): Script<string | null> {
  if (pagesUrl === null) return null;
  // The demonstration has no page as soon as there is a real store.
  if (demonstration && (yield* hasRealStores())) return null;
  return recipientPageUrl(pagesUrl, domain);
}

/** The email, the same in every attempt unless the card or the settings have changed. */
function emailOf(claimed: ClaimedEmail, { content, sender, domain }: Loaded): Email {
  return {
    messageId: messageIdOf(messageName(claimed), domain),
    date: claimed.sendAt,
    from: { name: sender.name, address: sender.address },
    to: claimed.address,
    replyTo: sender.replyTo,
    content: renderEmail(content, sender),
  };
}

function fileName({ cardId, id }: ClaimedEmail): string {
  return `${cardId}-${id}`;
}

/** Records that an email waits for its card, which can have been resumed since it was read. */
function* hold(ctx: Context, claimed: ClaimedEmail): Script<void> {
  yield* lockCard(claimed);
  const card = yield* findCard(claimed.storeId, claimed.cardId);
  const now = ctx.clock.earliest();
  yield* holdEmail(claimed, { now, until: card && isHeldWith(claimed, card) ? now + heldCheckMs : now });
}

/** Records an attempt, and reports an email that cannot be delivered. */
function* settle(ctx: Context, claimed: ClaimedEmail, settlement: EmailSettlement | 'held'): Script<void> {
  if (settlement === 'held') return yield* hold(ctx, claimed);
  const now = ctx.clock.now();
  const isRecorded = yield* settleEmail(claimed, settlement, now);
  const { state, response } = settlement;
  if (!isRecorded || (state !== 'bounced' && state !== 'dead')) return;
  const { storeId, cardId } = claimed;
  yield* lockCard(claimed);
  const [card, record] = yield* parallel(findCard(storeId, cardId), findStore(storeId));
  if (!card || !record) return;
  const delivery = emailRecordOf(
    ctx.keys.publicIds,
    { ...claimed, state, response, nextAt: null, lastAt: claimed.lastAt ?? now, endedAt: now },
    { domain: record.store.domain, now },
  );
  yield* recordEvent(ctx, deliveryFailedEvent(ctx.keys.publicIds, card, delivery));
  const buyer = buyerOf(card);
  if (claimed.kind !== 'gift_card' || !buyer) return;
  const { notifyFailures } = yield* findEmailSettings(storeId);
  if (!notifyFailures) return;
  yield* enqueueEmail(ctx, {
    storeId,
    cardId,
    kind: 'delivery_failed',
    address: buyer.email,
    code: null,
    sendAt: null,
    occasion: null,
  });
}
