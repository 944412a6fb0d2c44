/** The people who can have made a change, and the devices on which they did. */

import type { StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listStaff } from '../storage/staff.ts';
import { findTillNames } from '../storage/till.ts';
import { listTokens, type Token } from '../../stores/storage/token.ts';

/** Disabled members and revoked tokens are included. */
export type Actors = { readonly members: readonly StaffMember[]; readonly tokens: readonly Token[] };

export function* listActors(store: Store): Script<Actors> {
  const [members, tokens] = yield* parallel(listStaff(store), listTokens(store.id));
  return { members, tokens };
}

/** Names by internal id. */
type Names = ReadonlyMap<number, string>;

/** The names of all members of staff, and of some tills. */
export function* findStaffNames(
  store: Store,
  tillIds: readonly number[],
): Script<{ readonly members: Names; readonly tills: Names }> {
  const [members, tills] = yield* parallel(listStaff(store), findTillNames(store.id, tillIds));
  return { members: new Map(members.map(({ id, name }) => [id, name])), tills };
}

/** The addresses of the owners who have joined. */
export function* listOwnerAddresses(store: Store): Script<readonly string[]> {
  const staff = yield* listStaff(store);
  return staff
    .filter(({ role, joinedAt, disabledAt }) => role === 'owner' && joinedAt !== null && disabledAt === null)
    .map(({ email }) => email);
}
