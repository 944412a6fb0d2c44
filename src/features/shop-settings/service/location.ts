/** Locations as owners change them on the pages, and the locations of tills. */

import type { Location, LocationFields } from '../../../core/stores/domain/location.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { addLocation, changeLocation, requireLocation } from '../../../core/stores/service/location.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

/** @throws Fault those of `asStaff` and `addLocation`. */
export function* addLocationAs(ctx: Context, by: ByStaff, fields: LocationFields): Script<Location> {
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    change: () => addLocation(ctx, by.store.id, fields),
    entryOf: ({ id, name }) => ({ action: 'location-added', subjectId: id, details: { name } }),
  });
}

/** @throws Fault `not-found`; those of `asStaff`. */
export function* changeLocationAs(
  ctx: Context,
  by: ByStaff,
  id: number,
  fields: LocationFields,
): Script<void> {
  const key = { storeId: by.store.id, id };
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const before = yield* requireLocation(key.storeId, id);
      const after = yield* changeLocation(ctx, key, fields);
      const isChanged = (['name', 'address', 'timeZone'] as const).some(
        (name) => before[name] !== after[name],
      );
      return { name: after.name, isChanged };
    },
    entryOf: ({ name, isChanged }) =>
      isChanged ? { action: 'location-changed', subjectId: id, details: { name } } : null,
  });
}

/** Closes a location, or opens it again. @throws Fault `not-found`; those of `asStaff`. */
export function* closeLocationAs(ctx: Context, by: ByStaff, id: number, isClosed: boolean): Script<void> {
  const key = { storeId: by.store.id, id };
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const { closedAt } = yield* requireLocation(key.storeId, id);
      const { name } = yield* changeLocation(ctx, key, { isClosed });
      return { name, isChanged: (closedAt !== null) !== isClosed };
    },
    entryOf: ({ name, isChanged }) =>
      isChanged
        ? { action: isClosed ? 'location-closed' : 'location-reopened', subjectId: id, details: { name } }
        : null,
  });
}
