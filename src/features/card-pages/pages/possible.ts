/** The actions that a person has for a card now, by role and state. Others are not shown. */

import { unheldOf, isDisabled, isExpired, isSuspended } from '../../../core/cards/domain/card.ts';
import { isHoldExpired, type Hold } from '../../../core/money/domain/hold.ts';
import { isAddition, type Transfer } from '../../../core/money/domain/ledger.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { isPermitted, type StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import { isSpendable } from './parts.ts';

/** Each is the last part of the path of its page. */
export type CardAction =
  'redeem' | 'add' | 'adjust' | 'edit' | 'resend' | 'print' | 'suspend' | 'resume' | 'disable' | 'enable';

export type CardView = {
  readonly found: DetailedCard;
  readonly store: Pick<Store, 'undoWindowMinutes'>;
  readonly member: StaffMember;
  /** A day in the store's time zone. */
  readonly today: string;
  /** Instant in ms. */
  readonly now: number;
};

/** The end (ms) of the time in which a disabled card can be re-enabled; null: it is not disabled, or never could be. */
export function reenableUntil({ found: { card }, store }: Pick<CardView, 'found' | 'store'>): number | null {
  return card.disabledAt === null || store.undoWindowMinutes === 0
    ? null
    : card.disabledAt + store.undoWindowMinutes * 60_000;
}

export function possibleActions(at: CardView): ReadonlySet<CardAction> {
  const { found, member, today, now } = at;
  const { card } = found;
  const mayChange = isPermitted(member, 'changeCards');
  const until = reenableUntil(at);
  if (isDisabled(card)) return new Set(mayChange && until !== null && now < until ? ['enable'] : []);
  const isStopped = isSuspended(card);
  const isUsable = !isExpired(card, today) && !isStopped;
  const actions: readonly (CardAction | false)[] = [
    mayChange && isSpendable(found, today) && 'redeem',
    mayChange && isUsable && 'add',
    mayChange && !isStopped && 'adjust',
    mayChange && 'edit',
    mayChange && isUsable && 'resend',
    mayChange && !isExpired(card, today) && 'print',
    mayChange && isUsable && 'suspend',
    mayChange && isStopped && 'resume',
    mayChange && 'disable',
  ];
  return new Set(actions.filter((action) => action !== false));
}

/** Whether a person can reverse a transfer, of which `left` has not been reversed yet. */
export function canReverse(
  { found: { card }, member }: Pick<CardView, 'found' | 'member'>,
  { transfer, left }: { readonly transfer: Transfer; readonly left: Money | null },
): boolean {
  if (left === null || left.minor === 0n || isDisabled(card) || !isPermitted(member, 'changeCards'))
    return false;
  return !isAddition(transfer.kind) || unheldOf(card).minor > 0n;
}

export function canRelease({ member, now }: Pick<CardView, 'member' | 'now'>, hold: Hold): boolean {
  return isPermitted(member, 'changeCards') && hold.status === 'open' && !isHoldExpired(hold, now);
}
