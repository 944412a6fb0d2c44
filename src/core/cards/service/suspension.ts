/** Suspends a card, for example while a payment is checked, and resumes it. A suspension moves no money. */

import type { Context } from '../../storage/context.ts';
import { isDisabled, isSuspended, type Card } from '../domain/card.ts';
import type { EmailStatus } from '../domain/state.ts';
import { cardSuspensionEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import { replaceSuspension } from '../storage/card.ts';
import { findChangeEnd, noChanges, recordChange, type ChangeEnd } from '../storage/change.ts';
import { findEmailStatus } from '../storage/filter.ts';
import { releaseHeldEmails } from '../../emails/storage/email.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { requireVersion } from './present-card.ts';
import type { MoneyCommand } from '../../money/service/transfer.ts';

/** A card, and the status of its email, on which its state depends. */
export type StatedCard = { readonly card: Card; readonly emailStatus: EmailStatus };

export type SuspensionCommand = Pick<MoneyCommand, 'store' | 'cardId' | 'actor' | 'versions'>;

/**
 * Suspends a card. A suspended card does not change, not even its reason.
 * @param reason for the store only; null: none.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`.
 */
export function* suspendCard(
  ctx: Context,
  command: SuspensionCommand & { readonly reason: string | null },
): Script<StatedCard> {
  const { card, end } = yield* requireEnabled(ctx, command);
  if (isSuspended(card)) return yield* withEmailStatus(ctx, card);
  const suspended: Card = {
    ...card,
    suspendedAt: ctx.clock.now(),
    suspendReason: command.reason,
    version: card.version + 1,
  };
  yield* replaceSuspension(card, suspended);
  yield* recordSuspension(ctx, { before: card, after: suspended, end, actor: command.actor });
  return yield* withEmailStatus(ctx, suspended);
}

/**
 * Resumes a card, and sends the emails that waited for it. A card that is not suspended does not change.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`.
 */
export function* resumeCard(ctx: Context, command: SuspensionCommand): Script<StatedCard> {
  const { card, end } = yield* requireEnabled(ctx, command);
  if (!isSuspended(card)) return yield* withEmailStatus(ctx, card);
  const resumed: Card = { ...card, suspendedAt: null, suspendReason: null, version: card.version + 1 };
  yield* replaceSuspension(card, resumed);
  yield* recordSuspension(ctx, { before: card, after: resumed, end, actor: command.actor });
  yield* releaseHeldEmails({ storeId: card.storeId, cardId: card.id }, ctx.clock.earliest());
  return yield* withEmailStatus(ctx, resumed);
}

/** Records that a new card is suspended, as its first change. */
export function* recordSuspendedIssue(ctx: Context, card: Card, actor: string): Script<void> {
  const before: Card = { ...card, suspendedAt: null };
  yield* recordSuspension(ctx, { before, after: card, end: noChanges, actor });
}

function* recordSuspension(
  ctx: Context,
  change: { readonly before: Card; readonly after: Card; readonly end: ChangeEnd; readonly actor: string },
): Script<void> {
  const { after } = change;
  const createdAt = after.suspendedAt ?? ctx.clock.now();
  yield* recordChange(ctx, { ...change, createdAt });
  yield* recordEvent(ctx, cardSuspensionEvent(ctx.keys.publicIds, after));
}

function* requireEnabled(
  ctx: Context,
  command: SuspensionCommand,
): Script<{ readonly card: Card; readonly end: ChangeEnd }> {
  const key = { storeId: command.store.id, cardId: command.cardId };
  const [{ card }, end] = yield* parallel(requireVersion(ctx, command), findChangeEnd(key));
  if (isDisabled(card)) throw new Fault('card-disabled');
  return { card, end };
}

function* withEmailStatus(ctx: Context, card: Card): Script<StatedCard> {
  const key = { storeId: card.storeId, cardId: card.id };
  return { card, emailStatus: yield* findEmailStatus(key, ctx.clock.earliest()) };
}
