/**
 * Sign-in with a PIN on an enrolled till. An attempt is counted before the PIN is compared, for the person and for the
 * device, so that concurrent attempts cannot exceed the maximum.
 */

import type { Context } from '../../../core/storage/context.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { isPermitted, worksAt, wrongPinsMax, type StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  findRefilledAt,
  insertFailedLookup,
  returnShare,
} from '../../../core/stores/storage/lookup-throttle.ts';
import type { StaffSession } from '../../../core/staff/storage/session.ts';
import {
  findAccount,
  listPinHolders,
  reservePinAttempt,
  returnPinAttempt,
} from '../../../core/staff/storage/staff.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { lockTill, type Till } from '../../../core/staff/storage/till.ts';
import { lookupPeriodMs } from '../../../core/cards/service/lookup-throttle.ts';
import { createSession, signOut, type OpenedSession } from '../../../core/staff/service/session.ts';
import { recordAction } from '../../../core/staff/service/staff.ts';
import { findPresentedTill } from './till.ts';
import type { PresentedToken } from '../../../core/stores/service/secret-token.ts';

/** Wrong PINs per hour on one device, of all people. */
const perTill = 30;
const shareMs = Math.floor(lookupPeriodMs / perTill);

/** People whose names the page lists. */
const holdersMax = 100;

export type PinPerson = Pick<StaffMember, 'id' | 'name'> & { readonly isLocked: boolean };

/** Whether a person may work at a till. */
function maySignInAt(member: StaffMember, { locationId }: Pick<Till, 'locationId'>): boolean {
  return isPermitted(member, 'useTill') && worksAt(member, locationId);
}

/** The people who can sign in with a PIN, by name. @param till absent: at any till. */
export function* listPinPeople(store: Store, till?: Till): Script<readonly PinPerson[]> {
  const holders = yield* listPinHolders(store, holdersMax);
  return holders
    .filter(({ member }) => (till ? maySignInAt(member, till) : isPermitted(member, 'useTill')))
    .map(({ member: { id, name }, failures }) => ({ id, name, isLocked: failures >= wrongPinsMax }));
}

export type PinAttempt =
  | {
      readonly kind: 'reserved';
      /** Argon2id in PHC format. */
      readonly pin: string;
      /** The number of attempts since the last right PIN. */
      readonly count: number;
    }
  /** The device has used its budget. */
  | { readonly kind: 'throttled'; readonly waitMs: number }
  /** Five wrong PINs in a row. */
  | { readonly kind: 'locked' }
  /** There is no such person, or the person has no PIN. */
  | { readonly kind: 'unknown' };

type PinKey = { readonly store: Store; readonly till: Till; readonly staffId: number };

function budgetOf({ store, till }: Pick<PinKey, 'store' | 'till'>) {
  return { storeId: store.id, caller: `till:${till.id}` };
}

/** Counts an attempt before the PIN is compared. Attempts at a locked PIN do not use the budget of the device. */
export function* reservePin(ctx: Context, key: PinKey): Script<PinAttempt> {
  const { store, till, staffId } = key;
  const account = yield* findAccount(store, staffId);
  if (!account?.pin || !maySignInAt(account.member, till)) return { kind: 'unknown' };
  if (account.pinFailures >= wrongPinsMax) return { kind: 'locked' };
  const now = ctx.wallClock.now();
  const [caller, periods] = [
    budgetOf(key),
    { periodMs: lookupPeriodMs, aheadMaxMs: 2 * lookupPeriodMs },
  ] as const;
  if ((yield* insertFailedLookup(caller, { now, shareMs, ...periods })) === undefined) {
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    return { kind: 'throttled', waitMs: Math.max(1, refilledAt - now - (lookupPeriodMs - shareMs)) };
  }
  const count = yield* reservePinAttempt(account.member, wrongPinsMax);
  if (count !== undefined) return { kind: 'reserved', pin: account.pin, count };
  // Another attempt has locked it since.
  yield* returnShare(caller, shareMs);
  return { kind: 'locked' };
}

/** Gives back an attempt whose PIN was not compared. */
export function* releasePin(key: PinKey): Script<void> {
  yield* returnShare(budgetOf(key), shareMs);
  yield* returnPinAttempt({ storeId: key.store.id, id: key.staffId });
}

/** Records a wrong PIN. @returns whether the PIN is locked now. */
export function* recordWrongPin(
  ctx: Context,
  { store, till, staffId, count }: PinKey & { readonly count: number },
): Script<boolean> {
  const entry = { storeId: store.id, subjectId: staffId } as const;
  // Without a session, the entry has the device, and the person as its subject.
  yield* recordAction(ctx, null, {
    ...entry,
    action: 'sign-in-failed',
    details: { method: 'pin', till: till.name },
  });
  if (count < wrongPinsMax) return false;
  const account = yield* findAccount(store, staffId);
  if (!account || account.pinFailures < wrongPinsMax) return false;
  yield* recordAction(ctx, null, { ...entry, action: 'pin-locked', details: { till: till.name } });
  return true;
}

/**
 * Opens a session on a till after a right PIN, and ends the one that the browser had.
 * @param token the token of the till.
 * @param hashed the hash that the PIN was compared with.
 * @throws Fault `unauthenticated` if the till was revoked or is elsewhere, or the person was disabled or has another PIN since.
 */
export function* signInWithPin(
  ctx: Context,
  {
    token,
    staffId,
    hashed,
    ended,
    userAgent,
  }: {
    readonly token: PresentedToken;
    readonly staffId: number;
    readonly hashed: string;
    readonly ended: StaffSession | null;
    readonly userAgent: string;
  },
): Script<OpenedSession> {
  const before = yield* findPresentedTill(token);
  if (before) yield* lockTill(before.till);
  const found = yield* findPresentedTill(token);
  const account = found && (yield* findAccount(found.store, staffId));
  if (!account || account.pin !== hashed || !maySignInAt(account.member, found.till))
    throw new Fault('unauthenticated');
  if (ended) yield* signOut(ctx, ended);
  yield* returnShare(budgetOf(found), shareMs);
  return yield* createSession(ctx, account.member, { method: 'pin', tillId: found.till.id, userAgent });
}
