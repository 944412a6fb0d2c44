/** Debits, credits and the reversals of movements. */

import type { Context } from '../../storage/context.ts';
import { unheldOf, type Card } from '../../cards/domain/card.ts';
import type { Currency } from '../domain/currency.ts';
import { movementEvent } from '../../events/domain/event.ts';
import { Fault } from '../../domain/fault.ts';
import {
  creditOf,
  debitOf,
  isReversible,
  isSaleAccount,
  reversalOf,
  type Transfer,
} from '../domain/ledger.ts';
import { exceeds, formatMoney, integerDigitsMax, subtract, type Money } from '../domain/money.ts';
import { transactionOf } from '../../cards/domain/record.ts';
import type { Scope, Store } from '../../stores/domain/store.ts';
import { lockCard, lockCardOfTransfer } from '../../cards/storage/card.ts';
import { recordEvent } from '../../events/storage/event.ts';
import { RetryTransaction, parallel, type Script } from '../../../database/sql/sql.ts';
import { findTransferAndVersion, sumReversals } from '../storage/transfer.ts';
import { effect, applyMovement, readNothing } from './apply-movement.ts';
import { detailsAfter, type NamedDetails, record, type MoneyCommand } from './transfer.ts';
import { lockNamedVersion, assertVersion, loadCard } from '../../cards/service/present-card.ts';
import { requireUsableState } from './card-demands.ts';

/** A new transfer, and its card after it. */
export type MovementResult = { readonly transfer: Transfer; readonly card: Card };

/**
 * Debits an amount of a usable card.
 * @param partial whether to debit the available amount if it is less.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, `card-suspended`, `insufficient-balance`.
 */
export function* debit(
  ctx: Context,
  command: MoneyCommand & {
    readonly amount: Money;
    readonly partial: boolean;
    /** The lookup value of the code that the card must still have; absent: any. */
    readonly codeLookup?: bigint;
  },
): Script<MovementResult> {
  const { amount, version } = command.partial
    ? yield* findLesserAmount(ctx, command)
    : { amount: command.amount, version: yield* lockNamedVersion(ctx, command) };
  const movement = debitOf(amount);
  const demands = {
    ...requireUsableState(ctx, command.store),
    ...(command.codeLookup !== undefined && { codeLookup: command.codeLookup }),
  };
  const movementScript = applyMovement(ctx, { ...command, version }, effect(movement), demands, readNothing);
  const { card, chainEnd: end } = yield* movementScript;
  const transfer = yield* record(ctx, { card, end }, movement, command);
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.redeemed', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
    }),
  );
  return { transfer, card };
}

/**
 * The lesser of the requested and the available amount, and the version of the card. If nothing is available, returns
 * the requested amount, because its debit fails with the reason.
 */
function* findLesserAmount(
  ctx: Context,
  command: MoneyCommand & { readonly amount: Money },
): Script<{ readonly amount: Money; readonly version: number }> {
  const key = { storeId: command.store.id, cardId: command.cardId };
  yield* lockCard(key);
  const state = yield* loadCard(ctx, key);
  const { card } = state;
  assertVersion(command.versions, state);
  const available = unheldOf(card);
  const isLess = available.minor > 0n && exceeds(command.amount, available);
  return { amount: isLess ? available : command.amount, version: card.version };
}

/**
 * Adds value to a usable card.
 * @throws Fault `not-found`, `precondition-failed`, `card-disabled`, `card-expired`, `card-suspended`, or `invalid-parameter` if
 * the balance would exceed the store's limit.
 */
export function* credit(
  ctx: Context,
  command: MoneyCommand & { readonly amount: Money },
): Script<MovementResult> {
  const { store } = command;
  const movement = creditOf(command.amount);
  const version = yield* lockNamedVersion(ctx, command);
  const movementScript = applyMovement(
    ctx,
    { ...command, version },
    effect(movement),
    requireUsableState(ctx, store),
    readNothing,
  );
  const { card, chainEnd: end } = yield* movementScript;
  assertWithinLimit(store.issueLimit ?? largestBalance(card.balance.currency), card);
  const transfer = yield* record(ctx, { card, end }, movement, command);
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.credited', card, {
      transaction: transactionOf(ctx.keys.publicIds, transfer),
    }),
  );
  return { transfer, card };
}

/** A balance has at most as many digits before the point as an amount, because clients must be able to send it back. */
export function largestBalance(currency: Currency): Money {
  return { minor: 10n ** BigInt(integerDigitsMax + currency.decimals) - 1n, currency };
}

/** @throws Fault `invalid-parameter` if a movement has raised the balance above a limit. */
function assertWithinLimit(limit: Money, { balance }: Card): void {
  if (!exceeds(balance, limit)) return;
  throw new Fault('invalid-parameter', { errors: { amount: [limitError(limit, balance)] } });
}

/** The error message for an amount that would raise a balance above a limit. */
export function limitError(limit: Money, balance: Money): string {
  return `cannot raise the balance to ${formatMoney(balance)}: the limit is ${formatMoney(limit)}`;
}

export type ReversalCommand = {
  readonly store: Store;
  readonly transferId: number;
  /** Null: the rest of the transfer. */
  readonly amount: Money | null;
  readonly actor: string;
  /** The caller's scopes: a credit or top-up requires `write_gift_cards`, a debit or capture `redeem_gift_cards`. */
  readonly scopes: readonly Scope[];
  /** Returns the versions of a card that the request accepts (`If-Match`); null: any. */
  readonly versionsOf: (cardId: number) => readonly string[] | null;
  /** Whether an issue can be reversed, as a credit, and also that of a disabled card; absent: no. */
  readonly cancelsSale?: boolean;
} & Partial<NamedDetails>;

/**
 * Reverses a debit, capture, credit or top-up, in whole or in part, even on an expired or suspended card. The reversals of a
 * transfer cannot exceed its amount, and the reversal of a credit or top-up cannot exceed the balance minus open holds.
 * @throws Fault `not-found`, `not-reversible`, `reversal-exceeds-transaction`, `card-disabled`,
 * `insufficient-balance`, `insufficient-scope`, `precondition-failed`, or `invalid-parameter` if the balance would
 * exceed the largest possible amount.
 */
export function* reverse(ctx: Context, command: ReversalCommand): Script<MovementResult> {
  const { store, transferId } = command;
  yield* lockCardOfTransfer(store.id, transferId);
  // The version is read before the sum, so it reveals a reversal between the two reads.
  const [found, before] = yield* parallel(
    findTransferAndVersion(store.id, transferId),
    sumReversals(store.id, transferId),
  );
  if (!found) throw new Fault('not-found');
  const { transfer: reversed, cardVersion } = found;
  const isSale = isSaleAccount(reversed.debit);
  const needed: Scope = isSale ? 'write_gift_cards' : 'redeem_gift_cards';
  const isCancelled = reversed.kind === 'issue' && command.cancelsSale === true;
  if (!isReversible(reversed.kind) && !isCancelled) throw new Fault('not-reversible');
  if (!command.scopes.includes(needed)) throw new Fault('insufficient-scope', { scopes: [needed] });

  const { cardId } = reversed;
  const versions = command.versionsOf(cardId);
  if (versions) assertVersion(versions, yield* loadCard(ctx, { storeId: store.id, cardId }));
  const left = subtract(reversed.amount, { minor: before, currency: reversed.amount.currency });
  const amount = command.amount ?? left;
  if (amount.minor === 0n || exceeds(amount, left)) throw exceedsTransaction(left);

  // The reversible amount depends on earlier reversals, so the card must still have the version that was read.
  const movement = reversalOf(reversed, amount);
  const demands = { today: null, disabledAllowed: isCancelled, suspendedAllowed: true };
  const movementScript = applyMovement(
    ctx,
    { store, cardId, version: cardVersion },
    effect(movement),
    demands,
    () => sumReversals(store.id, transferId),
  );
  const { card, chainEnd: end, seen: reversedBefore } = yield* movementScript;
  // The card is locked now, so the sum contains all earlier reversals of the transfer.
  if (reversedBefore !== before) throw new RetryTransaction('the transfer was reversed concurrently');

  assertWithinLimit(largestBalance(card.balance.currency), card);
  const transfer = yield* record(ctx, { card, end }, movement, {
    actor: command.actor,
    ...detailsAfter(reversed, command),
    note: command.note ?? null,
    reverses: reversed.id,
  });
  yield* recordEvent(
    ctx,
    movementEvent(ctx.keys.publicIds, 'gift_card.reversed', card, {
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
    detail: `${reversible} ${left.currency.code} of the transaction can be reversed.`,
    errors: { amount: [`must be at most ${reversible}, the amount that can be reversed`] },
    extensions: { reversible },
  });
}
