/** The emails of a store for its staff: pages of all emails, what needs attention, and what can be done about one. */

import type { Context } from '../../../core/storage/context.ts';
import {
  emailKinds,
  toppedUpBy,
  deliveryStates,
  type EmailDelivery,
  type EmailState,
} from '../../../core/emails/domain/email.ts';
import { emailKey, type EmailAddress } from '../../../core/domain/email-address.ts';
import { recipientCorrectedEvent } from '../../../core/events/domain/event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { lowerLetters } from '../../../core/cards/domain/tags.ts';
import { lockCard, replaceRecipient } from '../../../core/cards/storage/card.ts';
import {
  cancelScheduled,
  countEmailsIn,
  countUndelivered,
  findEmailById,
  findNewestCodeEmails,
  listEmailCards,
  listEmails,
  listEmailsOf,
  walkEmails,
  type EmailCard,
  type EmailFilter,
  type EmailSubject,
  type SearchedText,
} from '../storage/list.ts';
import { findEmailPlace } from '../../../core/emails/storage/place.ts';
import { findFirstSendAt } from '../storage/queue.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { findTransfer } from '../../../core/money/storage/transfer.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { findOrRecordCustomer } from '../../../core/customers/service/customer.ts';
import { sendGiftCard, type RotateCommand } from '../../../core/emails/service/email.ts';
import { readEmailDesign, type EmailDesign } from './settings.ts';
import { requireCard } from '../../../core/cards/service/present-card.ts';
import { today } from '../../../core/stores/service/day.ts';

export { findCard } from '../../../core/cards/storage/card.ts';
export { searchedCardsMax } from '../storage/list.ts';

/** An email in a list. */
export type ListedEmail = {
  readonly email: EmailDelivery;
  readonly card: EmailCard;
  /** Whether a later email of the card has another code. */
  readonly isReplaced: boolean;
};

export type EmailPosition = { readonly from: number | null; readonly isBackwards: boolean };

export type ListedEmails = {
  readonly emails: readonly ListedEmail[];
  /** The email before which newer ones are; null: this is the first page. */
  readonly newer: number | null;
  readonly older: number | null;
};

const pageSize = 50;

const firstPage: EmailPosition = { from: null, isBackwards: false };

/** The emails of a list. Absent: any. */
export type WantedEmails = Partial<EmailFilter> & {
  readonly subject?: EmailSubject | { readonly batchId: number };
};

/** A page of the emails of a store, newest first. */
export function* pageOfStoreEmails(
  storeId: number,
  wanted: WantedEmails,
  { from, isBackwards }: EmailPosition,
): Script<ListedEmails> {
  const { states = deliveryStates, kinds = emailKinds, subject } = wanted;
  const range = { from, isBackwards, limit: pageSize + 1 };
  const isFiltered = wanted.states !== undefined || wanted.kinds !== undefined;
  const batchId = subject && 'batchId' in subject ? subject.batchId : null;
  const found =
    subject && !('batchId' in subject)
      ? yield* listEmailsOf(storeId, subject, { states, kinds }, range)
      : yield* listEmails(storeId, isFiltered || batchId !== null ? { states, kinds } : null, range, batchId);
  // Fewer emails are before this page than it could have: it is the first one.
  if (isBackwards && found.length <= pageSize) return yield* pageOfStoreEmails(storeId, wanted, firstPage);
  const shown = found.slice(0, pageSize);
  const emails = isBackwards ? shown.toReversed() : shown;
  const [top, last] = [emails[0]?.id ?? null, emails.at(-1)?.id ?? null];
  return {
    emails: yield* withCards(storeId, emails),
    newer: isBackwards || from !== null ? top : null,
    older: isBackwards || found.length > pageSize ? last : null,
  };
}

/** @param emails at most a page. */
function* withCards(storeId: number, emails: readonly EmailDelivery[]): Script<readonly ListedEmail[]> {
  const cardIds = [...new Set(emails.map(({ cardId }) => cardId))];
  const failed = emails.filter((email) => isFailedCode(email)).map(({ cardId }) => cardId);
  const [cards, newest] = yield* parallel(
    listEmailCards(storeId, cardIds),
    findNewestCodeEmails(storeId, [...new Set(failed)]),
  );
  return emails.flatMap((email) => {
    const card = cards.get(email.cardId);
    return card
      ? [{ email, card, isReplaced: isFailedCode(email) && newest.get(email.cardId) !== email.id }]
      : [];
  });
}

/** The most emails that a search reads: in one transaction, because SQLite runs in the service's only thread, and for one page. */
export type SearchedMax = { readonly step: number; readonly page: number };

const searchedMax: SearchedMax = { step: 1_000, page: 100_000 };

/** Emails that are found by a text. The page can be short, or empty, and still have older or newer emails. */
export async function searchStoreEmails(
  { read }: Pick<Storage, 'read'>,
  storeId: number,
  { text, states = deliveryStates, kinds = emailKinds }: Omit<WantedEmails, 'subject'> & SearchedText,
  { from, isBackwards }: EmailPosition,
  max: SearchedMax = searchedMax,
): Promise<ListedEmails> {
  const wanted = { text: lowerLetters(text), states, kinds };
  const found: EmailDelivery[] = [];
  let end = from;
  let isComplete = false;
  for (
    let searched = 0;
    searched < max.page && found.length <= pageSize && !isComplete;
    searched += max.step
  ) {
    const range = { from: end, isBackwards, limit: pageSize + 1 - found.length };
    const walked = await read(() => walkEmails(storeId, wanted, range, max.step));
    found.push(...walked.found);
    end = walked.end;
    isComplete = end === null;
  }
  // Fewer emails are before this page than it could have: it is the first one.
  if (isBackwards && isComplete && found.length <= pageSize)
    return await searchStoreEmails({ read }, storeId, { text, states, kinds }, firstPage, max);
  const shown = found.slice(0, pageSize);
  const emails = isBackwards ? shown.toReversed() : shown;
  // Where the search continues: after the last email that is shown, or after the last one that was read.
  const next = found.length > pageSize ? (shown.at(-1)?.id ?? null) : end;
  const newer = from === null ? null : (emails[0]?.id ?? from - 1);
  return {
    emails: await read(() => withCards(storeId, emails)),
    newer: isBackwards ? next : newer,
    older: isBackwards ? (emails.at(-1)?.id ?? (from ?? 0) + 1) : next,
  };
}

export function hasFailed({ state }: Pick<EmailDelivery, 'state'>): boolean {
  return state === 'bounced' || state === 'dead';
}

/** Whether an email with a code could not be delivered. */
function isFailedCode(email: Pick<EmailDelivery, 'state' | 'kind'>): boolean {
  return email.kind === 'gift_card' && hasFailed(email);
}

/** A number of emails; if it is not exact, there are more. */
export type EmailCount = { readonly count: number; readonly isExact: boolean };

export type EmailConcerns = {
  readonly scheduled: EmailCount;
  readonly waiting: EmailCount;
  /** Usable cards whose code has not reached anyone. */
  readonly undelivered: EmailCount;
};

/** Emails are counted up to this number. */
const countMax = 1_000;

/** The states of emails that are sent as soon as possible. */
export const waitingStates = ['queued', 'deferred'] as const satisfies readonly EmailState[];

export function* countEmailConcerns(ctx: Context, store: Store): Script<EmailConcerns> {
  const max = countMax + 1;
  const [scheduled, waiting, undelivered] = yield* parallel(
    countEmailsIn(store.id, ['scheduled'], max),
    countEmailsIn(store.id, waitingStates, max),
    countUndelivered(store.id, { today: today(ctx, store), max }),
  );
  return { scheduled: capped(scheduled), waiting: capped(waiting), undelivered };
}

function capped(count: number): EmailCount {
  return { count: Math.min(count, countMax), isExact: count <= countMax };
}

export type ShownEmail = Omit<ListedEmail, 'card'> & { readonly card: Card };

/** @throws Fault `not-found` if the store has no such email. */
export function* showEmail(storeId: number, id: number): Script<ShownEmail> {
  const email = yield* findEmailById(storeId, id);
  if (!email) throw new Fault('not-found');
  const [card, newest] = yield* parallel(
    requireCard(storeId, email.cardId),
    findNewestCodeEmails(storeId, [email.cardId]),
  );
  return { email, card, isReplaced: email.kind === 'gift_card' && newest.get(card.id) !== email.id };
}

export type PreviewParts = EmailDesign & {
  /** When the first email with a code of the card was sent (ms). */
  readonly cardSentAt: number;
  /** The top-up that it is the receipt of; undefined: none. */
  readonly toppedUp: Transfer | undefined;
  /** The location of the sale that it is the receipt of; undefined: at no location. */
  readonly place: Location | undefined;
};

/** Returns the store's texts of an email, as it would be sent now, and the top-up that it is about. */
export function* findPreviewParts({ email, card }: Pick<ShownEmail, 'email' | 'card'>): Script<PreviewParts> {
  const { storeId } = card;
  const transferId = toppedUpBy(email);
  const [design, sentAt, toppedUp] = yield* parallel(
    readEmailDesign(storeId, email.kind),
    findFirstSendAt(storeId, card.id),
    transferId === null ? resolved(undefined) : findTransfer(storeId, transferId),
  );
  const place = yield* findEmailPlace({ storeId, cardId: card.id, kind: email.kind }, toppedUp);
  return { ...design, cardSentAt: sentAt ?? email.sendAt, toppedUp, place };
}

/**
 * Sends a new code to another address than that of an email that could not be delivered. The address becomes that of the
 * card's recipient if that is requested and the email went to the recipient.
 * @throws Fault `not-found`; `precondition-failed` if the email was delivered or erased, or a later one has another code;
 * and what `sendGiftCard` does.
 */
export function* sendToCorrected(
  ctx: Context,
  command: Omit<RotateCommand, 'cardId' | 'versions'> & {
    readonly emailId: number;
    readonly address: EmailAddress;
    readonly canSend: boolean;
    /** Whether the address also becomes that of the card's recipient. */
    readonly correctsRecipient: boolean;
  },
): Script<{ readonly delivery: EmailDelivery; readonly isRecipientCorrected: boolean }> {
  const { store, emailId, correctsRecipient, ...rest } = command;
  const found = yield* findEmailById(store.id, emailId);
  if (!found) throw new Fault('not-found');
  // The later one of two concurrent corrections reads the email of the earlier one.
  yield* lockCard(found);
  const { email, card, isReplaced } = yield* showEmail(store.id, emailId);
  if (!isFailedCode(email) || isReplaced || email.address === '') throw new Fault('precondition-failed');
  const isRecipientCorrected = correctsRecipient && isToRecipient(email, card);
  if (isRecipientCorrected) yield* correctRecipient(ctx, { store, card, address: command.address });
  const { delivery } = yield* sendGiftCard(ctx, { ...rest, store, cardId: email.cardId, versions: null });
  return { delivery, isRecipientCorrected };
}

/** Whether an email went to the address of the card's recipient. */
export function isToRecipient(
  { address }: Pick<EmailDelivery, 'address'>,
  { recipient }: Pick<Card, 'recipient'>,
): boolean {
  return recipient !== null && emailKey(recipient.email) === emailKey(address);
}

/** Gives a locked card the recipient with another address. Other cards of the former recipient do not change. */
export function* correctRecipient(
  ctx: Context,
  { store, card, address }: { readonly store: Store; readonly card: Card; readonly address: EmailAddress },
): Script<void> {
  const recipient = yield* findOrRecordCustomer(ctx, store.id, address);
  // Another spelling of the same address.
  if (recipient.id === card.recipient?.id) return;
  const corrected: Card = { ...card, recipient, version: card.version + 1 };
  yield* replaceRecipient(card, corrected);
  yield* recordEvent(ctx, recipientCorrectedEvent(ctx.keys.publicIds, corrected));
}

/** The response of an email that a person cancelled. */
export const cancelledByStaff = 'cancelled by a member of staff';

/**
 * Cancels a scheduled email.
 * @throws Fault `not-found`; `precondition-failed` if the email is no longer scheduled.
 */
export function* cancelEmail(ctx: Context, storeId: number, emailId: number): Script<EmailDelivery> {
  const email = yield* findEmailById(storeId, emailId);
  if (!email) throw new Fault('not-found');
  const cancelled = yield* cancelScheduled(email, { now: ctx.clock.now(), response: cancelledByStaff });
  if (!cancelled) throw new Fault('precondition-failed');
  return email;
}
