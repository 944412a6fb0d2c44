/** Locations: the shops of a store, where movements take place. A location is never deleted. */

import { formatInstant, formatInstantOrNull, isTimeZone } from '../../domain/day.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import type { LocationRecord } from '../../cards/domain/schemas.ts';
import { parseLine, parseText } from '../../domain/text.ts';

export type Location = {
  readonly storeId: number;
  readonly id: number;
  readonly name: string;
  /** Lines of text; null: none. */
  readonly address: string | null;
  /** The time zone of its receipts; null: the store's. Days of the books are the store's at every location. */
  readonly timeZone: string | null;
  /** Instants in ms. */
  readonly createdAt: number;
  /** Null: it is open. A closed location has no new movements. */
  readonly closedAt: number | null;
};

export const locationNameLengthMax = 100;
export const locationAddressLengthMax = 500;
export const locationZoneLengthMax = 64;
/** Locations of a store, also closed ones. */
export const locationsMax = 1_000;

export function parseLocationName(value: unknown): Parsed<string> {
  const parsed = parseLine(value, locationNameLengthMax);
  if (!parsed.ok) return parsed;
  return parsed.value === null ? rejected('must not be empty') : accepted(parsed.value);
}

export function parseLocationAddress(value: unknown): Parsed<string | null> {
  return parseText(value, locationAddressLengthMax);
}

/** Null and an empty text: the time zone of the store. */
export function parseLocationZone(value: unknown): Parsed<string | null> {
  if (value === null || value === '') return accepted(null);
  return typeof value === 'string' && value.length <= locationZoneLengthMax && isTimeZone(value)
    ? accepted(value)
    : rejected('must be an IANA time zone such as Europe/Paris');
}

/** Locations whose entries are shown; null in the list: the entries at no location. */
export type PlacesOfEntries = readonly (number | null)[];

/** Null: all entries. */
export type EntryPlaces = PlacesOfEntries | null;

/** The fields that can be changed. */
export type LocationFields = Pick<Location, 'name' | 'address' | 'timeZone'>;

export function locationRecordOf(location: Location): LocationRecord {
  return {
    id: location.id,
    name: location.name,
    address: location.address,
    time_zone: location.timeZone,
    closed: location.closedAt !== null,
    closed_at: formatInstantOrNull(location.closedAt),
    created_at: formatInstant(location.createdAt),
  };
}
