/** Changes by people on the pages: allowed in the same transaction, and listed among what staff did. */

import type { Transfer } from '../../money/domain/ledger.ts';
import { formatMoney } from '../../money/domain/money.ts';
import { actorOf, type Permission, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { Context } from '../../storage/context.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { StaffAction } from '../storage/action.ts';
import { findTillLocation } from '../storage/till.ts';
import { recordAction, type Acting } from './staff.ts';
import { limitedLocationOf, locationOf } from '../../stores/service/location.ts';
import { assertMay } from './permission.ts';

/** A member of staff, and the till on which the person works. */
export type ByStaff = {
  readonly store: Store;
  readonly member: Pick<StaffMember, 'storeId' | 'id'>;
  /** Null: the person has not signed in with a PIN at a till. */
  readonly tillId: number | null;
  /** The location at which a person who is limited to some has chosen to work in the office. */
  readonly locationId?: number | null;
};

type Entry = Pick<StaffAction, 'action' | 'subjectId' | 'details'>;

/** The person and the till, as scripts of a noun record who acts. */
export function actingOf({ member, tillId }: Pick<ByStaff, 'member' | 'tillId'>): NonNullable<Acting> {
  return { staffId: member.id, tillId };
}

/** The person as stored, and the actor of ledger entries. */
type Actor = { readonly member: StaffMember; readonly actor: string };

type StaffChange<Result, By = Actor> = {
  readonly permission: Permission;
  readonly change: (by: By) => Script<Result>;
  /** Returns the entry of the change in the audit log; null: nothing has changed. */
  readonly entryOf: (result: Result) => Entry | null;
};

/** Makes a change that a person may make, and lists it. @throws Fault as `assertMay` and the change do. */
export function* asStaff<Result>(
  ctx: Context,
  by: ByStaff,
  { permission, change, entryOf }: StaffChange<Result>,
): Script<Result> {
  const member = yield* assertMay(by.store, by.member, permission);
  return yield* listed(ctx, by, yield* change({ member, actor: actorOf(member) }), entryOf);
}

/**
 * Moves money, as `asStaff`. The entries are at the location of the till; those of a person who is limited to locations are
 * at one of these, also in the office.
 * @throws Fault `invalid-parameter` on `location_id` if the location is closed, or the till is at none of the person's.
 */
export function* moveAsStaff<Result>(
  ctx: Context,
  by: ByStaff,
  { permission, change, entryOf }: StaffChange<Result, Actor & { readonly locationId: number | null }>,
): Script<Result> {
  const storeId = by.store.id;
  const [member, own] = yield* parallel(
    assertMay(by.store, by.member, permission),
    by.tillId === null ? resolved(null) : findTillLocation({ storeId, id: by.tillId }),
  );
  const locationId =
    member.locationIds === null
      ? yield* locationOf(storeId, { own, named: null })
      : yield* limitedLocationOf(member, {
          tillLocation: by.tillId === null ? undefined : own,
          chosen: by.locationId ?? null,
        });
  return yield* listed(ctx, by, yield* change({ member, actor: actorOf(member), locationId }), entryOf);
}

function* listed<Result>(
  ctx: Context,
  by: ByStaff,
  result: Result,
  entryOf: StaffChange<Result>['entryOf'],
): Script<Result> {
  const entry = entryOf(result);
  if (entry) yield* recordBy(ctx, by, entry);
  return result;
}

/** Lists what a person may do and does, such as reading codes. @throws Fault as `assertMay` does. */
export function* listAsStaff(ctx: Context, by: ByStaff, permission: Permission, entry: Entry): Script<void> {
  yield* assertMay(by.store, by.member, permission);
  yield* recordBy(ctx, by, entry);
}

function* recordBy(ctx: Context, by: ByStaff, entry: Entry): Script<void> {
  yield* recordAction(ctx, actingOf(by), { storeId: by.store.id, ...entry });
}

/** The details of a movement. They contain the public id of the entry, by which pages find it. */
export function movementOf(
  { keys }: Context,
  { id, amount }: Pick<Transfer, 'id' | 'amount'>,
): { readonly amount: string; readonly entry: number } {
  return { amount: formatMoney(amount), entry: keys.publicIds.of(id) };
}

/** Returns the id of the entry that the details of an action name as `movementOf` does; undefined: they name none. */
export function entryIdOf(
  { keys }: Pick<Context, 'keys'>,
  { details }: { readonly details: Readonly<Record<string, unknown>> },
): number | undefined {
  const { entry } = details;
  return typeof entry === 'number' ? keys.publicIds.read(entry) : undefined;
}
