/** The activation of a printed code: what its stock demands of the card that it becomes. */

import type { Context } from '../../storage/context.ts';
import { codeTaken } from '../../cards/domain/code.ts';
import { dayOf, formatInstant } from '../../domain/day.ts';
import { Fault } from '../../domain/fault.ts';
import type { Money } from '../../money/domain/money.ts';
import { expiryOf, valueError, writtenValues } from '../domain/stock.ts';
import type { Store } from '../../stores/domain/store.ts';
import { newCodeErrors, type ChosenCode, type Reading } from '../../cards/domain/given-code.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  findChosenCodes,
  findStockedCode,
  type LookupKey,
  type StockedCode,
  type UsedChosenCode,
} from '../storage/code.ts';

/**
 * `required`: the code must be in stock. `given`: its first reading that the store has used can be in stock, and is activated
 * then; if the store has used none, it is a new code. `optional`: the code as it was given can be in stock.
 */
export type StockUse = 'required' | 'given' | 'optional';

/** A card that can become that of a code in stock. */
type Activated = {
  readonly store: Store;
  readonly code: ChosenCode;
  readonly value: Money;
  readonly expiresOn: string | null;
  /** When its email is sent (ms); null: it is not scheduled. */
  readonly sendAt: number | null;
};

/** A code in stock that becomes a card, and the last valid day of the card; null: it never expires. */
export type Activation = StockedCode & {
  /** The reading that is in stock. */
  readonly reading: Reading;
  readonly expiresOn: string | null;
};

/** The error of a code that must be in stock. It reads after the name of the parameter. */
export const notInStock = 'is not in stock';

/** The state of a chosen code. */
export type Chosen = {
  /** The printed card that it is of; null: of none. */
  readonly stocked: StockedCode | null;
  /** Its first reading that the store has used; undefined: it has used none. */
  readonly used: UsedChosenCode | undefined;
  /** The reason why it cannot be used; null: it can. It reads after the name of the parameter. */
  readonly error: string | null;
};

/**
 * Finds what a chosen code is. Of a code that names a printed card, the first reading that the store has used counts. If
 * the code can be that of a new card, only the code as it was given is activated.
 * @param use absent: a code in stock counts as used.
 */
export function* findChosen(
  ctx: Context,
  { storeId, code: { readings, newError } }: { readonly storeId: number; readonly code: ChosenCode },
  use: StockUse | undefined,
): Script<Chosen> {
  const codes = readings.map(({ code }) => code);
  const found = yield* findChosenCodes(ctx, storeId, codes);
  const [used] = found;
  const isGiven = use === 'required' || use === 'given';
  // The letters and digits of a link or a masked code are not a code that a store can have chosen.
  if (!isGiven && (newError === newCodeErrors.link || newError === newCodeErrors.masked))
    return { stocked: null, used, error: newError };
  const isExact = used !== undefined && readings[used.place]?.way === 'exact';
  const named = isGiven || isExact ? used : undefined;
  if (use && named?.stocked) return { stocked: named.stocked, used, error: errorOf(named.stocked) };
  if (use === 'required') return { stocked: null, used, error: notInStock };
  if (named) return { stocked: null, used, error: codeTaken };
  const error = newError ?? (found.some(({ stocked }) => stocked !== null) ? newCodeErrors.printed : null);
  return { stocked: null, used, error };
}

function errorOf({ soldAt, voidedAt }: StockedCode): string | null {
  if (voidedAt !== null) return 'was voided';
  return soldAt === null ? null : 'was already activated';
}

/**
 * Finds the stock of a code that is activated with a card.
 * @param use absent: a code in stock counts as used.
 * @returns undefined: it can be the code of a new card.
 * @throws Fault `already-activated`; `invalid-parameter` if the code cannot be used, or the card is not what the stock
 * demands.
 */
export function* findActivation(
  ctx: Context,
  { store, code: given, value, expiresOn, sendAt }: Activated,
  use: StockUse | undefined,
): Script<Activation | undefined> {
  const { stocked, error, used } = yield* findChosen(ctx, { storeId: store.id, code: given }, use);
  if (typeof stocked?.soldAt === 'number') throw alreadyActivated(stocked.soldAt);
  if (error !== null) throw invalid({ code: [error] }, { failedLookups: used ? 1 : 0 });
  if (!stocked) return undefined;
  const reading = given.readings[used?.place ?? 0] ?? given.readings[0];
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
  return { ...stocked, reading, expiresOn: expires ?? expiresOn };
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
