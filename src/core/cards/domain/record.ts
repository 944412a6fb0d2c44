/**
 * The records of the API, with the fields of a gift card in the specification's order. An *echoed* field is
 * a read-only field in an update, from a client that sends back the record that it read.
 */

import { withAddedFields } from './field-values.ts';
import type { editableFields } from './fields.ts';
import type { Card } from './card.ts';
import { availableOf, spendStateOf, stateOf, type CardMoment } from './state.ts';
import { formatInstant, formatInstantOrNull } from '../../domain/day.ts';
import { parseEmail } from '../../domain/email-address.ts';
import { isHoldExpired, type Hold } from '../../money/domain/hold.ts';
import { effectOf, type Transfer } from '../../money/domain/ledger.ts';
import { formatMoney, parseAmount } from '../../money/domain/money.ts';
import { publicIdOrNull, type PublicIds } from '../../../platform/public-id.ts';
import type {
  BalanceRecord,
  DetailRecord,
  GiftCardRecord,
  HoldRecord,
  SpendableRecord,
  TillRecord,
  TransactionRecord,
} from './schemas.ts';

/** The record of a card. It does not contain the code, which only the response to a creation adds. */
export function recordOf(ids: PublicIds, card: Card): GiftCardRecord {
  return {
    id: ids.of(card.id),
    balance: formatMoney(card.balance),
    created_at: formatInstant(card.createdAt),
    currency: card.initialValue.currency.code,
    initial_value: formatMoney(card.initialValue),
    disabled_at: formatInstantOrNull(card.disabledAt),
    line_item_id: card.lineItemId,
    api_client_id: card.apiClientId,
    user_id: card.userId,
    customer_id: publicIdOrNull(ids, card.customer?.id ?? null),
    customer_email: card.customer?.email ?? null,
    recipient_id: publicIdOrNull(ids, card.recipient?.id ?? null),
    recipient_email: card.recipient?.email ?? null,
    note: card.note,
    expires_on: card.expiresOn,
    message: card.message,
    last_characters: card.lastCharacters,
    order_id: card.orderId,
  };
}

/** @param today the present day in the store's time zone. */
export function spendableRecordOf(ids: PublicIds, card: Card, today: string): SpendableRecord {
  return {
    ...recordOf(ids, card),
    held: formatMoney(card.held),
    available: formatMoney(availableOf(card, today)),
    state: spendStateOf(card, today),
  };
}

/** Returns what `spendableRecordOf` returns, with the state that lists and the detail resource have. */
export function statedRecordOf(ids: PublicIds, card: Card, moment: CardMoment): SpendableRecord {
  return { ...spendableRecordOf(ids, card, moment.today), state: stateOf(card, moment) };
}

/** The record of a card with what lists and the detail resource add. */
export function detailRecordOf(ids: PublicIds, card: Card, moment: CardMoment): DetailRecord {
  const record = {
    ...statedRecordOf(ids, card, moment),
    suspended_at: formatInstantOrNull(card.suspendedAt),
    suspend_reason: card.suspendReason,
    email_status: moment.emailStatus,
  };
  return withAddedFields(record, card);
}

/** @param today the present day in the store's time zone. */
export function balanceRecordOf(card: Card, today: string): BalanceRecord {
  return {
    balance: formatMoney(card.balance),
    held: formatMoney(card.held),
    available: formatMoney(availableOf(card, today)),
    currency: card.balance.currency.code,
    expires_on: card.expiresOn,
    state: spendStateOf(card, today),
  };
}

/** @param today the present day in the store's time zone. */
export function tillRecordOf(ids: PublicIds, card: Card, today: string): TillRecord {
  return { id: ids.of(card.id), ...balanceRecordOf(card, today), last_characters: card.lastCharacters };
}

/** The record of a transfer. Its amount is negative if the balance decreased. */
export function transactionOf(ids: PublicIds, transfer: Transfer): TransactionRecord {
  const { currency } = transfer.amount;
  return {
    id: ids.of(transfer.id),
    gift_card_id: ids.of(transfer.cardId),
    kind: transfer.kind,
    amount: formatMoney({ minor: effectOf(transfer), currency }),
    currency: currency.code,
    balance_after: formatMoney(transfer.balanceAfter),
    actor: transfer.actor,
    reference: transfer.reference,
    note: transfer.note,
    order_id: transfer.orderId,
    order_reference: transfer.orderReference,
    external_id: transfer.externalId,
    location_id: transfer.locationId,
    hold_id: publicIdOrNull(ids, transfer.holdId),
    reverses: publicIdOrNull(ids, transfer.reverses),
    created_at: formatInstant(transfer.createdAt),
  };
}

/** The record of a hold at `now` (ms). An expired hold is `expired`, even before it is closed. */
export function holdRecordOf(ids: PublicIds, hold: Hold, now: number): HoldRecord {
  const isOver = isHoldExpired(hold, now);
  const closedAt = isOver ? hold.expiresAt : hold.closedAt;
  return {
    id: ids.of(hold.id),
    gift_card_id: ids.of(hold.cardId),
    status: isOver ? 'expired' : hold.status,
    amount: formatMoney(hold.amount),
    captured_amount: formatMoney(hold.captured),
    currency: hold.amount.currency.code,
    actor: hold.actor,
    reference: hold.reference,
    note: hold.note,
    order_id: hold.orderId,
    order_reference: hold.orderReference,
    external_id: hold.externalId,
    location_id: hold.locationId,
    created_at: formatInstant(hold.createdAt),
    expires_at: formatInstant(hold.expiresAt),
    closed_at: formatInstantOrNull(closedAt),
  };
}

/** A field that updates cannot set. A card's details have all fields of a card in any response. */
export type ReadOnlyField = Exclude<keyof DetailRecord, 'balance' | (typeof editableFields)[number]>;

/** Whether an echoed value equals the card's current value, in any accepted notation. */
export function matchesRecord(
  ids: PublicIds,
  value: unknown,
  field: ReadOnlyField,
  { card, ...moment }: CardMoment & { readonly card: Card },
): boolean {
  const recorded = detailRecordOf(ids, card, moment)[field];
  // Operations on money return `active` for empty and scheduled cards.
  if (value === recorded || (field === 'state' && value === spendStateOf(card, moment.today))) return true;
  if (typeof recorded === 'number') return false;
  if (recorded === null) return value === '';
  switch (field) {
    case 'initial_value':
    case 'held':
    case 'available': {
      const amount = parseAmount(value, { currency: card.initialValue.currency, zeroAllowed: true });
      return amount.ok && formatMoney(amount.value) === recorded;
    }
    case 'customer_email':
    case 'recipient_email':
      return isSameAddress(value, recorded);
    case 'last_characters':
      return typeof value === 'string' && value.toLowerCase() === recorded;
    default:
      return false;
  }
}

function isSameAddress(left: unknown, right: string): boolean {
  const [one, other] = [parseEmail(left), parseEmail(right)];
  return one.ok && other.ok && one.value.key === other.value.key;
}
