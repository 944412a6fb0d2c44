/** The filters of lists of cards by their fields: how a parameter is parsed, and which cards meet it. */

import {
  cardFieldNames,
  cardFields,
  propertyOf,
  type CardDetails,
  type CardField,
  type FieldFilter,
  type FieldsWith,
  type PropertyOf,
} from './fields.ts';
import { searchedTextMax } from './search.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { lowerLetters } from './tags.ts';
import { parseExternalId } from '../../domain/external-id.ts';
import { parseLine, parseText } from '../../domain/text.ts';

export type FilteredField = FieldsWith<{ readonly filter: FieldFilter }>;

/** The filters of lists by fields, by their parameters. */
export const filteredFields = cardFieldNames.filter(
  (name) => cardFields[name].filter !== null,
) as readonly FilteredField[];

export type SentFieldFilters = { readonly [N in FilteredField]?: string };

/** Only lines and texts have filters of this kind: the compiler rejects another row here. */
function filteredRow(name: FilteredField): Extract<CardField, { readonly lengthMax: number }> {
  return cardFields[name];
}

/** The maximum length of the parameter of a filter. */
export function filterLengthMax(name: FilteredField): number {
  const { filter, lengthMax } = filteredRow(name);
  return filter === 'contains' ? searchedTextMax : lengthMax;
}

const parsers = { line: parseLine, text: parseText, id: parseExternalId } as const;

/** Parses the parameter of a filter. */
export function readFilter(name: FilteredField, value: unknown): Parsed<string> {
  const parsed = parsers[filteredRow(name).kind](value, filterLengthMax(name));
  if (!parsed.ok) return parsed;
  return parsed.value === null ? rejected('must not be empty') : accepted(parsed.value);
}

/** The wanted values of filters, as they are compared; null: any. */
export type FieldFilters = { readonly [N in FilteredField as PropertyOf<N>]: string | null };

const filterPlaces = filteredFields.map((name) => [name, propertyOf(name)] as const);

const filterKinds: Readonly<
  Record<
    FieldFilter,
    {
      /** The compared value of a parameter. */
      readonly wanted: (sent: string) => string;
      /** `core/cards/storage/list.ts` has the same in SQL. */
      readonly isMet: (value: string, wanted: string) => boolean;
    }
  >
> = {
  equals: { wanted: (sent) => sent, isMet: (value, wanted) => value === wanted },
  contains: { wanted: lowerLetters, isMet: (value, wanted) => lowerLetters(value).includes(wanted) },
};

export function fieldFiltersOf(sent: SentFieldFilters): FieldFilters {
  const entries = filterPlaces.map(([name, property]) => {
    const value = sent[name];
    return [
      property,
      value === undefined ? null : filterKinds[cardFields[name].filter].wanted(value),
    ] as const;
  });
  return Object.fromEntries(entries) as FieldFilters;
}

/** Whether a card meets the filters by its details. */
export function meetsFieldFilters(card: CardDetails, filters: FieldFilters): boolean {
  return filterPlaces.every(([name, property]) => {
    const [value, wanted] = [card[property], filters[property]];
    return wanted === null || (value !== null && filterKinds[cardFields[name].filter].isMet(value, wanted));
  });
}
