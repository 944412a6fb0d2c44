/** Tills: devices that are enrolled for sign-in with a PIN. The browser has a random token in a cookie. */

import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { locationOf } from '../../../core/stores/service/location.ts';
import { listStaff } from '../../../core/staff/storage/staff.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { assertStoreOpen, findStore } from '../../../core/stores/storage/store.ts';
import {
  findEnrolledTill,
  listTills,
  moveTill,
  type ListedTill,
  type Till,
  type TillKey,
} from '../../../core/staff/storage/till.ts';
import { tokenHash, tokenKind, type PresentedToken } from '../../../core/stores/service/secret-token.ts';

/** 256 random bits. */
export const tillTokens = tokenKind('lgt', 43);

/** Enrolled tills of a store. */
export const tillsMax = 50;

/** Enrolled devices, and as many that were revoked. */
const listedMax = 2 * tillsMax;

/** The content of the page of the devices. */
export type Devices = {
  readonly tills: readonly ListedTill[];
  /** The people who have enrolled them, and others. */
  readonly members: readonly StaffMember[];
};

export function* listDevices(store: Store): Script<Devices> {
  const [tills, members] = yield* parallel(listTills(store.id, listedMax), listStaff(store));
  return { tills, members };
}

/** The enrolled till of a token and its store; undefined if it was revoked. @throws Fault `store-closed`. */
export function* findPresentedTill(
  token: PresentedToken,
): Script<{ readonly till: Till; readonly store: Store } | undefined> {
  const till = yield* findEnrolledTill(token.storeId, tokenHash(token));
  const record = till && (yield* findStore(token.storeId));
  if (record) assertStoreOpen(record);
  return record && { till, store: record.store };
}

/** Lets a till belong to a location, or to none. @throws Fault as `moveTokenTo` does. */
export function* moveTillTo(key: TillKey, locationId: number | null): Script<Till> {
  yield* locationOf(key.storeId, { own: null, named: locationId });
  const moved = yield* moveTill(key, locationId);
  if (!moved) throw new Fault('not-found');
  return moved;
}
