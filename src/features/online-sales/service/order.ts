/** The page of an order: what happened to its card, and what its buyer can change. */

import { isSuspended, type Card } from '../../../core/cards/domain/card.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import { sendingInstantOf } from '../../../core/emails/domain/send-on.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { isForBuyer, keyOfSale, type OnlineRefund, type OnlineSale } from '../domain/sale.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { lockCard } from '../../../core/cards/storage/card.ts';
import { findCardView } from '../../../core/cards/storage/view.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listEmailsBefore } from '../../../core/emails/storage/email.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { recordFirstView } from '../../recipient/service/recipient-lookup.ts';
import { sendGiftCard } from '../../../core/emails/service/email.ts';
import { correctRecipient } from '../../emails/service/list.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { lockSale, updateSale } from '../storage/sale.ts';
import { findSaleWithRefunds } from './list.ts';
import { saleActor } from './issuing.ts';

/** The card of an order, with the email that has its code. */
export type OrderedCard = {
  readonly card: Card;
  /** The newest email with the card; null: none was enqueued, or it was deleted. */
  readonly email: EmailDelivery | null;
  /** When the page of recipients first showed the card (ms); null: it has not. */
  readonly openedAt: number | null;
};

export type OrderFacts = {
  readonly sale: OnlineSale;
  /** The oldest first. */
  readonly refunds: readonly OnlineRefund[];
  /** Null: no card was made. */
  readonly ordered: OrderedCard | null;
};

/** The emails of a card among which that with the code is searched. */
const emailsMax = 20;

/** @throws Fault `not-found`. */
export function* readOrder(ctx: Context, sale: Pick<OnlineSale, 'storeId' | 'id'>): Script<OrderFacts> {
  const found = yield* findSaleWithRefunds(keyOfSale(sale));
  if (!found) throw new Fault('not-found');
  const { cardId, storeId } = found.sale;
  if (cardId === null) return { ...found, ordered: null };
  const key = { storeId, cardId };
  const [{ card }, { viewedAt }, emails] = yield* parallel(
    loadCard(ctx, key),
    findCardView(key),
    listEmailsBefore(key, { before: Number.MAX_SAFE_INTEGER, limit: emailsMax }),
  );
  const email = emails.find(({ kind, state }) => kind === 'gift_card' && state !== 'cancelled') ?? null;
  return { ...found, ordered: { card, email, openedAt: viewedAt } };
}

/**
 * Records that a buyer has seen the own card, as the page of recipients does: only people who have seen a card get its
 * reminders. A card that is handed over is not opened by its buyer.
 */
export function* recordOwnView(ctx: Context, { sale, ordered }: OrderFacts): Script<void> {
  if (ordered && ordered.openedAt === null && isForBuyer(sale)) yield* recordFirstView(ctx, ordered.card);
}

/** Whether the card of an order waits to be sent, so that its buyer can change the address and the day. */
export function isChangeable({ sale, ordered }: OrderFacts, now: number): boolean {
  if (!ordered?.email || sale.delivery !== 'email' || isSuspended(ordered.card)) return false;
  const { state, sendAt } = ordered.email;
  return (state === 'scheduled' && sendAt > now) || isUndelivered(ordered);
}

/** Whether the mail server has rejected the email with the card. */
export function isUndelivered({ email }: OrderedCard): boolean {
  return email?.state === 'bounced' || email?.state === 'dead';
}

export type DeliveryChange = {
  readonly address: EmailAddress;
  /** Null: now. */
  readonly sendOn: string | null;
};

/**
 * Sends the card of an order to another address, or at another time. Its code and its recipient are replaced.
 * @throws Fault `precondition-failed` if it was sent already; those of `sendGiftCard`.
 */
export function* changeDelivery(
  ctx: Context,
  store: Store,
  request: { readonly facts: OrderFacts; readonly change: DeliveryChange; readonly canSend: boolean },
): Script<EmailDelivery> {
  const { change, canSend } = request;
  // The sale first, and then the card, as everywhere.
  const sale = yield* lockSale(keyOfSale(request.facts.sale));
  if (sale && sale.cardId !== null) yield* lockCard({ storeId: store.id, cardId: sale.cardId });
  const facts = yield* readOrder(ctx, request.facts.sale);
  if (!isChangeable(facts, ctx.clock.now()) || !facts.ordered) throw new Fault('precondition-failed');
  const { card } = facts.ordered;
  const sendAt = change.sendOn === null ? null : sendingInstantOf(change.sendOn, store.timeZone);
  const command = { store, cardId: card.id, actor: saleActor, versions: null, canSend };
  // Reminders go to the recipient of the card, and an erasure finds the card by it.
  yield* correctRecipient(ctx, { store, card, address: change.address });
  const sent = yield* sendGiftCard(ctx, { ...command, address: change.address, sendAt });
  const { address: recipientAddress, key: recipientKey } = change.address;
  if (sale) yield* updateSale({ ...sale, recipientAddress, recipientKey });
  return sent.delivery;
}

/** Sends the card to its recipient again. @throws Fault those of `sendGiftCard`. */
export function* sendOrderAgain(
  ctx: Context,
  store: Store,
  { facts: { ordered, sale }, canSend }: { readonly facts: OrderFacts; readonly canSend: boolean },
): Script<void> {
  const address = parseEmail(ordered?.email?.address);
  if (!ordered || !address.ok || sale.delivery !== 'email') throw new Fault('precondition-failed');
  const command = { store, cardId: ordered.card.id, actor: saleActor, versions: null, canSend };
  yield* sendGiftCard(ctx, { ...command, address: address.value });
}
