/**
 * Sessions of members of staff. The browser has a random token in a cookie, and the database its hash. A session ends 12
 * hours after its last use, one with a PIN after five minutes, and each 30 days after the sign-in; changes of staff, tokens
 * and secrets need a password or passkey from the last ten minutes.
 */

import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import type { LogoMark } from '../../stores/domain/logo.ts';
import type { Location } from '../../stores/domain/location.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { StaffMember } from '../domain/staff.ts';
import type { Store } from '../../stores/domain/store.ts';
import {
  endSession,
  endSessionsOf,
  extendSession,
  findOpenSession,
  insertSession,
  moveSession,
  recordAuthentication,
  type StaffSession,
} from '../storage/session.ts';
import { findAccount, resetPinFailures } from '../storage/staff.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findLogoMark } from '../../stores/storage/logo.ts';
import { findLocation } from '../../stores/storage/location.ts';
import { findTillLocation } from '../storage/till.ts';
import { assertStoreOpen, findStore, hasRealStores } from '../../stores/storage/store.ts';
import { workplaceOf } from '../../stores/service/location.ts';
import { tokenHash, tokenKind, type PresentedToken } from '../../stores/service/secret-token.ts';
import { recordAction, type Acting } from './staff.ts';

/** 256 random bits. */
export const sessionTokens = tokenKind('lgc', 43);

const sessionPeriodMs = 12 * 60 * 60 * 1_000;
/** A session is not extended more often, so that most requests do not write. */
const extensionPeriodMs = 5 * 60 * 1_000;
/** A device at the counter is left alone more often, so a session with a PIN ends soon. */
const pinSessionPeriodMs = 5 * 60 * 1_000;
const pinExtensionPeriodMs = 15 * 1_000;
/** The end, however often it is used. */
const sessionLifeMs = 30 * 24 * 60 * 60 * 1_000;
const reauthenticationPeriodMs = 10 * 60 * 1_000;

const userAgentLengthMax = 200;

/** The way in which the person signed in. */
export type SignInMethod = 'password' | 'passkey' | 'pin' | 'link' | 'demonstration';

export type OpenedSession = { readonly session: StaffSession; readonly token: Secret };

/** Opens a session of a member who has just presented a password, passkey, link or PIN. */
export function* createSession(
  ctx: Context,
  member: StaffMember,
  {
    method,
    tillId,
    userAgent,
  }: { readonly method: SignInMethod; readonly tillId: number | null; readonly userAgent: string },
): Script<OpenedSession> {
  const { storeId, id: staffId } = member;
  const token = sessionTokens.create(ctx, storeId);
  const [now, lastUsedAt] = [ctx.wallClock.now(), ctx.wallClock.latest()];
  const session: StaffSession = {
    storeId,
    id: ctx.random.id(),
    staffId,
    tillId,
    lastUsedAt,
    userAgent: userAgent.slice(0, userAgentLengthMax).toWellFormed(),
    createdAt: now,
    authenticatedAt: method === 'pin' ? null : now,
    expiresAt: lastUsedAt + periodOf({ tillId }),
    endedAt: null,
    locationId: null,
  };
  yield* insertSession(session, tokenHash({ secret: token }));
  yield* resetPinFailures(member);
  yield* recordAction(
    ctx,
    { staffId, tillId },
    { storeId, action: 'signed-in', subjectId: null, details: { method } },
  );
  return { session, token };
}

/** A member of staff who is signed in. */
export type SignedIn = {
  readonly session: StaffSession;
  readonly member: StaffMember;
  readonly store: Store;
  /**
   * The location of the person's movements: that of the till, or in the office that of a person who is limited to some.
   * Null: the till is at none, the person is not limited to locations, or all are closed.
   */
  readonly workplace: Location | null;
  /** The logo of the store; null: it has none. */
  readonly logo: LogoMark | null;
};

/**
 * Undefined if the session has ended or expired, or its member is disabled. Sessions of the demonstration end with the
 * first real store.
 * @throws Fault `store-closed`.
 */
export function* findSignedIn(ctx: Context, token: PresentedToken): Script<SignedIn | undefined> {
  const record = yield* findStore(token.storeId);
  if (!record) return undefined;
  const { store } = record;
  if (store.demonstration && (yield* hasRealStores())) return undefined;
  const session = yield* findOpenSession(store.id, { hash: tokenHash(token), now: ctx.wallClock.latest() });
  const account = session && (yield* findAccount(store, session.staffId));
  if (!account) return undefined;
  assertStoreOpen(record);
  const { member } = account;
  const [workplace, logo] = yield* parallel(workplaceOfSession(session, member), findLogoMark(store.id));
  return { session, member, store, workplace: workplace ?? null, logo };
}

function* workplaceOfSession(
  { storeId, tillId, locationId }: StaffSession,
  member: StaffMember,
): Script<Location | undefined> {
  if (tillId === null)
    return member.locationIds === null ? undefined : yield* workplaceOf(member, locationId);
  const own = yield* findTillLocation({ storeId, id: tillId });
  return own === null ? undefined : yield* findLocation(storeId, own);
}

/**
 * Chooses where a person who is limited to locations works in the office.
 * @throws Fault `not-found` if the person is not limited to this location.
 */
export function* chooseWorkplace(
  { session, member }: Pick<SignedIn, 'session' | 'member'>,
  locationId: number,
): Script<void> {
  if (member.locationIds?.includes(locationId) !== true) throw new Fault('not-found');
  yield* moveSession(session, locationId);
}

/** A session ends after this time without a request (ms). */
function periodOf({ tillId }: Pick<StaffSession, 'tillId'>): number {
  return tillId === null ? sessionPeriodMs : pinSessionPeriodMs;
}

/** Whether the session was used so long ago that `extend` should run. */
export function isExtensionDue(ctx: Context, session: StaffSession): boolean {
  const extensionMs = session.tillId === null ? extensionPeriodMs : pinExtensionPeriodMs;
  return ctx.wallClock.latest() - session.lastUsedAt > extensionMs;
}

/** Records that a session was used. @returns it with its new end. */
export function* extend(ctx: Context, session: StaffSession): Script<StaffSession> {
  const lastUsedAt = ctx.wallClock.latest();
  const expiresAt = Math.min(lastUsedAt + periodOf(session), session.createdAt + sessionLifeMs);
  const extended: StaffSession = { ...session, lastUsedAt, expiresAt };
  yield* extendSession(extended);
  return extended;
}

/** Whether a password or passkey was presented in the last ten minutes. */
export function isRecentlyAuthenticated(ctx: Context, { authenticatedAt }: StaffSession): boolean {
  return authenticatedAt !== null && ctx.wallClock.latest() - authenticatedAt < reauthenticationPeriodMs;
}

/** Records that the password or passkey was presented again. */
export function* reauthenticate(ctx: Context, session: StaffSession): Script<void> {
  yield* recordAuthentication(session, ctx.wallClock.now());
}

export function* signOut(ctx: Context, session: StaffSession): Script<void> {
  yield* endOwnSession(ctx, session, 'signed-out');
}

/** Ends a session because the person locked the till. The next one opens with a PIN. */
export function* endLocked(ctx: Context, session: StaffSession): Script<void> {
  yield* endOwnSession(ctx, session, 'till-locked');
}

function* endOwnSession(
  ctx: Context,
  { storeId, id, staffId, tillId }: StaffSession,
  action: 'signed-out' | 'till-locked',
): Script<void> {
  if (!(yield* endSession({ storeId, id, staffId }, ctx.wallClock.now()))) return;
  const details = {};
  yield* recordAction(ctx, { staffId, tillId }, { storeId, action, subjectId: null, details });
}

/** Ends a session of a member. Nothing happens if it is not open. */
export function* endOneSession(
  ctx: Context,
  { storeId, id: staffId }: Pick<StaffMember, 'storeId' | 'id'>,
  { session, by }: { readonly session: number; readonly by: Acting },
): Script<void> {
  if (!(yield* endSession({ storeId, id: session, staffId }, ctx.wallClock.now()))) return;
  yield* recordAction(ctx, by, { storeId, action: 'session-ended', subjectId: staffId, details: {} });
}

/** Ends all sessions of a member. @param except the id of one that continues; null: none. */
export function* endAllSessions(
  ctx: Context,
  { storeId, id: staffId }: Pick<StaffMember, 'storeId' | 'id'>,
  { except, by }: { readonly except: number | null; readonly by: Acting },
): Script<void> {
  yield* endSessionsOf(storeId, { staffId, except, now: ctx.wallClock.now() });
  const details = { all: true };
  yield* recordAction(ctx, by, { storeId, action: 'session-ended', subjectId: staffId, details });
}
