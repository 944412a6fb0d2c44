/** Sales by staff: new cards, and money that is added to a card. */

import type { Context } from '../../../core/storage/context.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { noDetails, type CardDetails } from '../../../core/cards/domain/fields.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { ChosenCode } from '../../../core/cards/domain/given-code.ts';
import type { Secret } from '../../../platform/secret.ts';
import { aboveLimit, isAbove, type Store } from '../../../core/stores/domain/store.ts';
import { lockCard, type CardKey } from '../../../core/cards/storage/card.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findTransfer } from '../../../core/money/storage/transfer.ts';
import { issue, type IssueCommand, type Issued } from '../../../core/cards/service/issue.ts';
import type { CardEmails } from '../../../core/emails/service/email.ts';
import { loadCard, requireCard } from '../../../core/cards/service/present-card.ts';
import { reverse } from '../../../core/money/service/spend.ts';
import { topUp } from '../../../core/money/service/top-up.ts';
import { moveAsStaff, movementOf, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { changeCard } from '../../card-pages/service/card.ts';
import { assertSaleLimit } from '../../../core/staff/service/limits.ts';

export type Sale = Issued & { readonly transferId: number };

export type CardToSell = {
  readonly value: Money;
  /** The code of a blank card, or of a printed one, which is activated; null: a new one. */
  readonly code: Secret | ChosenCode | null;
  /** Whether the person has decided that a code which is in no stock is that of a card of the shop's own; absent: no. */
  readonly isOwn?: boolean;
  readonly recipient: EmailAddress | null;
  /** Absent: no email is sent. */
  readonly emails?: CardEmails;
};

/**
 * Sells a card at the counter: issues it within the limits of the person and the store.
 * @throws Fault `invalid-parameter` on `amount` (with the extension `sale_limit` or `store_limit`, or the values of the
 * printed card), or on `code` if it was used before, or if the tills sell only printed cards; `already-activated`; those of
 * `moveAsStaff`.
 */
export function* sellCard(ctx: Context, by: ByStaff, sold: CardToSell): Script<Sale> {
  const { store } = by;
  const { value } = sold;
  return yield* moveAsStaff(ctx, by, {
    permission: 'useTill',
    *change({ member, actor, locationId }) {
      assertSaleLimit(member, value);
      const { issueLimit } = store;
      if (isAbove(issueLimit, value))
        throw new Fault('invalid-parameter', {
          errors: { amount: [aboveLimit(issueLimit)] },
          extensions: { store_limit: formatMoney(issueLimit) },
        });
      if (store.stockRequired === 'yes' && !sold.code)
        throw new Fault('invalid-parameter', {
          errors: { code: ['is required: the tills sell only printed cards'] },
        });
      const { isOwn: _, ...command } = sold;
      const issued = yield* issueSold(ctx, {
        ...command,
        store,
        actor,
        locationId,
        apiClientId: null,
        details: noDetails,
        customer: null,
        stock: isStockRequired(store, sold) ? 'required' : 'given',
      });
      return { ...issued, transferId: yield* issueOf(ctx, issued.card) };
    },
    entryOf: ({ card, transferId }) => ({
      action: 'card-issued',
      subjectId: card.id,
      details: movementOf(ctx, { id: transferId, amount: value }),
    }),
  });
}

function isStockRequired({ stockRequired }: Store, { isOwn = false }: CardToSell): boolean {
  return stockRequired === 'yes' || (stockRequired === 'ask' && !isOwn);
}

/** Returns the id of the entry that has just issued a card. */
function* issueOf(ctx: Context, { storeId, id: cardId }: Card): Script<number> {
  const { chainEnd } = yield* loadCard(ctx, { storeId, cardId });
  return chainEnd.transferId;
}

/** Issues a card as `issue` does, with errors of the value on `amount`. */
function* issueSold(ctx: Context, command: IssueCommand): Script<Issued> {
  try {
    return yield* issue(ctx, command);
  } catch (error) {
    const messages = error instanceof Fault ? error.errors?.['initial_value'] : undefined;
    if (!(error instanceof Fault) || !messages) throw error;
    const { extensions = {}, failedLookups } = error;
    throw new Fault('invalid-parameter', {
      errors: { amount: messages },
      extensions,
      ...(failedLookups !== undefined && { failedLookups }),
    });
  }
}

/** A card as the form of the office has it. */
export type NewCard = {
  readonly value: Money;
  readonly details: CardDetails;
  readonly customer: EmailAddress | null;
  readonly recipient: EmailAddress | null;
  readonly isEmailed: boolean;
  /** When the email is sent (ms); null: at once. */
  readonly sendAt: number | null;
};

/**
 * Issues a card with its details, within the limits of the person.
 * @throws Fault those of `moveAsStaff`, `assertSaleLimit` and `issue`.
 */
export function* issueCard(
  ctx: Context,
  by: ByStaff,
  { isEmailed, sendAt, ...fields }: NewCard,
): Script<{ readonly card: Card; readonly code: Secret }> {
  return yield* moveAsStaff(ctx, by, {
    permission: 'useTill',
    *change({ member, actor, locationId }) {
      assertSaleLimit(member, fields.value);
      const command = { store: by.store, apiClientId: null, actor, locationId, code: null, ...fields };
      const issued = yield* issue(ctx, { ...command, ...(isEmailed && { emails: { sendAt } }) });
      return { ...issued, transferId: yield* issueOf(ctx, issued.card) };
    },
    entryOf: ({ card, transferId }) => ({
      action: 'card-issued',
      subjectId: card.id,
      details: { ...movementOf(ctx, { id: transferId, amount: fields.value }), emailed: isEmailed },
    }),
  });
}

const salePeriodMs = 15 * 60 * 1_000;

/** The card of a sale, and whether the sale can be cancelled. @throws Fault `not-found`. */
export function* findSale(
  ctx: Context,
  key: CardKey,
  transferId: number,
): Script<{ readonly card: Card; readonly isCancellable: boolean }> {
  const [card, isCancellable] = yield* parallel(
    requireCard(key.storeId, key.cardId),
    canCancel(ctx, key, transferId),
  );
  return { card, isCancellable };
}

/** Whether a sale can be cancelled: it is not older than 15 minutes, and nothing has happened to the card since. */
function* canCancel(ctx: Context, key: CardKey, transferId: number): Script<boolean> {
  const [sale, { card, chainEnd }] = yield* parallel(
    findTransfer(key.storeId, transferId),
    loadCard(ctx, key),
  );
  if (sale?.kind !== 'issue' || sale.cardId !== key.cardId) return false;
  if (ctx.clock.now() >= sale.createdAt + salePeriodMs) return false;
  return chainEnd.transferId === transferId && card.held.minor === 0n && card.disabledAt === null;
}

/**
 * Cancels an own sale: reverses the issue, on its account and with its VAT, and disables the card.
 * @throws Fault `not-found`, `undo-window-closed` if the sale cannot be cancelled, `insufficient-scope` if another
 * person made it.
 */
export function* cancelSale(ctx: Context, by: ByStaff, transferId: number): Script<Transfer> {
  const { store } = by;
  return yield* moveAsStaff(ctx, by, {
    permission: 'useTill',
    *change({ actor, locationId }) {
      const sale = yield* findTransfer(store.id, transferId);
      if (sale?.kind !== 'issue') throw new Fault('not-found');
      if (sale.actor !== actor) throw new Fault('insufficient-scope');
      const key = { storeId: store.id, cardId: sale.cardId };
      yield* lockCard(key);
      if (!(yield* canCancel(ctx, key, transferId))) throw new Fault('undo-window-closed');
      const reversed = yield* reverse(ctx, {
        store,
        transferId,
        actor,
        locationId,
        amount: null,
        note: null,
        scopes: ['write_gift_cards'],
        versionsOf: () => null,
        cancelsSale: true,
      });
      yield* changeCard(ctx, { store, cardId: sale.cardId, actor, changes: { disable: true } });
      return reversed.transfer;
    },
    entryOf: (transfer) => ({
      action: 'card-disabled',
      subjectId: transfer.cardId,
      details: { ...movementOf(ctx, transfer), cancels: ctx.keys.publicIds.of(transferId) },
    }),
  });
}

/**
 * Sells more value on a card, with a receipt to its holder, which only people who can change cards may do.
 * @throws Fault those of `moveAsStaff`, `assertSaleLimit` and `topUp`.
 */
export function* topUpCard(
  ctx: Context,
  by: ByStaff,
  {
    cardId,
    amount,
    expiresOn = null,
    note = null,
  }: {
    readonly cardId: number;
    readonly amount: Money;
    /** A later last valid day; absent: it stays. */
    readonly expiresOn?: string | null;
    readonly note?: string | null;
  },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { store } = by;
  return yield* moveAsStaff(ctx, by, {
    permission: 'changeCards',
    *change({ member, actor, locationId }) {
      assertSaleLimit(member, amount);
      yield* requireCard(store.id, cardId);
      return yield* topUp(ctx, {
        store,
        cardId,
        amount,
        actor,
        locationId,
        reference: null,
        note,
        orderId: null,
        versions: null,
        expiresOn,
        notify: true,
      });
    },
    entryOf: ({ transfer }) => ({
      action: 'card-credited',
      subjectId: cardId,
      details: movementOf(ctx, transfer),
    }),
  });
}
