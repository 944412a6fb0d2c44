/** The query of the list of cards: the parameters are those of `GET /gift_cards`, and `text`. */

import { filteredFields, readFilter } from '../../../core/cards/domain/field-filters.ts';
import { byField } from '../../../core/cards/domain/fields.ts';
import { cardStates } from '../../../core/cards/domain/state.ts';
import { searchedTextMax } from '../../../core/cards/domain/search.ts';
import { parseLastCharacters } from '../../../core/cards/domain/code.ts';
import { parseDay } from '../../../core/domain/day.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { parseAmount } from '../../../core/money/domain/money.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { deliveryStates } from '../../../core/emails/domain/email.ts';
import { parseTag } from '../../../core/cards/domain/tags.ts';
import { parseText } from '../../../core/domain/text.ts';
import { parseTimeBound } from '../../../core/domain/time-bound.ts';
import { sorts, type SentFilters, type SortName } from '../../../core/cards/service/filter.ts';

type Parser<T> = (value: string, store: Store) => Parsed<T>;

function choice<const T extends string>(values: readonly T[]): Parser<T> {
  return (value) => {
    const found = values.find((each) => each === value);
    return found === undefined ? rejected('is not one of the choices') : accepted(found);
  };
}

function timeBound(isMax: boolean): Parser<number> {
  return (value, { timeZone }) => parseTimeBound(value, { timeZone, isMax });
}

function searchedText(value: string): Parsed<string> {
  const parsed = parseText(value, searchedTextMax);
  if (!parsed.ok) return parsed;
  return parsed.value === null ? rejected('must not be empty') : accepted(parsed.value);
}

function yesOrNo(value: string): Parsed<boolean> {
  return value === 'yes' || value === 'no' ? accepted(value === 'yes') : rejected('must be yes or no');
}

function integer(value: string): Parsed<number> {
  const number = /^[1-9]\d{0,15}$/.test(value) ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) ? accepted(number) : rejected('must be an integer');
}

const amount: Parser<NonNullable<SentFilters['balance_min']>> = (value, { currency }) =>
  parseAmount(value, { currency, zeroAllowed: true });

type Query = SentFilters & { readonly email?: EmailAddress };

const parsers: { readonly [Name in keyof Required<Query>]: Parser<NonNullable<Query[Name]>> } = {
  state: choice(cardStates),
  email_status: choice(deliveryStates),
  last_characters: parseLastCharacters,
  email: parseEmail,
  order_id: integer,
  batch_id: integer,
  viewed: yesOrNo,
  redeemed: yesOrNo,
  text: searchedText,
  ...byField(filteredFields, (name) => (value: string) => readFilter(name, value)),
  tag: parseTag,
  location_id: integer,
  created_at_min: timeBound(false),
  created_at_max: timeBound(true),
  disabled_at_min: timeBound(false),
  disabled_at_max: timeBound(true),
  last_activity_at_min: timeBound(false),
  last_activity_at_max: timeBound(true),
  expires_on_min: parseDay,
  expires_on_max: parseDay,
  balance_min: amount,
  balance_max: amount,
};

export type FilterName = keyof typeof parsers;

export const filterNames = Object.keys(parsers) as readonly FilterName[];

export type CardsQuery = {
  /** The filters as they were sent, in the order of `filterNames`. */
  readonly sent: ReadonlyMap<FilterName, string>;
  readonly filters: SentFilters;
  readonly email: EmailAddress | undefined;
  readonly sort: SortName;
};

/** @throws Fault `invalid-query` if a value is not one that the pages or the API produce. */
export function readCardsQuery(given: ReadonlyMap<string, string>, store: Store): CardsQuery {
  const sent = new Map<FilterName, string>();
  const values: Record<string, unknown> = {};
  for (const name of filterNames) {
    const value = given.get(name);
    if (value === undefined || value === '') continue;
    const parsed = parsers[name](value, store);
    if (!parsed.ok) throw new Fault('invalid-query', { errors: { [name]: [parsed.error] } });
    sent.set(name, value);
    values[name] = parsed.value;
  }
  // Each value is one that the parser of its name returned.
  const { email, ...filters } = values as Query;
  const sort = (Object.keys(sorts) as SortName[]).find((name) => name === given.get('sort'));
  return { sent, filters, email, sort: sort ?? '-created_at' };
}

/** The query string with some parameters changed; undefined: left out. The page of the list is never kept. */
export function queryWith(
  { sent, sort }: Pick<CardsQuery, 'sent' | 'sort'>,
  changes: Readonly<Record<string, string | undefined>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of [...sent, ['sort', sort] as const])
    if (!(name === 'sort' && value === '-created_at')) parameters.set(name, value);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined) parameters.delete(name);
    else parameters.set(name, value);
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
