/** Follows orders: their holds last as long as they wait, and end with them. */

import {
  Logger,
  type OrderService,
  type OrderStateTransitionEvent,
  type PaymentService,
} from '@vendure/core';
import { holdsOf, type FoundHold, type GiftCards } from './gift-cards.ts';
import type { Settings } from './options.ts';
import { closedHold, isHeldBy, isOwn, logContext } from './payment.ts';

export interface OrderServices {
  orders: OrderService;
  payments: PaymentService;
}

/**
 * Extends the holds of an order that was placed, and voids those that belong to no payment. Cancels the payments of a
 * cancelled order. A failure is logged: without an extension, the hold ends with the time of the checkout.
 */
export async function followOrder(
  settings: Settings,
  cards: GiftCards,
  { services, event }: { readonly services: OrderServices; readonly event: OrderStateTransitionEvent },
): Promise<void> {
  const { ctx, order, toState } = event;
  const isPlaced = toState === 'PaymentAuthorized' || toState === 'PaymentSettled';
  if (!isPlaced && toState !== 'Cancelled') return;
  try {
    if (toState === 'Cancelled') await cancelPayments(settings, services, event);
    const payments = await services.orders.getOrderPayments(ctx, order.id);
    const options = cards.adminTime();
    for (const found of await holdsOf(cards, order.code, { ...options, status: 'open' })) {
      const isWaiting = isPlaced && isHeldBy(payments, found.hold);
      if (isWaiting) await extendHold(settings, cards, found);
      else await closedHold(cards, found.hold.id, options);
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    Logger.error(`Order ${order.code}: its holds on gift cards were not updated: ${message}`, logContext);
  }
}

/** Cancels the payments that wait. Vendure does not cancel the payments of an order itself. */
async function cancelPayments(
  settings: Settings,
  services: OrderServices,
  { ctx, order }: OrderStateTransitionEvent,
): Promise<void> {
  for (const payment of await services.orders.getOrderPayments(ctx, order.id))
    if (payment.state === 'Authorized' && isOwn(settings, payment))
      await services.payments.cancelPayment(ctx, payment.id);
}

/** The clocks of both machines can differ: a hold beyond the store's limit would be rejected. */
const marginSeconds = 60;

/** Extends a hold to the days of an order, counted from its creation as the limit of the store is. */
async function extendHold(
  { orderDays }: Settings,
  cards: GiftCards,
  { hold, ageMs }: FoundHold,
): Promise<void> {
  const seconds = orderDays * 86_400 - Math.ceil(ageMs / 1_000) - marginSeconds;
  if (seconds > 0) await cards.client.holds.extend(hold.id, { expires_in: seconds }, cards.adminTime());
}
