/** Settles, cancels and refunds a payment: captures or voids its hold, or gives money back to the card. */

import {
  Logger,
  type CancelPaymentErrorResult,
  type CancelPaymentResult,
  type CreateRefundResult,
  type Order,
  type Payment,
  type SettlePaymentErrorResult,
  type SettlePaymentResult,
} from '@vendure/core';
import { ApiError, responseOf, type Hold } from 'largesse-client';
import { decimalOf } from './amounts.ts';
import { ageMsOf, codeOf, externalIdOf, isUnknown, requestErrorOf, type GiftCards } from './gift-cards.ts';
import type { Settings } from './options.ts';

export const logContext = 'LargesseGiftCards';

/** The metadata of a payment: customers see only `public`. The code of a card is not in it. */
export interface HeldMetadata {
  /** The code of the handler. */
  handler: string;
  holdId: number;
  giftCardId: number;
  /** The capture's transaction. */
  captureId?: number;
  public: { lastCharacters: string };
}

/** A payment with its order, and the decimals of Vendure's integers. */
export interface Step {
  order: Order;
  payment: Payment;
  precision: number;
}

/** Whether the hold is that of a payment which counts. */
export function isHeldBy(payments: readonly Payment[], hold: Hold): boolean {
  return payments.some(
    ({ state, transactionId }) =>
      (state === 'Authorized' || state === 'Settled') && transactionId === String(hold.id),
  );
}

/** Whether a payment was made with the handler of these settings. */
export function isOwn({ code }: Settings, payment: Payment): boolean {
  return metadataOf(payment)?.handler === code;
}

/** The metadata of a payment that holds a card; null: it was declined. */
function metadataOf({ metadata }: Payment): HeldMetadata | null {
  return Number.isSafeInteger(metadata?.['holdId']) ? (metadata as unknown as HeldMetadata) : null;
}

/**
 * Captures the hold of a payment. Repeating it repeats the result, not the capture. If it fails, the payment keeps its state,
 * and its error message says what to do.
 */
export async function captureHold(
  cards: GiftCards,
  { order, payment, precision }: Step,
): Promise<SettlePaymentResult | SettlePaymentErrorResult> {
  const held = metadataOf(payment);
  if (!held) return unsettled(payment, 'This payment holds no gift card.');
  try {
    const request = {
      amount: decimalOf(payment.amount, precision),
      external_id: externalIdOf(order.code, 'capture', payment.id),
    };
    const { transaction } = await cards.client.holds.capture(held.holdId, request, cards.adminTime());
    return { success: true, metadata: { captureId: transaction.id } };
  } catch (error) {
    return unsettled(payment, captureMessageOf(error, held));
  }
}

function unsettled({ state }: Payment, errorMessage: string): SettlePaymentErrorResult {
  return { success: false, state: state as 'Authorized', errorMessage };
}

function captureMessageOf(error: unknown, { public: { lastCharacters } }: HeldMetadata): string {
  const card = `gift card …${lastCharacters}`;
  const { message } = requestErrorOf(error);
  if (isUnknown(error))
    return `Largesse did not respond, so the capture of ${card} may have happened. Settle the payment again: it is captured only once. (${message})`;
  if (codeOf(error) === 'hold-expired')
    return `The hold on ${card} has expired, and nothing was captured. Cancel this payment, and ask the customer for another one.`;
  if (codeOf(error) === 'hold-closed')
    return `The hold on ${card} was voided or captured in Largesse. Cancel this payment, and ask the customer for another one.`;
  return `The hold on ${card} was not captured: ${message}`;
}

/** Voids the hold of a payment. A hold that was captured cannot be voided: the payment keeps its state. */
export async function voidHold(
  cards: GiftCards,
  payment: Payment,
): Promise<CancelPaymentResult | CancelPaymentErrorResult> {
  const held = metadataOf(payment);
  if (!held) return { success: true };
  const options = cards.adminTime();
  const uncancelled = (errorMessage: string): CancelPaymentErrorResult => ({
    success: false,
    state: payment.state as 'Authorized',
    errorMessage,
  });
  try {
    const { status } = await closedHold(cards, held.holdId, options);
    if (status !== 'captured') return { success: true };
    return uncancelled(
      `The hold on gift card …${held.public.lastCharacters} was captured. Settle the payment, and refund it.`,
    );
  } catch (error) {
    const { message } = requestErrorOf(error);
    return uncancelled(
      isUnknown(error)
        ? `Largesse did not respond. Cancel the payment again. (${message})`
        : `The hold on gift card …${held.public.lastCharacters} was not voided: ${message}`,
    );
  }
}

/** Voids a hold, unless it is closed already. Returns it. */
export async function closedHold(
  { client }: GiftCards,
  holdId: number,
  options: ReturnType<GiftCards['adminTime']>,
): Promise<Hold> {
  try {
    return (await client.holds.void(holdId, options)).hold;
  } catch (error) {
    if (codeOf(error) !== 'hold-closed' && codeOf(error) !== 'hold-expired') throw error;
    return (await client.holds.retrieve(holdId, options)).hold;
  }
}

/**
 * Gives an amount back to the card of a settled payment.
 * @param refunds the number of refunds of the payment that have not failed. A refund that failed without a response has the
 * same external id as the next one, so a repetition finds what it did.
 */
export async function refundToCard(
  cards: GiftCards,
  {
    order,
    payment,
    precision,
    amount,
    refunds,
    reason,
  }: Step & { amount: number; refunds: number; reason: string | null },
): Promise<CreateRefundResult> {
  const captureId = metadataOf(payment)?.captureId;
  if (captureId === undefined) return failed(order, 'This payment was not captured. Cancel it instead.');
  try {
    const request = {
      amount: decimalOf(amount, precision),
      external_id: externalIdOf(order.code, 'refund', payment.id, refunds + 1),
      note: noteOf(reason),
    };
    const result = await cards.client.transactions.reverse(captureId, request, cards.adminTime());
    const { transaction } = result;
    const isFound = responseOf(result).status !== 201;
    if (isFound && ageMsOf(result, transaction.created_at) < cards.inProgressMs)
      return failed(
        order,
        'The same refund was made a moment ago. If it is missing here, repeat it in a minute.',
      );
    return { state: 'Settled', transactionId: String(transaction.id) };
  } catch (error) {
    return failed(order, refundMessageOf(error));
  }
}

function failed({ code }: Order, errorMessage: string): CreateRefundResult {
  Logger.error(`Order ${code}: ${errorMessage}`, logContext);
  return { state: 'Failed', metadata: { errorMessage } };
}

function refundMessageOf(error: unknown): string {
  const { message } = requestErrorOf(error);
  if (isUnknown(error))
    return `Largesse did not respond, so the refund may have happened. Repeat the same refund: it is made only once. (${message})`;
  if (codeOf(error) === 'external-id-used')
    return 'An earlier refund of another amount happened, but is missing here. Repeat that refund first.';
  const reversible = error instanceof ApiError ? error.problem?.['reversible'] : undefined;
  if (typeof reversible === 'string') return `Only ${reversible} can be given back to this gift card.`;
  return `The refund was not made: ${message}`;
}

/** A note of Largesse has at most 5,000 characters, and no control characters except newlines and tabs. */
function noteOf(reason: string | null): string | null {
  return reason?.replaceAll(/[^\P{C}\n\t]/gu, ' ').slice(0, 1_000) ?? null;
}
