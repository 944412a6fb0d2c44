/** Exports everything that is stored about a customer as one JSON document, in pages of bounded size. */

import type { Context } from '../../../core/storage/context.ts';
import { customerRecordOf } from '../../../core/customers/domain/customer.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { emailRecordOf } from '../../emails/domain/record.ts';
import { formatInstantOrNull } from '../../../core/domain/day.ts';
import { eventJson } from '../../../core/events/domain/event.ts';
import { holdRecordOf, recordOf, transactionOf } from '../../../core/cards/domain/record.ts';
import { mentions } from '../domain/redaction.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import { listSalesOfPerson } from '../../online-sales/storage/erasure.ts';
import type { StoredSale } from '../../online-sales/storage/sale.ts';
import { findCardView } from '../../../core/cards/storage/view.ts';
import { findCard } from '../../../core/cards/storage/card.ts';
import { firstCard, listCardsOf, listEventsIn, type CardListPlace } from '../storage/export.ts';
import { listEmailsBefore } from '../../../core/emails/storage/email.ts';
import { findLastId, findPageEnd } from '../storage/erasure-walk.ts';
import { listHoldsBefore } from '../../../core/money/storage/hold.ts';
import type { Storage } from '../../../database/storage.ts';
import { listTransfersBefore } from '../../../core/money/storage/transfer.ts';
import { showCustomer } from '../../../core/customers/service/customer.ts';

/** Rows of one read. */
const pageRows = { cards: 500, history: 250, events: 500, sales: 250 } as const;

type Source = { readonly ctx: Context; readonly storage: Storage; readonly store: Store };

/**
 * Returns the parts of the document. Each page is read when it is requested, so the export holds no transaction while
 * its reader waits: changes during the export can be included.
 * @throws Fault `not-found` before the first part.
 */
export async function* customerExport(source: Source, customerId: number): AsyncGenerator<string> {
  const { ctx, storage, store } = source;
  const customer = await storage.read(() => showCustomer(store.id, customerId));
  const parsed = parseEmail(customer.email);
  const key = parsed.ok ? parsed.value.key : customer.email;
  yield `{"customer":${JSON.stringify(customerRecordOf(ctx.keys.publicIds, customer))}`;
  yield ',"gift_cards":[';
  const cardIds = new Set<number>();
  let separator = '';
  for (const role of ['customer', 'recipient'] as const) {
    for await (const cardId of cardIdsOf(source, customerId, role)) {
      if (cardIds.has(cardId)) continue;
      cardIds.add(cardId);
      yield separator;
      yield* cardParts(source, { cardId, address: customer.email });
      separator = ',';
    }
  }
  yield '],"online_sales":[';
  yield* saleParts(source, key);
  yield '],"events":[';
  separator = '';
  const upTo = await storage.read(() => findLastId('events', store.id));
  for (let after = 0; after < upTo;) {
    const range = { after, upTo, rows: pageRows.events };
    const end = await storage.read(() => findPageEnd('events', store.id, range));
    for (const event of await storage.read(() => listEventsIn(store.id, { after: range.after, upTo: end }))) {
      const isOwn = cardIds.has(event.subjectId) || event.subjectId === customerId;
      if (!isOwn && !mentions(event.data, key)) continue;
      yield `${separator}${eventJson(event, store.domain)}`;
      separator = ',';
    }
    after = end;
  }
  yield ']}\n';
}

async function* cardIdsOf(
  { storage, store }: Source,
  customerId: number,
  role: 'customer' | 'recipient',
): AsyncGenerator<number> {
  const key = { storeId: store.id, customerId };
  for (let after: CardListPlace | undefined = firstCard; after;) {
    const page = { after, limit: pageRows.cards };
    const places: readonly CardListPlace[] = await storage.read(() => listCardsOf(key, role, page));
    for (const { id } of places) yield id;
    after = places.length === pageRows.cards ? places.at(-1) : undefined;
  }
}

/** The online sales of which the person is the buyer or the recipient, each with what the person may know of it. */
async function* saleParts({ ctx, storage, store }: Source, key: string): AsyncGenerator<string> {
  let separator = '';
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: { readonly key: string; readonly after: number; readonly limit: number } = {
      key,
      after,
      limit: pageRows.sales,
    };
    const sales: readonly StoredSale[] = await storage.read(() => listSalesOfPerson(store.id, page));
    for (const sale of sales) {
      yield `${separator}${JSON.stringify(saleRecordOf(ctx.keys.publicIds, sale, key))}`;
      separator = ',';
    }
    after = sales.length === pageRows.sales ? sales.at(-1)?.id : undefined;
  }
}

function saleRecordOf(publicIds: PublicIds, sale: StoredSale, key: string): object {
  const isBuyer = sale.buyerKey === key;
  return {
    id: publicIds.of(sale.id),
    state: sale.state,
    amount: formatMoney(sale.amount),
    currency: sale.amount.currency.code,
    design: sale.design,
    ...(isBuyer && {
      buyer_name: sale.buyerName,
      buyer_email: sale.buyerAddress,
      language: sale.language,
      provider: sale.provider,
      payment_method: sale.method,
      card_country: sale.cardCountry,
      refunded: formatMoney(sale.refunded),
    }),
    recipient_name: sale.recipientName,
    recipient_email: sale.recipientAddress,
    sender_name: sale.senderName,
    message: sale.message,
    send_on: sale.sendOn,
    gift_card_id: sale.cardId === null ? null : publicIds.of(sale.cardId),
    created_at: formatInstantOrNull(sale.createdAt),
    paid_at: formatInstantOrNull(sale.paidAt),
  };
}

/** A card's record with its transactions, its holds, and the emails to the address. */
async function* cardParts(
  { ctx, storage, store }: Source,
  { cardId, address }: { readonly cardId: number; readonly address: string },
): AsyncGenerator<string> {
  const { publicIds } = ctx.keys;
  const card = await storage.read(() => findCard(store.id, cardId));
  // Cards are never deleted.
  if (!card) return;
  const key = { storeId: store.id, cardId };
  const now = ctx.clock.now();
  const { viewedAt } = await storage.read(() => findCardView(key));
  const viewed = JSON.stringify(formatInstantOrNull(viewedAt));
  yield `${JSON.stringify(recordOf(publicIds, card)).slice(0, -1)},"viewed_at":${viewed},"transactions":[`;
  yield* listed(
    (before) => storage.read(() => listTransfersBefore(key, { before, limit: pageRows.history })),
    (transfer) => transactionOf(publicIds, transfer),
  );
  yield '],"holds":[';
  yield* listed(
    (before) =>
      storage.read(() =>
        listHoldsBefore(key, { before: before ?? Number.MAX_SAFE_INTEGER, limit: pageRows.history }),
      ),
    (hold) => holdRecordOf(publicIds, hold, now),
  );
  yield '],"emails":[';
  yield* listed(
    (before) =>
      storage.read(() =>
        listEmailsBefore(key, { before: before ?? Number.MAX_SAFE_INTEGER, limit: pageRows.history }),
      ),
    (email) =>
      email.address === address ? emailRecordOf(publicIds, email, { domain: store.domain, now }) : undefined,
  );
  yield ']}';
}

/** The records of all pages, newest first, with commas between them. */
async function* listed<T extends { readonly id: number }>(
  page: (before: number | null) => Promise<readonly T[]>,
  toRecord: (item: T) => object | undefined,
): AsyncGenerator<string> {
  let separator = '';
  for (let before: number | null | undefined = null; before !== undefined;) {
    const items: readonly T[] = await page(before);
    for (const item of items) {
      const record = toRecord(item);
      if (!record) continue;
      yield `${separator}${JSON.stringify(record)}`;
      separator = ',';
    }
    before = items.length === pageRows.history ? items.at(-1)?.id : undefined;
  }
}
