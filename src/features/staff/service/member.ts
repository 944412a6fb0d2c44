/** People of a store that an owner invites and changes. The scripts of the noun list what they change. */

import { Fault } from '../../../core/domain/fault.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { endAllSessions, endOneSession } from '../../../core/staff/service/session.ts';
import { showMember } from './people.ts';
import {
  changeStaff,
  createLink,
  findInvitation,
  inviteStaff,
  recordAction,
  unlockPin,
  type Invited,
  type NewMember,
  type StaffChanges,
} from '../../../core/staff/service/staff.ts';
import { actingOf, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertMay } from '../../../core/staff/service/permission.ts';

/** The version of an invitation that a person saw before changing it. */
export function invitationVersionOf(member: StaffMember): string {
  const { id, name, role, saleLimit, refundLimit, locationIds } = member;
  const limits = [saleLimit, refundLimit].map((limit) => limit && formatMoney(limit));
  return JSON.stringify([id, name, role, ...limits, locationIds]);
}

/**
 * Invites a person.
 * @param options.replaces the version of the invitation that this one changes; empty: of none.
 * @throws Fault `invalid-parameter` on `pending` if the address has another invitation; as `inviteStaff` and `assertMay`
 * do.
 */
export function* invitePerson(
  ctx: Context,
  by: ByStaff,
  { replaces, ...invited }: NewMember & { readonly replaces: string },
): Script<Invited> {
  const { store, member } = by;
  yield* assertMay(store, member, 'manageStaff');
  const pending = yield* findInvitation(store, invited.email);
  if (pending) {
    const { email: _, ...fields } = invited;
    const version = invitationVersionOf(pending);
    const isChanged = invitationVersionOf({ ...pending, ...fields }) !== version;
    if (isChanged && replaces !== version)
      throw new Fault('invalid-parameter', { errors: { pending: ['is invited already'] } });
  }
  return yield* inviteStaff(ctx, { store, by: actingOf(by), ...invited });
}

/** Changes, disables or enables a person. @throws Fault as `changeStaff` and `assertMay` do. */
export function* changePerson(
  ctx: Context,
  by: ByStaff,
  id: number,
  changes: StaffChanges,
): Script<StaffMember> {
  yield* assertMay(by.store, by.member, 'manageStaff');
  return yield* changeStaff(ctx, { store: by.store, id, changes, by: actingOf(by) });
}

/** Creates a link with which a person sets a new password. @throws Fault `not-found`, and as `assertMay` does. */
export function* linkPerson(ctx: Context, by: ByStaff, id: number): Script<Invited> {
  const { store } = by;
  yield* assertMay(store, by.member, 'manageStaff');
  const member = yield* showMember(store, id);
  const details = { link: true };
  const entry = { storeId: store.id, action: 'staff-invited', subjectId: id, details } as const;
  yield* recordAction(ctx, actingOf(by), entry);
  return { member, token: yield* createLink(ctx, member, actingOf(by)) };
}

/** Unlocks the PIN of a person. @throws Fault `not-found`, and as `assertMay` does. */
export function* unlockPerson(ctx: Context, by: ByStaff, id: number): Script<void> {
  yield* assertMay(by.store, by.member, 'manageStaff');
  yield* unlockPin(ctx, yield* showMember(by.store, id), actingOf(by));
}

/**
 * Ends sessions of a person.
 * @param which the id of one, or all except one. @throws Fault `not-found`, and as `assertMay` does.
 */
export function* signOutPerson(
  ctx: Context,
  by: ByStaff,
  id: number,
  which: number | { readonly except: number | null },
): Script<void> {
  yield* assertMay(by.store, by.member, 'manageStaff');
  const member = yield* showMember(by.store, id);
  yield* typeof which === 'number'
    ? endOneSession(ctx, member, { session: which, by: actingOf(by) })
    : endAllSessions(ctx, member, { ...which, by: actingOf(by) });
}
