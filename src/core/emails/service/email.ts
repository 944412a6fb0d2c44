/** Enqueues the emails of new cards and new codes, and lists the emails of a card. */

import type { Context } from '../../storage/context.ts';
import { isDisabled, isExpired, isSuspended, type Card } from '../../cards/domain/card.ts';
import { lastCharactersOf } from '../../cards/domain/code.ts';
import { codeRotatedEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import { buyerOf, holderOf, type EmailDelivery, type EmailSettings } from '../domain/email.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Store } from '../../stores/domain/store.ts';
import { lockCard, replaceCode } from '../../cards/storage/card.ts';
import { findChangeEnd, recordChange, type ChangeEnd } from '../../cards/storage/change.ts';
import { codeLookup, insertCode } from '../../cards/storage/code.ts';
import { recordEvent } from '../../events/storage/event.ts';
import {
  enqueueEmail,
  cancelCodeEmails,
  findEmail,
  creationOccasion,
  findEmailSettings,
  listEmailsAfter,
  listEmailsBefore,
  listRepeatedEmails,
  saveEmailSettings,
} from '../storage/email.ts';
import { resolved, parallel, type Script } from '../../../database/sql/sql.ts';
import { makeWorkDue } from '../../stores/storage/work.ts';
import {
  newerPage,
  olderPage,
  requirePlace,
  type ListPage,
  type PageRequest,
} from '../../money/service/movements.ts';
import { assertVersion, loadCard, requireCard } from '../../cards/service/present-card.ts';
import { today } from '../../stores/service/day.ts';

/** The emails of a new card. */
export type CardEmails = {
  /** When the card is sent (ms); null: immediately. */
  readonly sendAt: number | null;
};

/** Enqueues the emails of a new card, if it has a holder: the card to the holder, and a receipt to a buyer. */
export function* enqueueCardEmails(
  ctx: Context,
  { card, code, emails }: { readonly card: Card; readonly code: Secret; readonly emails: CardEmails },
): Script<void> {
  const { storeId, id: cardId } = card;
  const holder = holderOf(card);
  if (!holder) return;
  const common = { storeId, cardId, occasion: null, isHeld: isSuspended(card) };
  const gift = { ...common, occasion: creationOccasion, address: holder.email, code, sendAt: emails.sendAt };
  yield* enqueueEmail(ctx, { ...gift, kind: 'gift_card' });
  const buyer = buyerOf(card);
  if (buyer)
    yield* enqueueEmail(ctx, { ...common, kind: 'receipt', address: buyer.email, code: null, sendAt: null });
}

/** @throws Fault `invalid-parameter` if a time is requested and the store does not send emails. */
export function* assertSendTime(storeId: number, { sendAt }: CardEmails): Script<void> {
  if (sendAt !== null && !(yield* findEmailSettings(storeId)).enabled)
    throw new Fault('invalid-parameter', { errors: { send_on: [noEmails] } });
}

const noEmails = 'cannot be set because the store does not send emails';

export type RotateCommand = {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  /** The versions that the request accepts (`If-Match`), as `versionTagOf` returns them; null: any. */
  readonly versions: readonly string[] | null;
};

/**
 * Replaces the code of a card that is neither disabled nor expired. The old code becomes invalid, and unsent emails with it are cancelled. The id, the
 * balance and the history stay the same. A suspended card stays suspended.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`.
 */
export function* rotateCode(
  ctx: Context,
  command: RotateCommand,
): Script<{ readonly card: Card; readonly code: Secret }> {
  const read = yield* requireReplaceable(ctx, command);
  return yield* rotateCardCode(ctx, read, command);
}

/** The shortest interval between repeated emails to one address, and the most per card and day. */
const repeatLimits = { intervalMs: 60_000, dayMs: 86_400_000, perDayMax: 10 } as const;

/**
 * Replaces the code as `rotateCode` does, and sends the new one to the card's holder, or to another address.
 * @throws Fault `card-suspended`, `no-address`, `no-mail`, `too-many-requests`, and what `rotateCode` does.
 */
export function* sendGiftCard(
  ctx: Context,
  command: RotateCommand & {
    /** Whether the service can send emails. */
    readonly canSend: boolean;
    /** Another address than the holder's, such as a corrected one; absent or null: the holder's. */
    readonly address?: EmailAddress | null;
    /** When it is sent (ms); absent or null: now. */
    readonly sendAt?: number | null;
  },
): Script<{ readonly card: Card; readonly delivery: EmailDelivery }> {
  const { store, cardId } = command;
  // Locks the card first: of two concurrent requests, the later one reads the email of the earlier one.
  const [read, { enabled }, recent] = yield* parallel(
    requireReplaceable(ctx, command),
    findEmailSettings(store.id),
    listRepeatedEmails({ storeId: store.id, cardId }, repeatLimits.perDayMax),
  );
  if (isSuspended(read.card)) throw new Fault('card-suspended');
  const holder = holderOf(read.card);
  const address = command.address?.address ?? holder?.email;
  if (address === undefined) throw new Fault('no-address');
  if (!enabled || !command.canSend) throw new Fault('no-mail');
  assertNotRepeatedSend(recent, { address, now: ctx.clock.now() });
  const { card, code } = yield* rotateCardCode(ctx, read, command);
  const delivery = yield* enqueueEmail(ctx, {
    storeId: card.storeId,
    cardId: card.id,
    kind: 'gift_card',
    address,
    code,
    sendAt: command.sendAt ?? null,
    occasion: null,
  });
  return { card, delivery };
}

/**
 * @param recent the newest repeated emails of the card, at most as many as are allowed per day.
 * @throws Fault `too-many-requests`.
 */
function assertNotRepeatedSend(
  recent: readonly EmailDelivery[],
  { address, now }: { readonly address: string; readonly now: number },
): void {
  const { intervalMs, dayMs, perDayMax } = repeatLimits;
  /** Ms left of a period that began with an email; 0 if it is over, or if the clock was set back by more than it. */
  const waitMs = (createdAt: number, periodMs: number): number =>
    Math.abs(now - createdAt) < periodMs ? createdAt + periodMs - now : 0;
  const intervalWaits = recent
    .filter((email) => email.address === address)
    .map(({ createdAt }) => waitMs(createdAt, intervalMs));
  const dayWaits = recent.map(({ createdAt }) => waitMs(createdAt, dayMs));
  const isDayFull = dayWaits.length >= perDayMax && dayWaits.every((left) => left > 0);
  const left = Math.max(0, ...intervalWaits, isDayFull ? Math.min(...dayWaits) : 0);
  if (left === 0) return;
  throw new Fault('too-many-requests', {
    detail: isDayFull
      ? `The gift card was emailed again ${perDayMax} times within a day: see Retry-After.`
      : 'The gift card was emailed again to this address less than a minute ago: see Retry-After.',
    retryAfterSeconds: Math.ceil(left / 1_000),
  });
}

type ReadCard = { readonly card: Card; readonly changeEnd: ChangeEnd };

function* requireReplaceable(ctx: Context, command: RotateCommand): Script<ReadCard> {
  const { store, cardId, versions } = command;
  // The lock keeps the card unchanged until the transaction ends.
  yield* lockCard({ storeId: store.id, cardId });
  const key = { storeId: store.id, cardId };
  const [state, changeEnd] = yield* parallel(loadCard(ctx, key), findChangeEnd(key));
  const { card } = state;
  assertVersion(versions, state);
  if (isDisabled(card)) throw new Fault('card-disabled');
  if (isExpired(card, today(ctx, store))) throw new Fault('card-expired');
  return { card, changeEnd };
}

function* rotateCardCode(
  ctx: Context,
  { card: read, changeEnd: end }: ReadCard,
  { actor }: Pick<RotateCommand, 'actor'>,
): Script<{ readonly card: Card; readonly code: Secret }> {
  const { storeId, id: cardId } = read;
  const code = ctx.codeCohorts.generate(storeId, ctx);
  const card: Card = { ...read, version: read.version + 1, lastCharacters: lastCharactersOf(code) };
  yield* replaceCode(read, card, codeLookup(ctx, storeId, code));
  yield* insertCode(ctx, { storeId, cardId, code });
  yield* recordChange(ctx, { before: read, after: card, end, actor, isCodeReplaced: true });
  yield* cancelCodeEmails(
    { storeId, cardId },
    { now: ctx.clock.now(), response: 'the card has another code' },
  );
  yield* recordEvent(ctx, codeRotatedEvent(ctx.keys.publicIds, card));
  return { card, code };
}

type CardKey = { readonly storeId: number; readonly cardId: number };

/** @throws Fault `not-found`; `invalid-query` if `before` or `after` is not the id of an email of the card. */
export function* listCardEmails(
  key: CardKey,
  { limit, before, after }: PageRequest,
): Script<ListPage<EmailDelivery>> {
  const id = after ?? before;
  const [, named, found] = yield* parallel(
    requireCard(key.storeId, key.cardId),
    id === null ? resolved(undefined) : findEmail({ ...key, id }),
    after === null
      ? listEmailsBefore(key, { before: before ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
      : listEmailsAfter(key, { after, limit: limit + 1 }),
  );
  if (id !== null) requirePlace(key, after === null ? 'before' : 'after', named);
  return after === null ? olderPage(found, { limit, isFirst: before === null }) : newerPage(found, limit);
}

/** Changes a store's email settings; absent ones keep their values. */
export function* changeEmailSettings(
  ctx: Context,
  storeId: number,
  changes: Partial<EmailSettings>,
): Script<EmailSettings> {
  const settings = { ...(yield* findEmailSettings(storeId)), ...changes };
  if (Object.keys(changes).length > 0) {
    yield* saveEmailSettings(ctx, storeId, settings);
    yield* makeWorkDue(ctx, storeId, ['reminders']);
  }
  return settings;
}
