/** Locations: create, change and list them, and find the one of a movement. */

import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import { worksAt, type StaffMember } from '../../staff/domain/staff.ts';
import { locationsMax, type Location, type LocationFields } from '../domain/location.ts';
import {
  countLocations,
  findLocation,
  findLocations,
  insertLocation,
  listLocationsAfter,
  listLocationsBefore,
  storeLocation,
} from '../storage/location.ts';
import { moveToken, type Token } from '../storage/token.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { newerPage, olderPage, type ListPage, type PageRequest } from '../../money/service/movements.ts';

/** @throws Fault `invalid-parameter` on `name` if the store has the maximum of locations. */
export function* addLocation(ctx: Context, storeId: number, fields: LocationFields): Script<Location> {
  if ((yield* countLocations(storeId)) >= locationsMax)
    throw new Fault('invalid-parameter', {
      errors: { name: [`cannot be added: a store has at most ${locationsMax} locations`] },
    });
  const location = { storeId, id: ctx.random.id(), ...fields, createdAt: ctx.clock.now(), closedAt: null };
  yield* insertLocation(location);
  return location;
}

/**
 * Changes the given fields. Closing a closed location changes nothing.
 * @throws Fault `not-found`.
 */
export function* changeLocation(
  ctx: Context,
  { storeId, id }: Pick<Location, 'storeId' | 'id'>,
  { isClosed, ...changes }: Partial<LocationFields> & { readonly isClosed?: boolean },
): Script<Location> {
  const found = yield* requireLocation(storeId, id);
  const closedAt = isClosed === false ? null : (found.closedAt ?? (isClosed ? ctx.clock.now() : null));
  const changed = { ...found, ...changes, closedAt };
  yield* storeLocation(changed);
  return changed;
}

/** @throws Fault `not-found` if the store has no such location. */
export function* requireLocation(storeId: number, id: number): Script<Location> {
  const found = yield* findLocation(storeId, id);
  if (!found) throw new Fault('not-found');
  return found;
}

/** All locations of a store, oldest first. */
export function* listAllLocations(storeId: number): Script<readonly Location[]> {
  const found: Location[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: readonly Location[] = yield* listLocationsAfter(storeId, { after, limit: pageMax });
    found.push(...page);
    after = page.length < pageMax ? undefined : page.at(-1)?.id;
  }
  return found;
}

const pageMax = 250;

/**
 * Lets a token belong to a location, or to none.
 * @throws Fault `not-found` if there is no such active token; `invalid-parameter` if the location is closed or not the
 * store's.
 */
export function* moveTokenTo(
  { storeId, id }: Pick<Token, 'id'> & { readonly storeId: number },
  locationId: number | null,
): Script<Token> {
  yield* locationOf(storeId, { own: null, named: locationId });
  const moved = yield* moveToken(storeId, id, locationId);
  if (!moved) throw new Fault('not-found');
  return moved;
}

/** A page of a store's locations, newest first. @param page `before` and `after` are ids. */
export function* pageOfLocations(
  storeId: number,
  { limit, before, after }: PageRequest,
): Script<ListPage<Location>> {
  if (after !== null) {
    return newerPage(yield* listLocationsAfter(storeId, { after, limit: limit + 1 }), limit);
  }
  const found = yield* listLocationsBefore(storeId, {
    before: before ?? Number.MAX_SAFE_INTEGER,
    limit: limit + 1,
  });
  return olderPage(found, { limit, isFirst: before === null });
}

/**
 * The location of a movement: the caller's own, or the one that the request names if the caller belongs to none.
 * @throws Fault `invalid-parameter` if the request names another one than the caller's own, if the caller's own is closed,
 * or if the one that it names is closed or not the store's.
 */
export function* locationOf(
  storeId: number,
  { own, named }: { readonly own: number | null; readonly named: number | null },
): Script<number | null> {
  if (own !== null && named !== null && named !== own)
    throw wrongLocation('must be the location that the access token belongs to');
  const id = own ?? named;
  if (id === null) return null;
  const found = yield* findLocation(storeId, id);
  if (found && found.closedAt === null) return id;
  throw wrongLocation(
    own === null
      ? 'must be an open location of the store'
      : 'is that of the access token or till, and is closed',
  );
}

/** The open locations to which a person is limited, oldest first; none: the person works everywhere. */
export function* listWorkplaces({
  storeId,
  locationIds,
}: Pick<StaffMember, 'storeId' | 'locationIds'>): Script<readonly Location[]> {
  if (locationIds === null) return [];
  return (yield* findLocations(storeId, locationIds)).filter(({ closedAt }) => closedAt === null);
}

/**
 * The location at which a person who is limited to some works in the office: the chosen one, otherwise the first that is
 * open; undefined: all are closed.
 */
export function* workplaceOf(
  member: Pick<StaffMember, 'storeId' | 'locationIds'>,
  chosen: number | null,
): Script<Location | undefined> {
  const open = yield* listWorkplaces(member);
  return open.find(({ id }) => id === chosen) ?? open[0];
}

/**
 * The location of a movement by a person who is limited to some.
 * @param options.tillLocation that of the till; undefined: the person works in the office.
 * @throws Fault `invalid-parameter` if the till is elsewhere, or if the locations are closed.
 */
export function* limitedLocationOf(
  member: Pick<StaffMember, 'storeId' | 'locationIds'>,
  {
    tillLocation,
    chosen,
  }: { readonly tillLocation: number | null | undefined; readonly chosen: number | null },
): Script<number> {
  if (tillLocation === undefined) {
    const place = yield* workplaceOf(member, chosen);
    if (!place) throw wrongLocation('is that of the person, and is closed');
    return place.id;
  }
  if (tillLocation === null || !worksAt(member, tillLocation))
    throw wrongLocation('must be one of those that the person is limited to');
  yield* locationOf(member.storeId, { own: tillLocation, named: null });
  return tillLocation;
}

function wrongLocation(message: string): Fault {
  return new Fault('invalid-parameter', { errors: { location_id: [message] } });
}
