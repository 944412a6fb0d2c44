/** A batch as a campaign: figures about its cards and emails, and changes of the emails. */

import type { Context } from '../../../core/storage/context.ts';
import type { Batch } from '../domain/batch.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import type { EmailState } from '../../../core/emails/domain/email.ts';
import type { SendOn } from '../../../core/emails/domain/send-on.ts';
import { Fault, type FaultCode } from '../../../core/domain/fault.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { BatchKey } from '../storage/batch.ts';
import {
  cancelUnsentEmails,
  countUnsentEmails,
  hasUnsentExpiringBefore,
  listUndeliveredOf,
  rescheduleUnsentEmails,
  type UndeliveredEmail,
  type UnsentEmails,
} from '../storage/emails.ts';
import { countCardsByEmail, countCardUse } from '../storage/figures.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { today } from '../../../core/stores/service/day.ts';
import { sendGiftCard } from '../../../core/emails/service/email.ts';
import { cancelledByStaff, sendToCorrected } from '../../emails/service/list.ts';
import { showBatch } from './batch-lists.ts';
import { batchKeyOf } from './batch.ts';

export type { UndeliveredEmail, UnsentEmails } from '../storage/emails.ts';

export type CampaignFigures = {
  /** The number of cards by the state of their newest email with the code. */
  readonly emails: ReadonlyMap<EmailState, number>;
  readonly viewed: number;
  readonly redeemed: number;
  /** Redemptions with them, less refunds. */
  readonly redeemedTotal: Money;
};

export function* readCampaignFigures(batch: Batch): Script<CampaignFigures> {
  const key = batchKeyOf(batch);
  const [emails, { viewed, redeemed, redeemedMinor }] = yield* parallel(
    countCardsByEmail(key),
    countCardUse(key),
  );
  return { emails, viewed, redeemed, redeemedTotal: { ...batch.total, minor: redeemedMinor } };
}

export function* readUnsentEmails(ctx: Context, batch: Batch): Script<UnsentEmails> {
  return yield* countUnsentEmails(batchKeyOf(batch), ctx.clock.earliest());
}

/** @throws Fault `not-found`; `precondition-failed` while its cards are being issued, which writes emails. */
function* requireComplete(key: BatchKey): Script<Batch> {
  const batch = yield* showBatch(key);
  if (batch.state !== 'complete') throw new Fault('precondition-failed');
  return batch;
}

export type CancelledEmails = {
  readonly batch: Batch;
  readonly cancelled: number;
  /** Cards whose email was sent before. */
  readonly sent: number;
  /** Emails that a process is sending now. */
  readonly inProgress: number;
};

/**
 * Cancels the emails with codes that were not sent, those that are scheduled included. The cards stay valid.
 * @throws Fault as `requireComplete`.
 */
export function* cancelUnsent(ctx: Context, key: BatchKey): Script<CancelledEmails> {
  const batch = yield* requireComplete(key);
  const now = ctx.clock.earliest();
  const cancelled = yield* cancelUnsentEmails(key, { now, response: cancelledByStaff });
  const [{ emails }, { count }] = yield* parallel(readCampaignFigures(batch), countUnsentEmails(key, now));
  return { batch, cancelled, sent: emails.get('sent') ?? 0, inProgress: count };
}

export type RescheduledEmails = { readonly batch: Batch; readonly rescheduled: number };

/**
 * Sends the emails with codes that were not sent at another time.
 * @throws Fault as `requireComplete`; `invalid-parameter` on `send_on` if a card expires before that day.
 */
export function* rescheduleUnsent(ctx: Context, key: BatchKey, sendOn: SendOn): Script<RescheduledEmails> {
  const batch = yield* requireComplete(key);
  if (yield* hasUnsentExpiringBefore(key, sendOn.day))
    throw new Fault('invalid-parameter', { errors: { send_on: ['must not be after expires_on'] } });
  const now = ctx.clock.earliest();
  const sendAt = Math.max(now, sendOn.at);
  return { batch, rescheduled: yield* rescheduleUnsentEmails(key, { now, sendAt }) };
}

/** The most cards that one press gives a new code: so many take a fraction of a second on SQLite. */
export const resentTogetherMax = 100;

/** The first cards of a batch whose email could not be delivered, and that can get a new code. */
export function* listUndeliveredCards(
  ctx: Context,
  store: Store,
  key: BatchKey,
): Script<readonly UndeliveredEmail[]> {
  return yield* listUndeliveredOf(key, { today: today(ctx, store), limit: resentTogetherMax });
}

type Sender = { readonly store: Store; readonly actor: string; readonly canSend: boolean };

export type ResentCards = {
  readonly batch: Batch;
  readonly resent: number;
  /** Cards that changed since, or to which an email was sent a moment before. */
  readonly omitted: number;
};

/** The reasons for which one card gets no new code, whereas the others do. They are found before the card changes. */
const omittedFor: ReadonlySet<FaultCode> = new Set([
  'card-disabled',
  'card-expired',
  'card-suspended',
  'not-found',
  'precondition-failed',
  'too-many-requests',
]);

/** @returns whether the card got a new code. @throws the faults that concern all cards. */
function* sentOrOmitted(send: () => Script<unknown>): Script<boolean> {
  try {
    yield* send();
    return true;
  } catch (error) {
    if (error instanceof Fault && omittedFor.has(error.code)) return false;
    throw error;
  }
}

/**
 * Emails new codes to the addresses to which the emails of the batch could not be delivered.
 * @throws Fault as `requireComplete`; `no-mail` if the store or the service sends no email.
 */
export function* resendUndelivered(
  ctx: Context,
  key: BatchKey,
  { store, actor, canSend }: Sender,
): Script<ResentCards> {
  const batch = yield* requireComplete(key);
  const failed = yield* listUndeliveredCards(ctx, store, key);
  let resent = 0;
  for (const { email } of failed) {
    const address = parseEmail(email.address);
    if (!address.ok) continue;
    const command = { store, actor, canSend, cardId: email.cardId, versions: null, address: address.value };
    if (yield* sentOrOmitted(() => sendGiftCard(ctx, command))) resent += 1;
  }
  return { batch, resent, omitted: failed.length - resent };
}

export type CorrectedAddress = { readonly emailId: number; readonly address: EmailAddress };

/**
 * Emails new codes to corrected addresses, which become those of the cards' recipients.
 * @param corrected at most `resentTogetherMax`, each for an email of the batch.
 * @throws Fault as `resendUndelivered`.
 */
export function* correctUndelivered(
  ctx: Context,
  key: BatchKey,
  corrected: readonly CorrectedAddress[],
  { store, actor, canSend }: Sender,
): Script<ResentCards> {
  const batch = yield* requireComplete(key);
  const failed = new Set((yield* listUndeliveredCards(ctx, store, key)).map(({ email }) => email.id));
  let resent = 0;
  for (const { emailId, address } of corrected.slice(0, resentTogetherMax)) {
    if (!failed.has(emailId)) continue;
    const command = { store, actor, canSend, emailId, address, versions: null, correctsRecipient: true };
    if (yield* sentOrOmitted(() => sendToCorrected(ctx, command))) resent += 1;
  }
  return { batch, resent, omitted: corrected.length - resent };
}
