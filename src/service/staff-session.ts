/**
 * Sessions of members of staff. The browser has a random token in a cookie, and the database its hash. A session ends 12
 * hours after its last use, and one with a PIN after five minutes; changes of staff, tokens and secrets need a password or
 * passkey from the last ten minutes.
 */

import type { Context } from '../context.ts';
import type { Secret } from '../domain/secret.ts';
import type { StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import {
  endSession,
  endSessionsOf,
  extendSession,
  findOpenSession,
  insertSession,
  recordAuthentication,
  type StaffSession,
} from '../storage/staff-session.ts';
import { findAccount, resetPinFailures } from '../storage/staff.ts';
import type { Script } from '../storage/sql.ts';
import { assertStoreOpen, findStore, hasRealStores } from '../storage/store.ts';
import { tokenHash, tokenKind, type PresentedToken } from './secret-token.ts';
import { recordAction, type Acting } from './staff.ts';

/** 256 random bits. */
export const sessionTokens = tokenKind('lgc', 43);

const sessionPeriodMs = 12 * 60 * 60 * 1_000;
/** A session is not extended more often, so that most requests do not write. */
const extensionPeriodMs = 5 * 60 * 1_000;
/** A device at the counter is left alone more often, so a session with a PIN ends soon. */
const pinSessionPeriodMs = 5 * 60 * 1_000;
const pinExtensionPeriodMs = 15 * 1_000;
const reauthenticationPeriodMs = 10 * 60 * 1_000;

const userAgentLengthMax = 200;

/** How the person signed in. */
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
  const now = ctx.clock.now();
  const session: StaffSession = {
    storeId,
    id: ctx.random.id(),
    staffId,
    tillId,
    userAgent: userAgent.slice(0, userAgentLengthMax).toWellFormed(),
    createdAt: now,
    authenticatedAt: method === 'pin' ? null : now,
    expiresAt: ctx.clock.latest() + periodOf({ tillId }),
    endedAt: null,
  };
  yield* insertSession(session, tokenHash({ secret: token }));
  yield* resetPinFailures(member);
  yield* recordAction(
    ctx,
    { staffId, tillId },
    {
      storeId,
      action: 'signed-in',
      subjectId: null,
      details: { method },
    },
  );
  return { session, token };
}

/** A member of staff who is signed in. */
export type SignedIn = {
  readonly session: StaffSession;
  readonly member: StaffMember;
  readonly store: Store;
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
  const session = yield* findOpenSession(store.id, { hash: tokenHash(token), now: ctx.clock.latest() });
  const account = session && (yield* findAccount(store, session.staffId));
  if (account) assertStoreOpen(record);
  return account && { session, member: account.member, store };
}

/** How long a session lasts without a request (ms). */
function periodOf({ tillId }: Pick<StaffSession, 'tillId'>): number {
  return tillId === null ? sessionPeriodMs : pinSessionPeriodMs;
}

/** Whether the session was used so long ago that `extend` should run. */
export function isExtensionDue(ctx: Context, session: StaffSession): boolean {
  const extensionMs = session.tillId === null ? extensionPeriodMs : pinExtensionPeriodMs;
  return session.expiresAt - ctx.clock.latest() < periodOf(session) - extensionMs;
}

export function* extend(ctx: Context, session: StaffSession): Script<void> {
  yield* extendSession(session, ctx.clock.latest() + periodOf(session));
}

/** Whether a password or passkey was presented in the last ten minutes. */
export function isRecentlyAuthenticated(ctx: Context, { authenticatedAt }: StaffSession): boolean {
  return authenticatedAt !== null && ctx.clock.latest() - authenticatedAt < reauthenticationPeriodMs;
}

/** Records that the password or passkey was presented again. */
export function* reauthenticate(ctx: Context, session: StaffSession): Script<void> {
  yield* recordAuthentication(session, ctx.clock.now());
}

export function* signOut(ctx: Context, { storeId, id, staffId, tillId }: StaffSession): Script<void> {
  if (!(yield* endSession({ storeId, id, staffId }, ctx.clock.now()))) return;
  const details = {};
  yield* recordAction(ctx, { staffId, tillId }, { storeId, action: 'signed-out', subjectId: null, details });
}

/** Ends a session of a member. Nothing happens if it is not open. */
export function* endOneSession(
  ctx: Context,
  { storeId, id: staffId }: Pick<StaffMember, 'storeId' | 'id'>,
  { session, by }: { readonly session: number; readonly by: Acting },
): Script<void> {
  if (!(yield* endSession({ storeId, id: session, staffId }, ctx.clock.now()))) return;
  yield* recordAction(ctx, by, { storeId, action: 'session-ended', subjectId: staffId, details: {} });
}

/** Ends all sessions of a member. @param except the id of one that continues; null: none. */
export function* endAllSessions(
  ctx: Context,
  { storeId, id: staffId }: Pick<StaffMember, 'storeId' | 'id'>,
  { except, by }: { readonly except: number | null; readonly by: Acting },
): Script<void> {
  yield* endSessionsOf(storeId, { staffId, except, now: ctx.clock.now() });
  const details = { all: true };
  yield* recordAction(ctx, by, { storeId, action: 'session-ended', subjectId: staffId, details });
}

/** When a session was last used (ms), to within five minutes. */
export function lastUsedAt(expiresAt: number): number {
  return expiresAt - sessionPeriodMs;
}
