/** The people of a store as their pages show them: how each signs in, where each is signed in, and what each did. */

import type { Context } from '../../../core/storage/context.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  listLastCharacters,
  searchStaffActions,
  type StaffAction,
  type StaffActionName,
} from '../../../core/staff/storage/action.ts';
import { countPasskeys, listPasskeys, type Passkey } from '../storage/passkey.ts';
import { listOpenSessions, type StaffSession } from '../../../core/staff/storage/session.ts';
import {
  findStaffMember,
  listStaff,
  listStaffAccess,
  type StaffAccess,
} from '../../../core/staff/storage/staff.ts';
import { listTillNames } from '../../till/storage/till-name.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findUnknownAttempts, type UnknownAttempts } from './failed-sign-in.ts';

export { listPasskeys } from '../storage/passkey.ts';
export { openSessionsMax } from '../../../core/staff/storage/session.ts';

export type ListedPerson = {
  readonly member: StaffMember;
  readonly access: StaffAccess | undefined;
  /** The number that the person has. */
  readonly passkeys: number;
};

export function* listPeople(store: Store): Script<readonly ListedPerson[]> {
  const [members, accesses, passkeys] = yield* parallel(
    listStaff(store),
    listStaffAccess(store.id),
    countPasskeys(store.id),
  );
  return members.map((member) => ({
    member,
    access: accesses.get(member.id),
    passkeys: passkeys.get(member.id) ?? 0,
  }));
}

/** @throws Fault `not-found`. */
export function* showMember(store: Store, id: number): Script<StaffMember> {
  const member = yield* findStaffMember(store, id);
  if (!member) throw new Fault('not-found');
  return member;
}

type MemberKey = Pick<StaffMember, 'storeId' | 'id'>;

/** The sessions of a person, and the names of the tills. */
export type SignedInPlaces = {
  readonly sessions: readonly StaffSession[];
  readonly tills: ReadonlyMap<number, string>;
};

/** The ways in which a person signs in, and the sessions of the person. */
export function* showAccess(
  ctx: Context,
  { storeId, id }: MemberKey,
): Script<SignedInPlaces & { readonly access: StaffAccess | undefined }> {
  const [accesses, sessions, tills] = yield* parallel(
    listStaffAccess(storeId),
    listOpenSessions(storeId, { staffId: id, now: ctx.wallClock.latest() }),
    listTillNames(storeId),
  );
  return { access: accesses.get(id), sessions, tills };
}

/** The passkeys of a person, and where the person is signed in. */
export function* showAccount(
  ctx: Context,
  { storeId, id }: MemberKey,
): Script<SignedInPlaces & { readonly passkeys: readonly Passkey[] }> {
  const [passkeys, sessions, tills] = yield* parallel(
    listPasskeys({ storeId, staffId: id }),
    listOpenSessions(storeId, { staffId: id, now: ctx.wallClock.latest() }),
    listTillNames(storeId),
  );
  return { passkeys, sessions, tills };
}

type WantedActions = {
  readonly before: number;
  readonly filter: NonNullable<Parameters<typeof searchStaffActions>[1]['filter']>;
  /** The actions whose subject is a card. */
  readonly ofCards: ReadonlySet<StaffActionName>;
};

export type ShownActions = {
  readonly actions: readonly StaffAction[];
  /** The id before which the list continues; null: it ends. */
  readonly continuesBefore: number | null;
  readonly people: readonly StaffMember[];
  readonly tills: ReadonlyMap<number, string>;
  /** The last characters of the codes of cards, by their ids. */
  readonly cards: ReadonlyMap<number, string>;
  /** The failed attempts to sign in without an account, by the ids of their entries. */
  readonly unknown: ReadonlyMap<number, UnknownAttempts>;
};

const actionsMax = 50;

/** Up to 50 actions of staff, with the names of those who act and of what the actions are about. */
export function* showStaffActions(
  ctx: Pick<Context, 'keys'>,
  store: Store,
  { before, filter, ofCards }: WantedActions,
): Script<ShownActions> {
  const [found, people, tills] = yield* parallel(
    searchStaffActions(store.id, { before, filter, limit: actionsMax + 1 }),
    listStaff(store),
    listTillNames(store.id),
  );
  const actions = found.actions.slice(0, actionsMax);
  const cardIds = actions.flatMap(({ action, subjectId }) =>
    ofCards.has(action) && subjectId !== null ? [subjectId] : [],
  );
  const failedIds = actions.flatMap(({ action, id }) => (action === 'sign-in-failed' ? [id] : []));
  const [cards, unknown] = yield* parallel(
    listLastCharacters(store.id, [...new Set(cardIds)]),
    findUnknownAttempts(ctx, store.id, failedIds),
  );
  // Without a filter, all actions are read that match.
  const scannedTo = Object.keys(filter).length > 0 ? found.scannedTo : null;
  const continuesBefore = found.actions.length > actionsMax ? (actions.at(-1)?.id ?? null) : scannedTo;
  return { actions, continuesBefore, people, tills, cards, unknown };
}
