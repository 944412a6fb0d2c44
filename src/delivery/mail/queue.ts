/**
 * Mails as a queue. There is one lane: the mail server that takes them all.
 *
 * What a mail says is read just before it is sent. A mail server's temporary refusal is answered with patience, its
 * permanent one ends the mail, and one that is about the service's own settings waits for the operator.
 */

import type { Context } from '../../context.ts';
import { deliveryFailed } from '../../domain/event.ts';
import { buyerOf, mailRecordOf, messageName } from '../../domain/mail.ts';
import { findCard } from '../../storage/card.ts';
import { announce } from '../../storage/event.ts';
import {
  claimMails,
  findFirstSendAt,
  hasDueMails,
  hasMail,
  releaseMail,
  settleMail,
  type ClaimedMail,
  type MailSettlement,
} from '../../storage/mail-queue.ts';
import { bookMail, findMailSettings, openMailedCode } from '../../storage/mail.ts';
import { together, type Script } from '../../storage/sql.ts';
import type { Storage } from '../../storage/storage.ts';
import { findStore } from '../../storage/store.ts';
import { mailBackoff, nextAttempt, type Backoff } from '../backoff.ts';
import type { Queue, WorkerLimits } from '../worker.ts';
import { workerLimits } from '../worker.ts';
import { messageIdOf, type Mail } from './message.ts';
import type { Outcome } from './outcome.ts';
import { renderMail } from './render.ts';
import { refusalOf, requestOf, senderOf, type MailMatter } from './request.ts';
import type { MailTransport } from './transport.ts';

/** What the operator hears of mails. */
type MailObserver = {
  attempted(outcome: MailSettlement['state'] | 'unknown', seconds: number): void;
  /** A mail waits for the operator, whose settings the mail server refuses with this answer. */
  operatorNeeded(answer: string): void;
  /** A mail was claimed whose claim had run out: it may be sent twice. */
  takenOver(): void;
};

export type MailQueueOptions = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly transport: MailTransport;
  readonly observer: MailObserver;
};

export type MailJob = {
  readonly mail: ClaimedMail;
  /** On the monotonic clock. */
  readonly startsUntil: number;
};

/** A job's result: what is to be recorded; null if somebody else has the mail by now, or it was cancelled. */
export type MailResult = MailSettlement | null;

const lane = 'mail';
/** What a job may wait in this process before it is begun. */
const startsWithinMs = 60_000;
/** Time to record what came of an attempt, beyond the longest one. */
const settlesWithinMs = 30_000;

const minute = 60_000;

/**
 * For mails that a server refuses because of the service's own settings: somebody has to see it and mend it, and
 * nothing is lost meanwhile.
 */
const operatorBackoff: Backoff = Object.freeze({
  stepsMs: [5 * minute, 10 * minute, 20 * minute, 30 * minute],
  windowMs: 14 * 24 * 60 * minute,
});

/** So few that what is claimed is soon begun. */
export function mailWorkerLimits({ connectionsMax }: MailTransport): WorkerLimits {
  const claimedMax = connectionsMax * 4;
  return {
    ...workerLimits,
    underWayMax: connectionsMax,
    underWayPerLaneMax: connectionsMax,
    windowMax: claimedMax,
    waitingMax: claimedMax,
  };
}

export function mailQueue({
  ctx,
  storage,
  transport,
  observer,
}: MailQueueOptions): Queue<MailJob, MailResult> {
  const leaseMs = startsWithinMs + transport.mailMaxMs + settlesWithinMs;

  const attempt = async (
    job: MailJob,
    signal: AbortSignal,
  ): Promise<{ readonly result: MailResult; readonly isHealthy: boolean }> => {
    const { mail: claimed } = job;
    const loaded = await storage.read(() => load(ctx, claimed));
    if (!loaded) return { result: null, isHealthy: true };
    const refusal = refusalOf(loaded);
    if (refusal !== null) return { result: ended('cancelled', refusal), isHealthy: true };
    const { now } = loaded;
    // An attempt that was begun and never settled, again and again: it is this mail that ends the process.
    if (claimed.isTakenOver && now - claimed.firstAt >= mailBackoff.windowMs)
      return { result: ended('dead', claimed.answer ?? 'it could not be sent'), isHealthy: true };
    const mail = mailOf(loaded, transport.from);
    const startedAt = performance.now();
    const outcome = await transport.send(mail, { name: fileName(claimed), sendAt: claimed.sendAt }, signal);
    const result = settlementOf(ctx, claimed, outcome);
    if (outcome.kind === 'deferred' && outcome.cause === 'operator') observer.operatorNeeded(outcome.answer);
    observer.attempted(
      outcome.kind === 'unknown' ? 'unknown' : result.state,
      (performance.now() - startedAt) / 1_000,
    );
    return { result, isHealthy: isHealthy(outcome) };
  };

  return {
    name: 'mails',

    async claim({ limit, roomOf }) {
      const room = Math.min(limit, roomOf(lane));
      const now = ctx.clock.earliest();
      if (room <= 0 || !(await storage.read(() => hasDueMails(now)))) return { claimed: [], hasMore: false };
      const startsUntil = performance.now() + startsWithinMs;
      const claim = {
        lease: ctx.chance.id(),
        now,
        firstAt: ctx.clock.latest(),
        until: now + leaseMs,
        limit: room,
      };
      const mails = await storage.write(() => claimMails(claim));
      for (const { isTakenOver } of mails) if (isTakenOver) observer.takenOver();
      return {
        claimed: mails.map((mail) => ({ job: { mail, startsUntil }, lane, isCareful: false })),
        hasMore: mails.length === room,
      };
    },

    send: attempt,

    async settle(sent) {
      await storage.write(function* () {
        for (const { job, result } of sent) if (result) yield* settle(ctx, job.mail, result);
      });
    },

    async release(jobs) {
      await storage.write(function* () {
        for (const { mail } of jobs) yield* releaseMail(mail, ctx.clock.earliest());
      });
    },

    startsUntil: (job) => job.startsUntil,
  };
}

/** Everything that the mail is made of, as it is now; undefined if it is not to be sent any more. */
function* load(ctx: Context, claimed: ClaimedMail): Script<MailMatter | undefined> {
  const { storeId, cardId, sealedCode } = claimed;
  const [isOurs, card, record, settings, firstSendAt] = yield* together(
    hasMail(claimed),
    findCard(storeId, cardId),
    findStore(storeId),
    findMailSettings(storeId),
    findFirstSendAt(storeId, cardId),
  );
  if (!isOurs || !card || !record) return undefined;
  return {
    delivery: claimed,
    card,
    store: record.store,
    settings,
    code: sealedCode && openMailedCode(ctx, claimed, sealedCode),
    cardSentAt: firstSendAt ?? claimed.sendAt,
    now: ctx.clock.earliest(),
  };
}

/** The mail, the same on every attempt but for what has changed of the card. */
function mailOf(matter: MailMatter, from: string): Mail {
  const { delivery, store, settings } = matter;
  const sender = senderOf(store, settings, from);
  return {
    messageId: messageIdOf(messageName(delivery), store.domain),
    date: delivery.sendAt,
    from: { name: sender.name, address: sender.address },
    to: delivery.address,
    replyTo: sender.replyTo,
    content: renderMail(requestOf(matter), sender),
  };
}

function fileName({ cardId, id }: ClaimedMail): string {
  return `${cardId}-${id}`;
}

function ended(state: 'sent' | 'bounced' | 'dead' | 'cancelled', answer: string): MailSettlement {
  return { state, answer, nextAt: null, startsOver: false };
}

function settlementOf(ctx: Context, claimed: ClaimedMail, outcome: Outcome): MailSettlement {
  const { answer } = outcome;
  switch (outcome.kind) {
    case 'sent':
      return ended('sent', answer);
    case 'refused':
      return ended('bounced', answer);
    case 'unknown':
      return again(ctx, claimed, { answer, backoff: mailBackoff, firstAt: claimed.firstAt });
    case 'deferred': {
      if (outcome.cause === 'temporary')
        return again(ctx, claimed, { answer, backoff: mailBackoff, firstAt: claimed.firstAt });
      // Nothing is wrong with the mail: its own time for attempts has not begun.
      const firstAt = claimed.sendAt;
      return { ...again(ctx, claimed, { answer, backoff: operatorBackoff, firstAt }), startsOver: true };
    }
  }
}

function again(
  { clock, chance }: Context,
  { attempts }: ClaimedMail,
  {
    answer,
    backoff,
    firstAt,
  }: { readonly answer: string; readonly backoff: Backoff; readonly firstAt: number },
): MailSettlement {
  const [byte = 0] = chance.bytes(1);
  const nextAt = nextAttempt(
    backoff,
    { made: attempts, firstAt },
    { now: clock.earliest(), random: byte / 256, retryAfterMs: null },
  );
  return { state: nextAt === null ? 'dead' : 'deferred', answer, nextAt, startsOver: false };
}

/** Whether the mail server is well: what it says of one mail says nothing of the next. */
function isHealthy(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'sent':
    case 'refused':
      return true;
    case 'unknown':
      return false;
    case 'deferred':
      return outcome.cause === 'temporary' && outcome.code !== null && outcome.code !== serverCloses;
  }
}

/** The server says goodbye (RFC 5321, 3.8). */
const serverCloses = 421;

/** Records what came of an attempt; tells of a mail that will not arrive. */
function* settle(ctx: Context, claimed: ClaimedMail, settlement: MailSettlement): Script<void> {
  const now = ctx.clock.now();
  const isRecorded = yield* settleMail(claimed, settlement, now);
  const { state, answer } = settlement;
  if (!isRecorded || (state !== 'bounced' && state !== 'dead')) return;
  const { storeId, cardId } = claimed;
  const [card, record] = yield* together(findCard(storeId, cardId), findStore(storeId));
  if (!card || !record) return;
  const delivery = mailRecordOf(
    ctx.keys.publicIds,
    { ...claimed, state, answer, nextAt: null, lastAt: claimed.lastAt ?? now, endedAt: now },
    { domain: record.store.domain, now },
  );
  yield* announce(ctx, deliveryFailed(ctx.keys.publicIds, card, delivery));
  const buyer = buyerOf(card);
  if (claimed.kind !== 'gift_card' || !buyer) return;
  const { tellFailures } = yield* findMailSettings(storeId);
  if (!tellFailures) return;
  yield* bookMail(ctx, {
    storeId,
    cardId,
    kind: 'delivery_failed',
    address: buyer.email,
    code: null,
    sendAt: null,
    occasion: null,
  });
}
