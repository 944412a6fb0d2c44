/** The changes of a sign-in with a password or a passkey, after the credential was compared. */

import type { Context } from '../../../core/storage/context.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listPasskeys } from '../storage/passkey.ts';
import type { StaffSession } from '../../../core/staff/storage/session.ts';
import { findAccount } from '../../../core/staff/storage/staff.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findStore, listOpenStores } from '../../../core/stores/storage/store.ts';
import { usePasskey, type VerifiedPasskey } from './passkey.ts';
import {
  createSession,
  reauthenticate,
  signOut,
  type OpenedSession,
  type SignInMethod,
} from '../../../core/staff/service/session.ts';
import { releaseSignIn, type SignInKey } from './sign-in-throttle.ts';
import { recordAction, type Acting } from '../../../core/staff/service/staff.ts';

export { findAccount, findAccountByEmail } from '../../../core/staff/storage/staff.ts';

/** The stores of which people can sign in, without the demonstration. */
export function* listSignInStores(): Script<readonly Store[]> {
  const records = yield* listOpenStores();
  return records.map(({ store }) => store).filter(({ demonstration }) => !demonstration);
}

type NewSession = {
  readonly member: StaffMember;
  readonly method: SignInMethod;
  readonly userAgent: string;
  /** The session that the browser has, which ends; null: none. */
  readonly replaces: StaffSession | null;
};

/** Opens the session of a browser. @returns it with the domain of its store. */
export function* openBrowserSession(
  ctx: Context,
  { member, method, userAgent, replaces }: NewSession,
): Script<{ readonly opened: OpenedSession; readonly domain: string }> {
  if (replaces) yield* signOut(ctx, replaces);
  const record = yield* findStore(member.storeId);
  const opened = yield* createSession(ctx, member, { method, tillId: null, userAgent });
  return { opened, domain: record?.store.domain ?? '' };
}

/** The ways in which a person can confirm to be present. */
export function* findWaysToConfirm(
  store: Store,
  { id }: Pick<StaffMember, 'id'>,
): Script<{ readonly hasPassword: boolean; readonly hasPasskeys: boolean }> {
  const [account, passkeys] = yield* parallel(
    findAccount(store, id),
    listPasskeys({ storeId: store.id, staffId: id }),
  );
  return { hasPassword: typeof account?.password === 'string', hasPasskeys: passkeys.length > 0 };
}

/** Records that a person has confirmed with the password. */
export function* confirmSession(ctx: Context, key: SignInKey, session: StaffSession): Script<void> {
  yield* releaseSignIn(ctx, key);
  yield* reauthenticate(ctx, session);
}

/** Records that a person has confirmed with a wrong password. */
export function* recordWrongPassword(ctx: Context, session: StaffSession): Script<void> {
  const { storeId, staffId, tillId } = session;
  const details = { method: 'password', confirm: true };
  const entry = { storeId, action: 'sign-in-failed', subjectId: staffId, details } as const;
  yield* recordAction(ctx, { staffId, tillId }, entry);
}

type PasskeyAttempt = {
  readonly key: SignInKey;
  readonly member: StaffMember;
  /** Undefined: the response is not signed by the passkey. */
  readonly verified: VerifiedPasskey | undefined;
  readonly by: Acting;
  /** Whether a person who is signed in confirms to be present. */
  readonly isConfirmation: boolean;
};

/** Uses a passkey, or records that the attempt has failed. @returns whether it was accepted. */
export function* attemptPasskey(
  ctx: Context,
  { key, member, verified, by, isConfirmation }: PasskeyAttempt,
): Script<boolean> {
  const use = verified ? yield* usePasskey(ctx, verified) : 'replayed';
  if (use === 'accepted') {
    yield* releaseSignIn(ctx, key);
    return true;
  }
  const details = {
    method: 'passkey',
    ...(use === 'copied' && { copied: true }),
    ...(isConfirmation && { confirm: true }),
  };
  const { storeId, id } = member;
  yield* recordAction(ctx, by, { storeId, action: 'sign-in-failed', subjectId: id, details });
  return false;
}
