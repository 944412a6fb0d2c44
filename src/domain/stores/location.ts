/** Locations: the shops of a store, where movements take place. A location is never deleted. */

import { formatInstant, formatInstantOrNull } from '../day.ts';
import type { LocationRecord } from '../schemas.ts';

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
