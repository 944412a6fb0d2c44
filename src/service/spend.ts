/** Spending and topping up: debit, credit, and their reversal. */

import type { Context } from '../context.ts';
import { availableOf, type Card } from '../domain/card.ts';
import type { Currency } from '../domain/currency.ts';
import { cardMoved } from '../domain/event.ts';
import { Fault } from '../domain/fault.ts';
import { creditOf, debitOf, isReversible, reversalOf, type Transfer } from '../domain/ledger.ts';
import { exceeds, formatMoney, integerDigitsMax, subtract, type Money } from '../domain/money.ts';
import { transactionOf } from '../domain/record.ts';
import type { Scope, Store } from '../domain/store.ts';
import { lockCard, lockCardOfTransfer } from '../storage/card.ts';
import { announce } from '../storage/event.ts';
import { Rerun, together, type Script } from '../storage/sql.ts';
import { findChainEnd, findTransferAndVersion, sumReversals } from '../storage/transfer.ts';
import {
  effect,
  move,
  namedVersion,
  record,
  refuseVersion,
  requireStanding,
  usable,
  type MoneyCommand,
} from './money.ts';

/** A transfer that was made, and its card after it. */
export type Moved = { readonly transfer: Transfer; readonly card: Card };

/**
 * Spends an amount of a usable card.
 * @param partial take what there is, if it is less.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, `insufficient-balance`.
 */
export function* debit(
  ctx: Context,
  command: MoneyCommand & {
    readonly amount: Money;
    readonly partial: boolean;
    /** The code that the card was found by, which it must still have; absent: it was found otherwise. */
    readonly codeLookup?: bigint;
  },
): Script<Moved> {
  const { amount, version } = command.partial
    ? yield* lesser(ctx, command)
    : { amount: command.amount, version: yield* namedVersion(command) };
  const movement = debitOf(amount);
  const demands = {
    ...usable(ctx, command.store),
    ...(command.codeLookup !== undefined && { codeLookup: command.codeLookup }),
  };
  const moving = move(ctx, { ...command, version }, effect(movement), demands, findChainEnd);
  const { card, seen: end } = yield* moving;
  const transfer = yield* record(ctx, { card, end }, movement, command);
  yield* announce(
    ctx,
    cardMoved(ctx.keys.publicIds, 'gift_card.redeemed', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
    }),
  );
  return { transfer, card };
}

/**
 * The amount, or what is available if that is less, and the version in which that was read. If
 * nothing is, the debit of the whole is to be refused with its reason.
 */
function* lesser(
  ctx: Context,
  command: MoneyCommand & { readonly amount: Money },
): Script<{ readonly amount: Money; readonly version: number }> {
  const key = { storeId: command.store.id, cardId: command.cardId };
  yield* lockCard(key);
  const { card } = yield* requireStanding(ctx, key);
  refuseVersion(command.versions, card.version);
  const available = availableOf(card);
  const isLess = available.minor > 0n && exceeds(command.amount, available);
  return { amount: isLess ? available : command.amount, version: card.version };
}

/**
 * Adds value to a usable card.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, or `invalid-parameter` if
 * the balance would exceed the store's limit.
 */
export function* credit(ctx: Context, command: MoneyCommand & { readonly amount: Money }): Script<Moved> {
  const { store } = command;
  const movement = creditOf(command.amount);
  const version = yield* namedVersion(command);
  const moving = move(ctx, { ...command, version }, effect(movement), usable(ctx, store), findChainEnd);
  const { card, seen: end } = yield* moving;
  refuseAbove(store.issueLimit ?? largestBalance(card.balance.currency), card);
  const transfer = yield* record(ctx, { card, end }, movement, command);
  yield* announce(
    ctx,
    cardMoved(ctx.keys.publicIds, 'gift_card.credited', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
    }),
  );
  return { transfer, card };
}

/** A balance may have as many digits before the point as an amount, or no client could send it back. */
function largestBalance(currency: Currency): Money {
  return { minor: 10n ** BigInt(integerDigitsMax + currency.decimals) - 1n, currency };
}

/** @throws Fault `invalid-parameter` if a movement has raised the balance above a limit. */
function refuseAbove(limit: Money, { balance }: Card): void {
  if (!exceeds(balance, limit)) return;
  throw new Fault('invalid-parameter', {
    errors: {
      amount: [`would raise the balance to ${formatMoney(balance)}; it may be at most ${formatMoney(limit)}`],
    },
  });
}

/**
 * Gives back a debit or capture, wholly or in part, never more than was taken; or takes back a
 * credit, never below what is available. Giving back works on an expired card, too.
 * @param amount null: all that is left of it.
 * @param scopes the caller's: taking back a credit undoes an issue, which a till may not.
 * @throws Fault `not-found`, `not-reversible`, `reversal-exceeds-transaction`, `card-disabled`,
 * `insufficient-balance`, `insufficient-scope`, `precondition-failed`, or `invalid-parameter` if the balance would
 * exceed what any amount may be.
 */
export function* reverse(
  ctx: Context,
  command: {
    readonly store: Store;
    readonly transferId: number;
    readonly amount: Money | null;
    readonly actor: string;
    readonly note: string | null;
    readonly scopes: readonly Scope[];
    /** Of a card, the versions that the caller would change; null: any. */
    readonly versionsOf: (cardId: number) => readonly number[] | null;
  },
): Script<Moved> {
  const { store, transferId } = command;
  yield* lockCardOfTransfer(store.id, transferId);
  // The version is read before the sum: a reversal that comes between them changes it.
  const [found, before] = yield* together(
    findTransferAndVersion(store.id, transferId),
    sumReversals(store.id, transferId),
  );
  if (!found) throw new Fault('not-found');
  const { transfer: reversed, cardVersion } = found;
  const needed: Scope = reversed.kind === 'credit' ? 'write_gift_cards' : 'redeem_gift_cards';
  if (!isReversible(reversed.kind)) throw new Fault('not-reversible');
  if (!command.scopes.includes(needed)) throw new Fault('insufficient-scope', { scopes: [needed] });

  const { cardId } = reversed;
  const versions = command.versionsOf(cardId);
  refuseVersion(versions, cardVersion);
  // What may be taken back depends on what was taken back before: then the card must stay as it was read.
  const version = reversed.kind === 'credit' || versions ? cardVersion : null;
  const left = subtract(reversed.amount, { minor: before, currency: reversed.amount.currency });
  const amount = command.amount ?? left;
  if (amount.minor === 0n || exceeds(amount, left)) throw exceedsTransaction(left);

  const movement = reversalOf(reversed, amount);
  const demands = { today: null, disabledAllowed: false };
  const moving = move(ctx, { store, cardId, version }, effect(movement), demands, (key) =>
    together(findChainEnd(key), sumReversals(store.id, transferId)),
  );
  const { card, seen } = yield* moving;
  const [end, reversedBefore] = seen;
  // The card's row is this script's own by then; who reversed the same transfer before is seen.
  if (reversedBefore !== before) throw new Rerun('the transfer was reversed meanwhile');

  refuseAbove(largestBalance(card.balance.currency), card);
  const transfer = yield* record(ctx, { card, end }, movement, {
    actor: command.actor,
    reference: reversed.reference,
    note: command.note,
    orderId: reversed.orderId,
    reverses: reversed.id,
  });
  yield* announce(
    ctx,
    cardMoved(ctx.keys.publicIds, 'gift_card.reversed', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
    }),
  );
  return { transfer, card };
}

function exceedsTransaction(left: Money): Fault {
  const reversible = formatMoney(left);
  if (left.minor === 0n) {
    return new Fault('reversal-exceeds-transaction', {
      detail: 'The transaction was already reversed in full.',
      errors: { amount: ['cannot be reversed: the transaction was already reversed in full'] },
      extensions: { reversible },
    });
  }
  return new Fault('reversal-exceeds-transaction', {
    detail: `${reversible} ${left.currency.code} of the transaction are left to be given back.`,
    errors: { amount: [`exceeds what is left of the transaction: ${reversible}`] },
    extensions: { reversible },
  });
}
