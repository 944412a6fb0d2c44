/** Emails about a card that was bought on the buy page. */

import type { EmailDelivery, EmailSettings } from '../../../core/emails/domain/email.ts';
import { orderPath } from '../../online-sales/domain/links.ts';
import type { OnlineSale } from '../../online-sales/domain/sale.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { saleToken } from '../../online-sales/storage/order-link.ts';
import type { Context } from '../../../core/storage/context.ts';
import { findSalePage } from '../../online-sales/storage/settings.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { ReceiptOrder } from './content.ts';

/** Whether an email differs for a card that was bought on the buy page: the card itself, and the receipt for it. */
export function isOfOrder({ kind }: Pick<EmailDelivery, 'kind'>): boolean {
  return kind === 'gift_card' || kind === 'receipt';
}

/** The order as its receipt names it. The emails are in the language of the buyer, with the terms that were accepted. */
export function* orderedEmail(
  ctx: Context,
  store: Store,
  {
    sale,
    settings,
    pagesUrl,
  }: {
    readonly sale: OnlineSale;
    readonly settings: EmailSettings;
    /** The base of the links; null: the service does not know its own address. */
    readonly pagesUrl: string | null;
  },
): Script<{ readonly order: ReceiptOrder; readonly settings: EmailSettings }> {
  const page = yield* findSalePage(store.id);
  const { method, language: locale, delivery } = sale;
  return {
    order: {
      number: String(ctx.keys.publicIds.of(sale.id)),
      url: pagesUrl === null ? null : `${pagesUrl}${orderPath(store.domain, saleToken(ctx, sale))}`,
      method,
      terms: page?.termsText ?? null,
      isForBuyer: delivery === 'self',
    },
    settings: { ...settings, locale, terms: page?.termsUrl ?? settings.terms },
  };
}
