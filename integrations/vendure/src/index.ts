/** Gift cards of Largesse as a payment method of Vendure. */

import {
  ConfigService,
  EventBus,
  LanguageCode,
  OrderService,
  OrderStateTransitionEvent,
  PaymentMethodHandler,
  PaymentService,
  Refund,
  TransactionalConnection,
  type Order,
} from '@vendure/core';
import { holdGiftCard } from './checkout.ts';
import { openGiftCards } from './gift-cards.ts';
import { settingsOf, type GiftCardOptions } from './options.ts';
import { followOrder } from './orders.ts';
import { captureHold, refundToCard, voidHold } from './payment.ts';
export type { GiftCardOptions } from './options.ts';

/**
 * The handler of a payment method: `addPaymentToOrder` with `metadata: { code: "…" }` holds an amount on the gift card.
 * @throws TypeError for a URL or token that cannot be one.
 */
export function createGiftCardHandler(options: GiftCardOptions): PaymentMethodHandler {
  const settings = settingsOf(options);
  const cards = openGiftCards(settings);
  let connection: TransactionalConnection;
  let precision = 2;
  let subscription: { unsubscribe: () => void } | undefined;
  const precisionOf = ({ currencyCode }: Order): number => settings.decimalsOf?.(currencyCode) ?? precision;
  return new PaymentMethodHandler({
    code: settings.code,
    description: [{ languageCode: LanguageCode.en, value: 'Gift card (Largesse)' }],
    args: {},
    init(injector) {
      connection = injector.get(TransactionalConnection);
      precision = injector.get(ConfigService).entityOptions.moneyStrategy.precision ?? 2;
      const services = { orders: injector.get(OrderService), payments: injector.get(PaymentService) };
      // Subscribers run after the transaction that published the event.
      subscription = injector
        .get(EventBus)
        .ofType(OrderStateTransitionEvent)
        .subscribe((event) => void followOrder(settings, cards, { services, event }));
    },
    destroy: () => subscription?.unsubscribe(),
    createPayment: (ctx, order, due, _args, sent) =>
      holdGiftCard(settings, cards, {
        order,
        due,
        sent,
        precision: precisionOf(order),
        person: { customerId: ctx.activeUserId?.toString(), address: ctx.req?.ip },
      }),
    settlePayment: (_ctx, order, payment) =>
      captureHold(cards, { order, payment, precision: precisionOf(order) }),
    cancelPayment: (_ctx, _order, payment) => voidHold(cards, payment),
    async createRefund(ctx, input, amount, order, payment) {
      const made = await connection.getRepository(ctx, Refund).findBy({ paymentId: payment.id });
      const refunds = made.filter(({ state }) => state !== 'Failed').length;
      const step = {
        order,
        payment,
        precision: precisionOf(order),
        amount,
        refunds,
        reason: input.reason ?? null,
      };
      return await refundToCard(cards, step);
    },
  });
}
