/** What members of staff sell, refund and add at the counter: each change with its entry in the audit log. */

import type { Context } from '../context.ts';
import type { Card } from '../domain/card.ts';
import type { EmailAddress } from '../domain/email-address.ts';
import { noDetails } from '../domain/card.ts';
import { Fault, FieldErrors } from '../domain/fault.ts';
import type { Transfer } from '../domain/ledger.ts';
import { formatMoney, subtract, type Money } from '../domain/money.ts';
import type { Secret } from '../domain/secret.ts';
import { actorOf, type StaffMember } from '../domain/staff.ts';
import { aboveLimit, isAbove, type Store } from '../domain/store.ts';
import { lockCard, type CardKey } from '../storage/card.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { findTransfer, sumReversals } from '../storage/transfer.ts';
import { issue, update } from './card.ts';
import { assertMay, assertMayRefund, assertMaySell } from './counter.ts';
import type { CardEmails } from './email.ts';
import { loadCard, requireCard } from './money.ts';
import { credit, reverse } from './spend.ts';
import { recordAction } from './staff.ts';

/** A member of staff at the counter. */
export type AtCounter = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'storeId' | 'id'>;
  /** The till on which the person signed in with a PIN; null: another device. */
  readonly tillId: number | null;
};

type ActionName = 'card-issued' | 'card-disabled' | 'card-refunded' | 'card-credited';

/** Adds the audit entry of a movement. Its details contain the public id of the transfer, by which it is found. */
function* recordEntry(
  ctx: Context,
  { store, member, tillId }: AtCounter,
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
  command: AtCounter & {
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
 * Cancels an own sale: takes the value off the card and disables it, because an issue cannot be reversed.
 * @throws Fault `not-found`, `undo-window-closed` if the sale cannot be cancelled, `insufficient-scope` if another
 * person made it.
 */
export function* cancelSale(
  ctx: Context,
  command: AtCounter & { readonly transferId: number },
): Script<{ readonly card: Card; readonly transferId: number }> {
  const { store, member, transferId } = command;
  yield* assertMay(store, member, 'useTill');
  const sale = yield* findTransfer(store.id, transferId);
  if (sale?.kind !== 'issue') throw new Fault('not-found');
  if (sale.actor !== actorOf(member)) throw new Fault('insufficient-scope');
  const key = { storeId: store.id, cardId: sale.cardId };
  yield* lockCard(key);
  if (!(yield* isCancellable(ctx, key, transferId))) throw new Fault('undo-window-closed');
  const card = yield* update(ctx, {
    store,
    cardId: sale.cardId,
    actor: actorOf(member),
    changes: { balance: { minor: 0n, currency: sale.amount.currency }, disable: true },
    releaseHolds: false,
    echoed: new Map(),
    echoedCode: null,
    versions: null,
    errors: new FieldErrors(),
  });
  const entryId = yield* lastTransferOf(ctx, key);
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
  command: AtCounter & { readonly transferId: number; readonly amount: Money },
): Script<{ readonly transfer: Transfer; readonly card: Card }> {
  const { store, member, transferId, amount } = command;
  yield* assertMayRefund(member, amount);
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
  command: AtCounter & { readonly cardId: number; readonly amount: Money },
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
