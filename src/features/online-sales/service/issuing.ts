/** Makes the card of a paid sale: the card, the state of the sale and the emails are one transaction. */

import assert from 'node:assert/strict';
import type { Card } from '../../../core/cards/domain/card.ts';
import { isAwaitingPayment, keyOfSale } from '../domain/sale.ts';
import type { SalePage } from '../domain/rules.ts';
import { detailsOf } from '../../../core/cards/domain/field-values.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { sendingInstantOf } from '../../../core/emails/domain/send-on.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { enqueueEmail, findEmailSettings } from '../../../core/emails/storage/email.ts';
import { sealSaleCode, type StoredSale } from '../storage/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { issue, type Issued } from '../../../core/cards/service/issue.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { withExternalId } from '../../../core/requests/service/external-ids.ts';

/** The actor of what the service does with online sales. */
export const saleActor = 'online_sale';

function addressOf(address: string | null, key: string | null): EmailAddress | null {
  return address === null || key === null ? null : { address, key };
}

/** Whether the card of a sale can still be made: its addresses were not erased. */
export function isIssuable(sale: StoredSale): boolean {
  return sale.buyerAddress !== null && (sale.delivery === 'self' || sale.recipientAddress !== null);
}

function expiryOf(ctx: Context, { timeZone }: Store, page: SalePage): string | null {
  if (page.validityMonths === null) return null;
  const today = Temporal.PlainDate.from(dayOf(ctx.clock.now(), timeZone));
  return today.add({ months: page.validityMonths }).toString();
}

/** When the card is sent (ms); null: at once. */
function* sendingTimeOf(
  ctx: Context,
  { store, page, sale }: { readonly store: Store; readonly page: SalePage; readonly sale: StoredSale },
): Script<number | null> {
  // A time is rejected by a store that has disabled its emails since.
  const { enabled } = yield* findEmailSettings(store.id);
  if (!enabled) return null;
  const now = ctx.clock.now();
  const delayed = page.delayMinutes === 0 ? 0 : now + page.delayMinutes * 60_000;
  const planned = sale.sendOn === null ? 0 : sendingInstantOf(sale.sendOn, store.timeZone);
  const at = Math.max(delayed, planned);
  return at > now ? at : null;
}

/**
 * Issues the card of a locked sale that was paid, and returns the sale with it. The external id of the sale is in a namespace
 * of its own, so a second card is impossible even if the state of the sale were lost.
 */
export function* issueSale(
  ctx: Context,
  { store, page, sale }: { readonly store: Store; readonly page: SalePage; readonly sale: StoredSale },
): Script<StoredSale> {
  assert(
    sale.cardId === null && (isAwaitingPayment(sale.state) || sale.paidAt !== null),
    'the sale has a card',
  );
  const buyer = addressOf(sale.buyerAddress, sale.buyerKey);
  assert(buyer, 'the buyer was erased');
  const { minor, currency } = sale.amount;
  const external = {
    storeId: store.id,
    kind: 'online_sale',
    text: `${sale.id} ${sale.key}`,
    actor: saleActor,
    asked: [minor.toString(), currency.code],
  } as const;
  const sendAt = yield* sendingTimeOf(ctx, { store, page, sale });
  const { result } = yield* withExternalId<Issued>(ctx, external, {
    run: () =>
      issue(ctx, {
        store,
        apiClientId: null,
        actor: saleActor,
        account: 'online_sales',
        value: sale.amount,
        details: detailsOf({
          expires_on: expiryOf(ctx, store, page),
          message: sale.message,
          sender_name: sale.senderName,
          recipient_name: sale.recipientName,
          design: sale.design,
        }),
        customer: buyer,
        recipient: addressOf(sale.recipientAddress, sale.recipientKey),
        code: null,
        emails: { sendAt },
      }),
    idOf: ({ card }) => card.id,
    find: (cardId) => {
      throw new Error(`the card ${cardId} was made for the sale ${sale.id}, whose state is ${sale.state}`);
    },
  });
  const { card, code } = result;
  const { chainEnd } = yield* loadCard(ctx, { storeId: store.id, cardId: card.id });
  // The email of a card for oneself is the card itself, and a gift has a receipt already.
  if (sale.delivery === 'self') yield* enqueueSaleReceipt(ctx, { sale, card });
  return {
    ...sale,
    state: 'issued',
    cardId: card.id,
    issueId: chainEnd.transferId,
    decidedAt: ctx.clock.now(),
    sealedCode: sale.delivery === 'self' ? sealSaleCode(ctx, keyOfSale(sale), code) : null,
    reviewUntil: null,
    attempts: 0,
  };
}

/** Whatever is repeated, the buyer receives one receipt. */
const receiptOccasion = 'online sale';

/** Enqueues the receipt of a sale to its buyer. The email with the card is one of the emails of the new card. */
function* enqueueSaleReceipt(
  ctx: Context,
  { sale, card }: { readonly sale: StoredSale; readonly card: Card },
): Script<void> {
  if (sale.buyerAddress === null) return;
  yield* enqueueEmail(ctx, {
    storeId: sale.storeId,
    cardId: card.id,
    kind: 'receipt',
    address: sale.buyerAddress,
    code: null,
    sendAt: null,
    occasion: receiptOccasion,
  });
}
