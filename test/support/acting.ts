/** Members of staff who act in tests of scripts, and what is listed of their actions. */

import type { Role, StaffMember } from '../../src/core/staff/domain/staff.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { inviteStaff } from '../../src/core/staff/service/staff.ts';
import { listStaffActions, type StaffAction } from '../../src/core/staff/storage/action.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { email } from './fixtures.ts';
import type { OpenStore } from './open-store.ts';

export type Person = ByStaff & { readonly member: StaffMember };

/** A new member of staff who has joined. */
export async function personOf({ storage, ctx, store }: OpenStore, role: Role): Promise<Person> {
  const address = email(`${role}-${ctx.random.id()}@example.com`);
  const fields = { name: role, email: address, role, saleLimit: null, refundLimit: null, locationIds: null };
  const { member } = await storage.write(() => inviteStaff(ctx, { store, by: null, ...fields }));
  await storage.write(() => execute(sql`update staff set joined_at = 1 where store_id = ${store.id} and id = ${member.id}`)); // prettier-ignore
  return { store, member: { ...member, joinedAt: 1 }, tillId: null };
}

type Listed = readonly [action: StaffAction['action'], subjectId: number | null, details: object];

/** Returns the actions of a person, oldest first. */
export async function actionsOf({ storage, store }: OpenStore, person: ByStaff): Promise<readonly Listed[]> {
  const actions = await storage.read(() =>
    listStaffActions(store.id, { before: Number.MAX_SAFE_INTEGER, limit: 1_000 }),
  );
  return actions
    .filter(({ staffId }) => staffId === person.member.id)
    .toReversed()
    .map(({ action, subjectId, details }) => [action, subjectId, details]);
}
