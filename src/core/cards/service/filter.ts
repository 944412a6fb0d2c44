/** The filters, orders and cursors of lists of cards, from the values that a client sends. */

import type { Context } from '../../storage/context.ts';
import { fieldFiltersOf, type SentFieldFilters } from '../domain/field-filters.ts';
import type { CardState } from '../domain/state.ts';
import type { EmailState } from '../../emails/domain/email.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { Fault, FieldErrors } from '../../domain/fault.ts';
import type { Money } from '../../money/domain/money.ts';
import type { StaffMember } from '../../staff/domain/staff.ts';
import { lowerLetters, searchedTag } from '../domain/tags.ts';
import type { CardFilter } from '../storage/filter.ts';
import type { CardPosition, CardSort } from '../storage/list.ts';
import { findCustomerByEmail } from '../../customers/storage/customer.ts';
import type { Range } from '../../../database/sql/id-range.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { cursorOf, readCursor, type CursorScope } from '../../requests/service/cursor.ts';
import { int64Max } from '../../domain/int64.ts';

export const sorts = {
  '-created_at': { by: 'created_at', isDescending: true },
  created_at: { by: 'created_at', isDescending: false },
  '-balance': { by: 'balance', isDescending: true },
  balance: { by: 'balance', isDescending: false },
  '-expires_on': { by: 'expires_on', isDescending: true },
  expires_on: { by: 'expires_on', isDescending: false },
} as const satisfies Readonly<Record<string, CardSort>>;

export type SortName = keyof typeof sorts;

/** The parsed filters of a request, by the names of its parameters. */
export type SentFilters = SentFieldFilters & {
  readonly state?: CardState;
  readonly email_status?: EmailState;
  readonly created_at_min?: number;
  readonly created_at_max?: number;
  readonly disabled_at_min?: number;
  readonly disabled_at_max?: number;
  readonly last_activity_at_min?: number;
  readonly last_activity_at_max?: number;
  readonly expires_on_min?: string;
  readonly expires_on_max?: string;
  readonly balance_min?: Money;
  readonly balance_max?: Money;
  readonly order_id?: number;
  readonly batch_id?: number;
  /** Only the console sends these two. */
  readonly viewed?: boolean;
  readonly redeemed?: boolean;
  readonly last_characters?: string;
  readonly tag?: string;
  /** The location at which the card was issued. */
  readonly location_id?: number;
  /** Part of the note or of a name; only the console sends it. */
  readonly text?: string;
};

/**
 * The range between two ends, of which one can be absent; null if both are.
 * @throws Fault `invalid-query` if the first is after the second.
 */
export function rangeOf<T extends string | number | bigint>(
  name: string,
  { min, max }: { readonly min: T | undefined; readonly max: T | undefined },
  widest: Range<T>,
): Range<T> | null {
  if (min === undefined && max === undefined) return null;
  if (min !== undefined && max !== undefined && min > max) {
    const errors = new FieldErrors();
    errors.add(`${name}_max`, `must not be less than ${name}_min`);
    throw new Fault('invalid-query', { errors: errors.toErrors() });
  }
  return { min: min ?? widest.min, max: max ?? widest.max };
}

export const allInstants = { min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 };
const allDays = { min: '0000-01-01', max: '9999-12-31' };
const allAmounts = { min: 0n, max: int64Max };

/** @throws Fault `invalid-query` if an end of a range is after the other one. */
export function filterOf(sent: SentFilters, customerId: number | null): CardFilter {
  const { created_at_min, created_at_max, disabled_at_min, disabled_at_max } = sent;
  const { last_activity_at_min, last_activity_at_max } = sent;
  return {
    state: sent.state ?? null,
    emailStatus: sent.email_status ?? null,
    customerId,
    createdAt: rangeOf('created_at', { min: created_at_min, max: created_at_max }, allInstants),
    disabledAt: rangeOf('disabled_at', { min: disabled_at_min, max: disabled_at_max }, allInstants),
    lastActivityAt: rangeOf(
      'last_activity_at',
      { min: last_activity_at_min, max: last_activity_at_max },
      allInstants,
    ),
    expiresOn: rangeOf('expires_on', { min: sent.expires_on_min, max: sent.expires_on_max }, allDays),
    balance: rangeOf('balance', { min: sent.balance_min?.minor, max: sent.balance_max?.minor }, allAmounts),
    orderId: sent.order_id ?? null,
    batchId: sent.batch_id ?? null,
    viewed: sent.viewed ?? null,
    redeemed: sent.redeemed ?? null,
    lastCharacters: sent.last_characters ?? null,
    ...fieldFiltersOf(sent),
    issuedAt: sent.location_id === undefined ? null : [sent.location_id],
    tag: sent.tag === undefined ? null : searchedTag(sent.tag),
    text: sent.text === undefined ? null : lowerLetters(sent.text),
  };
}

/** The filter of a person's list: a person who is limited to locations lists the cards that were issued there. */
export function limitedFilter(
  { locationIds }: Pick<StaffMember, 'locationIds'>,
  filter: CardFilter,
): CardFilter {
  if (locationIds === null) return filter;
  return { ...filter, issuedAt: filter.issuedAt?.filter((id) => locationIds.includes(id)) ?? locationIds };
}

/** The id of the customer with an address: 0, which no customer has, if there is none; null without an address. */
export function* customerIdOf(storeId: number, address: EmailAddress | undefined): Script<number | null> {
  if (!address) return null;
  return (yield* findCustomerByEmail(storeId, address))?.id ?? 0;
}

/** The cursor of a position. The position before the cards that never expire has no card. */
export function cardCursorOf(
  ctx: Context,
  scope: CursorScope,
  { id, balance, expiresOn }: CardPosition,
): string {
  return cursorOf(ctx, scope, [id === 0 ? 0 : ctx.keys.publicIds.of(id), balance.toString(), expiresOn]);
}

/** @throws Fault `invalid-query` if it is not a cursor of this scope. */
export function readCardCursor(ctx: Context, scope: CursorScope, text: string): CardPosition {
  // The cursor has what `cardCursorOf` wrote.
  const [publicId, balance, expiresOn] = readCursor(ctx, scope, text) as [number, string, string | null];
  return { id: ctx.keys.publicIds.read(publicId) ?? 0, balance: BigInt(balance), expiresOn };
}
