/** What members of staff sell, refund and add at the counter: each change with its entry in the audit log. */

import type { Context } from '../../storage/context.ts';
import type { Card } from '../../domain/cards/card.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { noDetails } from '../../domain/cards/fields.ts';
import { Fault, FieldErrors } from '../../domain/fault.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import { formatMoney, subtract, type Money } from '../../domain/money/money.ts';
import type { Secret } from '../../platform/secret.ts';
import { actorOf } from '../../domain/staff/staff.ts';
import { aboveLimit, isAbove } from '../../domain/stores/store.ts';
import { lockCard, type CardKey } from '../../storage/cards/card.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { findTransfer, sumReversals } from '../../storage/money/transfer.ts';
import { issue, update } from '../cards/card.ts';
import type { ByStaff } from './as-staff.ts';
import { assertMay, assertMayRefund, assertMaySell } from './limits.ts';
import type { CardEmails } from '../emails/email.ts';
import { loadCard, requireCard } from '../money/money.ts';
import { credit, reverse } from '../money/spend.ts';
import { recordAction } from '../staff/staff.ts';

type ActionName = 'card-issued' | 'card-disabled' | 'card-refunded' | 'card-credited';

/** Adds the audit entry of a movement. Its details contain the public id of the transfer, by which it is found. */
function* recordEntry(
  ctx: Context,
  { store, member, tillId }: ByStaff,
  {
    action,
    entryId,
    cardId,
    amount,
    ...details
  }: {
    readonly action: ActionName;
    readonly entryId: number;
    readonly cardId: number;
    readonly amount: Money;
    readonly cancels?: number;
    readonly refunds?: number;
  },
): Script<void> {
  yield* recordAction(
    ctx,
    { staffId: member.id, tillId },
    {
      storeId: store.id,
      action,
      subjectId: cardId,
      details: { amount: formatMoney(amount), entry: ctx.keys.publicIds.of(entryId), ...details },
    },
  );
}

export type Sale = { readonly card: Card; readonly code: Secret; readonly transferId: number };

/**
 * Sells a card: issues it within the limits of the person and the store.
 * @param code the code of a blank card; null: a new one.
 * @throws Fault `invalid-parameter` on `amount` (with the extension `sale_limit` or `store_limit`) or on `code` if it was
 * used before; those of `assertMaySell`.
 */
export function* sellCard(
  ctx: Context,
  command: ByStaff & {
    readonly value: Money;
    readonly code: Secret | null;
    readonly recipient: EmailAddress | null;
    /** Absent: no email is sent. */
    readonly emails?: CardEmails;
  },
): Script<Sale> {
  const { store, member, value, code, recipient, emails } = command;
  yield* assertMaySell(member, value);
  const { issueLimit } = store;
  if (isAbove(issueLimit, value))
    throw new Fault('invalid-parameter', {
      errors: { amount: [aboveLimit(issueLimit)] },
      extensions: { store_limit: formatMoney(issueLimit) },
    });
  const issued = yield* issue(ctx, {
    store,
    apiClientId: null,
    actor: actorOf(member),
    value,
    details: noDetails,
    customer: null,
    recipient,
    code,
    ...(emails && { emails }),
  });
  const cardId = issued.card.id;
  const transferId = yield* lastTransferOf(ctx, { storeId: store.id, cardId });
  yield* recordEntry(ctx, command, { action: 'card-issued', entryId: transferId, cardId, amount: value });
  return { ...issued, transferId };
}

function* lastTransferOf(ctx: Context, key: CardKey): Script<number> {
  return (yield* loadCard(ctx, key)).chainEnd.transferId;
}

const salePeriodMs = 15 * 60 * 1_000;

/** Whether a sale can be cancelled: it is not older than 15 minutes, and nothing has happened to the card since. */
export function* isCancellable(ctx: Context, key: CardKey, transferId: number): Script<boolean> {
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
export function* cancelSale(
  ctx: Context,
  command: ByStaff & { readonly transferId: number },
): Script<{ readonly card: Card; readonly transferId: number }> {
  const { store, member, transferId } = command;
  yield* assertMay(store, member, 'useTill');
  const sale = yield* findTransfer(store.id, transferId);
  if (sale?.kind !== 'issue') throw new Fault('not-found');
  if (sale.actor !== actorOf(member)) throw new Fault('insufficient-scope');
  const key = { storeId: store.id, cardId: sale.cardId };
  yield* lockCard(key);
  if (!(yield* isCancellable(ctx, key, transferId))) throw new Fault('undo-window-closed');
  const reversed = yield* reverse(ctx, {
    store,
    transferId,
    actor: actorOf(member),
    amount: null,
    note: null,
    scopes: ['write_gift_cards'],
    versionsOf: () => null,
    cancelsSale: true,
  });
  const entryId = reversed.transfer.id;
  const card = yield* update(ctx, {
    store,
    cardId: sale.cardId,
    actor: actorOf(member),
    changes: { disable: true },
    releaseHolds: false,
    echoed: new Map(),
    echoedCode: null,
    versions: null,
    errors: new FieldErrors(),
  });
  yield* recordEntry(ctx, command, {
    action: 'card-disabled',
    entryId,
    cardId: sale.cardId,
    amount: sale.amount,
    cancels: ctx.keys.publicIds.of(transferId),
  });
  return { card, transferId: entryId };
}

/** A redemption, and what of it can still be refunded. */
export type Refundable = { readonly transfer: Transfer; readonly left: Money };

/** @returns undefined if the transfer is not a redemption. */
export function* refundableOf(storeId: number, transfer: Transfer): Script<Refundable | undefined> {
  if (transfer.kind !== 'debit' && transfer.kind !== 'capture') return undefined;
  const { amount } = transfer;
  const refunded = yield* sumReversals(storeId, transfer.id);
  return { transfer, left: subtract(amount, { minor: refunded, currency: amount.currency }) };
}

/**
 * Refunds a redemption to its card, in whole or in part, within the person's limit.
 * @throws Fault `not-found` if it is not a redemption; those of `assertMayRefund` and `reverse`.
 */
export function* refundToCard(
  ctx: Context,
  command: ByStaff & { readonly transferId: number; readonly amount: Money },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { store, member, transferId, amount } = command;
  yield* assertMayRefund(ctx, command);
  const redeemed = yield* findTransfer(store.id, transferId);
  if (redeemed?.kind !== 'debit' && redeemed?.kind !== 'capture') throw new Fault('not-found');
  const refunded = yield* reverse(ctx, {
    store,
    transferId,
    amount,
    actor: actorOf(member),
    note: null,
    scopes: ['redeem_gift_cards'],
    versionsOf: () => null,
  });
  const { cardId } = redeemed;
  yield* recordEntry(ctx, command, {
    action: 'card-refunded',
    entryId: refunded.transfer.id,
    cardId,
    amount,
    refunds: ctx.keys.publicIds.of(transferId),
  });
  return refunded;
}

/**
 * Adds an amount to a card without a redemption, which only people who can change cards may do.
 * @throws Fault those of `assertMay`, `assertMaySell` and `credit`.
 */
export function* topUpCard(
  ctx: Context,
  command: ByStaff & { readonly cardId: number; readonly amount: Money },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { store, member, cardId, amount } = command;
  yield* assertMay(store, member, 'changeCards');
  yield* assertMaySell(member, amount);
  yield* requireCard(store.id, cardId);
  const added = yield* credit(ctx, {
    store,
    cardId,
    amount,
    actor: actorOf(member),
    reference: null,
    note: null,
    orderId: null,
    versions: null,
  });
  yield* recordEntry(ctx, command, {
    action: 'card-credited',
    entryId: added.transfer.id,
    cardId,
    amount,
  });
  return added;
}
