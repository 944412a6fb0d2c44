/** Changes by people on the pages: allowed in the same transaction, and listed among what staff did. */

import { actorOf, type Permission, type StaffMember } from '../../domain/staff/staff.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { Context } from '../../storage/context.ts';
import type { Script } from '../../storage/sql/sql.ts';
import type { StaffAction } from '../../storage/staff/action.ts';
import { recordAction, type Acting } from '../staff/staff.ts';
import { assertMay } from './limits.ts';

/** A member of staff, and the till on which the person works. */
export type ByStaff = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'storeId' | 'id'>;
  /** Null: a browser that is not enrolled. */
  readonly tillId: number | null;
};

/** The person and the till, as scripts of a noun record who acts. */
function actingOf({ member, tillId }: Pick<ByStaff, 'member' | 'tillId'>): NonNullable<Acting> {
  return { staffId: member.id, tillId };
}

type StaffChange<Result> = {
  readonly permission: Permission;
  /** @param by the person as stored, and the actor of ledger entries. */
  readonly change: (by: { readonly member: StaffMember; readonly actor: string }) => Script<Result>;
  /** What is listed of the change; null: nothing has changed. */
  readonly entryOf: (result: Result) => Pick<StaffAction, 'action' | 'subjectId' | 'details'> | null;
};

/**
 * Makes a change that a person may make, and lists it.
 * @throws Fault as `assertMay` and the change do.
 */
export function* asStaff<Result>(
  ctx: Context,
  by: ByStaff,
  { permission, change, entryOf }: StaffChange<Result>,
): Script<Result> {
  const { store, member } = by;
  const stored = yield* assertMay(store, member, permission);
  const result = yield* change({ member: stored, actor: actorOf(member) });
  const entry = entryOf(result);
  if (entry) yield* recordAction(ctx, actingOf(by), { storeId: store.id, ...entry });
  return result;
}
