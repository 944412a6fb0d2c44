/** The people who work in a store: invitations, roles, passwords, PINs, and the audit log of what they do. */

import type { Context } from '../../storage/context.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { Fault } from '../../domain/fault.ts';
import type { Money } from '../../money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import { ownLocationsMax, type Role, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import { hasCards } from '../../cards/storage/card.ts';
import { insertStaffAction, type StaffAction } from '../storage/action.ts';
import { findStaffLink, insertStaffLink, markStaffLinkUsed, type StaffLink } from '../storage/link.ts';
import { endSessionsOf } from '../storage/session.ts';
import {
  countOwners,
  findAccountByEmail,
  findStaffMember,
  insertStaffMember,
  lockOwners,
  resetPinFailures,
  updatePassword,
  updatePin,
  updateStaffMember,
} from '../storage/staff.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findLocations } from '../../stores/storage/location.ts';
import { assertStoreOpen, findStore } from '../../stores/storage/store.ts';
import { tokenHash, tokenKind, type PresentedToken } from '../../stores/service/secret-token.ts';

export { hasOwner } from '../storage/staff.ts';

/** The tokens in links to join or to set a new password. */
export const linkTokens = tokenKind('lgi', 43);

const linkPeriodMs = 7 * 24 * 60 * 60 * 1_000;

/** The author of an action: a member of staff, perhaps on a till. Null: the command line. */
export type Acting = { readonly staffId: number; readonly tillId: number | null } | null;

/** Adds an entry to the audit log. @returns its id. */
export function* recordAction(
  ctx: Context,
  by: Acting,
  entry: Pick<StaffAction, 'storeId' | 'action' | 'subjectId' | 'details'>,
): Script<number> {
  const id = ctx.random.id();
  yield* insertStaffAction({
    ...entry,
    id,
    at: ctx.clock.now(),
    staffId: by?.staffId ?? null,
    tillId: by?.tillId ?? null,
  });
  return id;
}

export type NewMember = {
  readonly name: string;
  readonly email: EmailAddress;
  readonly role: Role;
  readonly saleLimit: Money | null;
  readonly refundLimit: Money | null;
  /** The locations to which the person is limited; null: none. */
  readonly locationIds: readonly number[] | null;
};

/** A member, and the token of a link with which the person sets a password or a passkey. */
export type Invited = { readonly member: StaffMember; readonly token: Secret };

/** The invitation of an address whose person has not joined yet. */
export function* findInvitation(store: Store, email: EmailAddress): Script<StaffMember | undefined> {
  const member = (yield* findAccountByEmail(store, email))?.member;
  return member?.joinedAt === null ? member : undefined;
}

/**
 * Adds a member of staff and creates a link to join. A person who has not joined yet gets a new link and the new role.
 * @throws Fault `invalid-parameter` if a member who has joined has the address, and as `locationNames` does.
 */
export function* inviteStaff(
  ctx: Context,
  { store, by, ...fields }: NewMember & { readonly store: Store; readonly by: Acting },
): Script<Invited> {
  const { email, ...rest } = fields;
  const existing = (yield* findAccountByEmail(store, email))?.member;
  if (existing?.joinedAt !== undefined && existing.joinedAt !== null) throw taken();
  const member: StaffMember = {
    storeId: store.id,
    id: existing?.id ?? ctx.random.id(),
    email: existing?.email ?? email.address,
    ...rest,
    createdAt: existing?.createdAt ?? ctx.clock.now(),
    joinedAt: null,
    disabledAt: null,
  };
  const places = yield* locationNames(member);
  if (existing) yield* updateStaffMember(member);
  // A disabled member keeps the address, and another request can have inserted it.
  else if (!(yield* insertStaffMember(member, email))) throw taken();
  const details = { email: member.email, role: member.role, ...(places && { locations: places }) };
  yield* recordAction(ctx, by, { storeId: store.id, action: 'staff-invited', subjectId: member.id, details });
  return { member, token: yield* createLink(ctx, member, by) };
}

function taken(): Fault {
  return new Fault('invalid-parameter', { errors: { email: ['is taken by a member of staff'] } });
}

/** Creates a link with which a member sets a new password, as the way back in. Earlier links end. */
export function* createLink(ctx: Context, member: StaffMember, by: Acting): Script<Secret> {
  const token = linkTokens.create(ctx, member.storeId);
  const now = ctx.wallClock.now();
  const link: StaffLink = {
    storeId: member.storeId,
    id: ctx.random.id(),
    staffId: member.id,
    createdBy: by?.staffId ?? null,
    createdAt: now,
    expiresAt: ctx.wallClock.latest() + linkPeriodMs,
    usedAt: null,
  };
  yield* insertStaffLink(link, tokenHash({ secret: token }));
  return token;
}

/** A link that can be used, with its member and store. */
export type OpenLink = { readonly link: StaffLink; readonly member: StaffMember; readonly store: Store };

/** Undefined if the link was used, has expired or does not exist, or its member is disabled. @throws Fault `store-closed`. */
export function* openLink(ctx: Context, token: PresentedToken): Script<OpenLink | undefined> {
  const record = yield* findStore(token.storeId);
  if (!record) return undefined;
  assertStoreOpen(record);
  const { store } = record;
  const link = yield* findStaffLink(store.id, { hash: tokenHash(token), now: ctx.wallClock.latest() });
  const member = link && (yield* findStaffMember(store, link.staffId));
  return member && member.disabledAt === null ? { link, member, store } : undefined;
}

/** Whether a link is that of the first owner of a store without cards. */
export function* isFirstLink({ link, member, store }: OpenLink): Script<boolean> {
  return link.createdBy === null && member.role === 'owner' && !(yield* hasCards(store.id));
}

/**
 * Uses a link: sets the password of its member or adds a passkey, and ends the member's sessions.
 * @param password Argon2id in PHC format; or a script that adds a passkey.
 * @throws Fault `not-found` if the link was used, replaced or has expired; the errors of the script.
 */
export function* useLink(
  ctx: Context,
  {
    token,
    ...credential
  }: { readonly token: PresentedToken } & (
    { readonly password: string } | { readonly addPasskey: (member: StaffMember, by: Acting) => Script<void> }
  ),
): Script<OpenLink> {
  const open = yield* openLink(ctx, token);
  const now = ctx.wallClock.now();
  if (!open || !(yield* markStaffLinkUsed(open.link, now))) throw new Fault('not-found');
  const { member, store } = open;
  const by: Acting = { staffId: member.id, tillId: null };
  if ('password' in credential) {
    yield* setPassword(ctx, member, { password: credential.password, exceptSession: null, by });
  } else {
    const { storeId, id } = member;
    yield* credential.addPasskey(member, by);
    yield* endSessionsOf(storeId, { staffId: id, except: null, now });
    if (member.joinedAt === null)
      yield* recordAction(ctx, by, { storeId, action: 'staff-joined', subjectId: id, details: {} });
  }
  return { ...open, store, member: { ...member, joinedAt: member.joinedAt ?? now } };
}

/** Sets a password and ends the member's other sessions. */
export function* setPassword(
  ctx: Context,
  member: StaffMember,
  {
    password,
    exceptSession,
    by,
  }: { readonly password: string; readonly exceptSession: number | null; readonly by: Acting },
): Script<void> {
  const { storeId, id } = member;
  const now = ctx.wallClock.now();
  yield* updatePassword(member, { password, now });
  yield* endSessionsOf(storeId, { staffId: id, except: exceptSession, now });
  const action = member.joinedAt === null ? 'staff-joined' : 'password-changed';
  yield* recordAction(ctx, by, { storeId, action, subjectId: id, details: {} });
}

/** Sets or removes a PIN. @param pin Argon2id in PHC format. */
export function* setPin(ctx: Context, member: StaffMember, pin: string | null, by: Acting): Script<void> {
  const { storeId, id } = member;
  yield* updatePin(member, pin);
  const details = { removed: pin === null };
  yield* recordAction(ctx, by, { storeId, action: 'pin-changed', subjectId: id, details });
}

/** Unlocks a PIN after too many wrong ones. */
export function* unlockPin(ctx: Context, { storeId, id }: StaffMember, by: Acting): Script<void> {
  yield* resetPinFailures({ storeId, id });
  yield* recordAction(ctx, by, { storeId, action: 'pin-unlocked', subjectId: id, details: {} });
}

export type StaffChanges = Partial<
  Pick<StaffMember, 'name' | 'role' | 'saleLimit' | 'refundLimit' | 'locationIds'>
> & {
  readonly disabled?: boolean;
};

/**
 * The names of the locations to which a person is limited; null: to none.
 * @throws Fault `invalid-parameter` on `locations` for an owner, and for locations that the store does not have.
 */
function* locationNames({ storeId, role, locationIds }: StaffMember): Script<string | null> {
  if (locationIds === null) return null;
  if (role === 'owner') throw wrongLocations('cannot be those of an owner, who works at all locations');
  const count = new Set(locationIds).size;
  if (count === 0 || count > ownLocationsMax || count < locationIds.length)
    throw wrongLocations(`must be 1 to ${ownLocationsMax} different locations`);
  const found = yield* findLocations(storeId, locationIds);
  if (found.length < count) throw wrongLocations('must be locations of the store');
  return found.map(({ name }) => name).join(', ');
}

function wrongLocations(message: string): Fault {
  return new Fault('invalid-parameter', { errors: { locations: [message] } });
}

function isSameList(left: readonly number[] | null, right: readonly number[] | null): boolean {
  return left?.toSorted().join(' ') === right?.toSorted().join(' ');
}

/**
 * Changes a member of staff. A member who is disabled, or works at other locations, is signed out everywhere.
 * @throws Fault `not-found`, or `invalid-parameter` if the store would have no owner who can sign in, and as `locationNames` does.
 */
export function* changeStaff(
  ctx: Context,
  {
    store,
    id,
    changes: { disabled, ...changes },
    by,
  }: { readonly store: Store; readonly id: number; readonly changes: StaffChanges; readonly by: Acting },
): Script<StaffMember> {
  yield* lockOwners(store.id);
  const owners = yield* countOwners(store.id);
  const member = yield* findStaffMember(store, id);
  if (!member) throw new Fault('not-found');
  const now = ctx.clock.now();
  const disabledAt = disabledAtAfter(member, disabled, now);
  const changed: StaffMember = { ...member, ...changes, disabledAt };
  if (owners === 1 && isActiveOwner(member) && !isActiveOwner(changed))
    throw new Fault('invalid-parameter', {
      errors: { [disabled ? 'disabled' : 'role']: ['cannot be changed: the store needs an owner'] },
    });
  const places = yield* locationNames(changed);
  const isMoved = !isSameList(member.locationIds, changed.locationIds);
  yield* updateStaffMember(changed);
  if (isMoved || (changed.disabledAt !== null && member.disabledAt === null))
    yield* endSessionsOf(store.id, { staffId: id, except: null, now });
  const details = {
    ...(changed.role !== member.role && { role: changed.role }),
    ...(isMoved && (places === null ? { everywhere: true } : { locations: places })),
  };
  yield* recordAction(ctx, by, {
    storeId: store.id,
    action: actionOf(member, changed),
    subjectId: id,
    details,
  });
  return changed;
}

function disabledAtAfter(
  { disabledAt }: StaffMember,
  disabled: boolean | undefined,
  now: number,
): number | null {
  if (disabled === undefined) return disabledAt;
  return disabled ? (disabledAt ?? now) : null;
}

function isActiveOwner({ role, joinedAt, disabledAt }: StaffMember): boolean {
  return role === 'owner' && joinedAt !== null && disabledAt === null;
}

function actionOf(before: StaffMember, after: StaffMember): StaffAction['action'] {
  if (before.disabledAt === after.disabledAt) return 'staff-changed';
  return after.disabledAt === null ? 'staff-enabled' : 'staff-disabled';
}
