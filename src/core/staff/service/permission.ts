/** The permission of a member of staff, read again in the transaction of the change, so that a change of the role counts at once. */

import { Fault } from '../../domain/fault.ts';
import { isPermitted, type Permission, type StaffMember } from '../domain/staff.ts';
import { findAccount, type StaffPlace } from '../storage/staff.ts';
import type { Script } from '../../../database/sql/sql.ts';

/**
 * @returns the member as stored.
 * @throws Fault `unauthenticated` if the member is disabled, `insufficient-scope` without the permission.
 */
export function* assertMay(
  store: StaffPlace,
  { id }: Pick<StaffMember, 'id'>,
  permission: Permission,
): Script<StaffMember> {
  const account = yield* findAccount(store, id);
  if (!account) throw new Fault('unauthenticated');
  if (!isPermitted(account.member, permission)) throw new Fault('insufficient-scope');
  return account.member;
}
