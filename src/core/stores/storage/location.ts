/** Locations of stores. */

import type { Location } from '../domain/location.ts';
import {
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { padded } from '../../../database/sql/chunks.ts';
import { all, execute, first, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

const locations = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  name: text('name'),
  address: textOrNull('address'),
  time_zone: textOrNull('timeZone'),
  created_at: integer('createdAt'),
  closed_at: integerOrNull('closedAt'),
});

type LocationRow = RowOf<typeof locations>;

export function* insertLocation(location: Location): Script<void> {
  yield* execute(sql`insert into locations (${locations.names}) values (${locations.values(location)})`);
}

/** The number of a store's locations, also closed ones. */
export function* countLocations(storeId: number): Script<number> {
  const { count } = yield* one(sql<{ count: bigint }>`
    select count(*) as count from locations where store_id = ${storeId}`);
  return toNumber(count);
}

/** Returns undefined if the store has no location with this id. */
export function* findLocation(storeId: number, id: number): Script<Location | undefined> {
  const row = yield* first(sql<LocationRow>`
    select ${locations.names} from locations where store_id = ${storeId} and id = ${id}`);
  return row && locations.read(row);
}

/** Returns the locations with some ids, at most 20, oldest first. */
export function* findLocations(storeId: number, ids: readonly number[]): Script<readonly Location[]> {
  const rows = yield* all(sql<LocationRow>`
    select ${locations.names} from locations
    where store_id = ${storeId} and id in (${padded(ids, 0)}) order by id`);
  return rows.map(locations.read);
}

/** Stores the fields of a location that can change. */
export function* storeLocation({ storeId, id, name, address, timeZone, closedAt }: Location): Script<void> {
  yield* execute(sql`
    update locations set name = ${name}, address = ${address}, time_zone = ${timeZone}, closed_at = ${closedAt}
    where store_id = ${storeId} and id = ${id}`);
}

/** Returns the locations of a store with ids below `before`, newest first. */
export function* listLocationsBefore(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Location[]> {
  const rows = yield* all(sql<LocationRow>`
    select ${locations.names} from locations
    where store_id = ${storeId} and id < ${before} order by id desc limit ${limit}`);
  return rows.map(locations.read);
}

/** Returns the locations of a store with ids above `after`, oldest first. */
export function* listLocationsAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Location[]> {
  const rows = yield* all(sql<LocationRow>`
    select ${locations.names} from locations
    where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map(locations.read);
}
