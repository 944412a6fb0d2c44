/** The activation of a printed code: what its stock demands of the card that it becomes. */

import type { Context } from '../../storage/context.ts';
import { codeTaken } from '../../cards/domain/code.ts';
import { dayOf, formatInstant } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import type { Money } from '../../money/domain/money.ts';
import { expiryOf, valueError, writtenValues } from '../domain/stock.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  findChosenCode,
  findStockedCode,
  type LookupKey,
  type StockedCode,
  type UsedChosenCode,
} from '../storage/code.ts';

/** `required`: the code must be in stock; `optional`: it can be, and is activated then. */
export type StockUse = 'required' | 'optional';

/** A card that can become that of a code in stock. */
type Activated = {
  readonly store: Store;
  readonly code: Secret;
  readonly value: Money;
  readonly expiresOn: string | null;
  /** When its email is sent (ms); null: it is not scheduled. */
  readonly sendAt: number | null;
};

/** A code in stock that becomes a card, and the last valid day of the card; null: it never expires. */
export type Activation = StockedCode & { readonly expiresOn: string | null };

/**
 * The error of a chosen code; null: it can be used. The message reads after the name of the parameter.
 * @param used undefined: the store has never used it.
 * @param use absent: a code in stock counts as used.
 */
export function codeError(used: UsedChosenCode | undefined, use: StockUse | undefined): string | null {
  const stocked = used?.stocked;
  if (use && stocked) {
    if (stocked.voidedAt !== null) return 'was voided';
    return stocked.soldAt === null ? null : 'was already activated';
  }
  if (use === 'required') return 'is not in stock';
  return used ? codeTaken : null;
}

/**
 * Finds the stock of a code that is activated with a card.
 * @returns undefined: the store has never used the code.
 * @throws Fault `already-activated`; `invalid-parameter` if the code cannot be used, or the card is not what the stock
 * demands.
 */
export function* findActivation(
  ctx: Context,
  { store, code, value, expiresOn, sendAt }: Activated,
  use: StockUse,
): Script<Activation | undefined> {
  const used = yield* findChosenCode(ctx, store.id, code);
  const stocked = used?.stocked;
  if (typeof stocked?.soldAt === 'number') throw alreadyActivated(stocked.soldAt);
  const error = codeError(used, use);
  if (error !== null) throw invalid({ code: [error] }, { failedLookups: used ? 1 : 0 });
  if (!stocked) return undefined;
  const { stock } = stocked;
  const expires = expiryOf(stock, ctx.clock.earliest(), store);
  const valueMessage = valueError(stock, value);
  const isTooLate = expires !== null && sendAt !== null && dayOf(sendAt, store.timeZone) > expires;
  const errors = {
    ...(valueMessage !== null && { initial_value: [valueMessage] }),
    ...(expires !== null &&
      expiresOn !== null && {
        expires_on: [`cannot be set: the printed card is valid for ${stock.validMonths} months`],
      }),
    ...(isTooLate && { send_on: [`must not be after ${expires}, the last day of the printed card`] }),
  };
  // The code is in stock and is not activated, so its lookup counts as a failed one.
  if (Object.keys(errors).length > 0)
    throw invalid(errors, { failedLookups: 1, extensions: writtenValues(stock) });
  return { ...stocked, expiresOn: expires ?? expiresOn };
}

function invalid(
  errors: Readonly<Record<string, readonly string[]>>,
  options: { readonly failedLookups: number; readonly extensions?: Readonly<Record<string, string>> },
): Fault {
  return new Fault('invalid-parameter', { errors, ...options });
}

function alreadyActivated(soldAt: number): Fault {
  const at = formatInstant(soldAt);
  return new Fault('already-activated', {
    detail: `The printed card was activated at ${at}.`,
    errors: { code: ['was already activated'] },
    extensions: { activated_at: at },
  });
}

/** The error of a code in stock that is looked for by a caller who may activate it. */
function notActivated({ stock, triedAt }: StockedCode): Fault {
  return new Fault('not-activated', {
    errors: { code: ['is of a printed card that was not activated'] },
    extensions: { ...writtenValues(stock), ...(triedAt !== null && { tried_at: formatInstant(triedAt) }) },
  });
}

/** @throws Fault `not-activated` if the code is in stock, for callers who may activate it. */
export function* assertNotInStock(key: LookupKey): Script<void> {
  const stocked = yield* findStockedCode(key);
  if (stocked?.soldAt === null && stocked.voidedAt === null) throw notActivated(stocked);
}
