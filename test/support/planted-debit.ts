/** Planted bugs: debits that are wrong on purpose, and that the tests of debits must detect. */

import type { Context } from '../../src/core/storage/context.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { debitOf } from '../../src/core/money/domain/ledger.ts';
import type { Money } from '../../src/core/money/domain/money.ts';
import { loadCard, requireCard } from '../../src/core/cards/service/present-card.ts';
import { record } from '../../src/core/money/service/transfer.ts';
import type { MovementResult } from '../../src/core/money/service/spend.ts';
import { execute, sql, type Script } from '../../src/database/sql/sql.ts';

type DebitCommand = { readonly storeId: number; readonly cardId: number; readonly amount: Money };

const details = { actor: 'test', reference: null, note: null, orderId: null };

/** Reads the balance, and then writes the difference: a concurrent debit is lost. */
export function* readThenWriteDebit(
  ctx: Context,
  { storeId, cardId, amount }: DebitCommand,
): Script<MovementResult> {
  const { balance, held } = yield* requireCard(storeId, cardId);
  const left = balance.minor - amount.minor;
  if (left < held.minor) throw new Fault('insufficient-balance');
  yield* execute(sql`
    update gift_cards set balance = ${left}, version = version + 1
    where store_id = ${storeId} and id = ${cardId}`);
  const { card, chainEnd: end } = yield* loadCard(ctx, { storeId, cardId });
  return { card, transfer: yield* record(ctx, { card, end }, debitOf(amount), details) };
}

/** Moves the balance in one statement, but without the guard: the balance can be too low. */
export function* unguardedDebit(
  ctx: Context,
  { storeId, cardId, amount }: DebitCommand,
): Script<MovementResult> {
  yield* execute(sql`
    update gift_cards set balance = balance - ${amount.minor}, version = version + 1
    where store_id = ${storeId} and id = ${cardId} and disabled_at is null`);
  const { card, chainEnd: end } = yield* loadCard(ctx, { storeId, cardId });
  return { card, transfer: yield* record(ctx, { card, end }, debitOf(amount), details) };
}
