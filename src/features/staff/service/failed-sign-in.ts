/**
 * Failed attempts to sign in with a password, in the audit log. For an address without an account, which can be
 * anyone's, a keyed digest is stored for a limited time: it shows whether several attempts used the same address. Anyone can
 * make them, so those with one address on one day are one entry, and those with all addresses above a number another one.
 */

import { dayOf } from '../../../core/domain/day.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  countAttempt,
  eraseUnknownAddress,
  hasManyAddresses,
  insertUnknownAddress,
  listUnknownAddresses,
  type AttemptsKey,
} from '../storage/unknown-address.ts';
import { RetryTransaction, type Script } from '../../../database/sql/sql.ts';
import { recordAction } from '../../../core/staff/service/staff.ts';

/** Unknown addresses with an own entry on a day. */
const addressesPerDay = 100;

/** An empty key is that of the addresses without an entry of their own, and for what is not an address. */
function digestedText(storeId: number, { key }: Pick<EmailAddress, 'key'>): string {
  return `${storeId} ${key}`;
}

const others = { key: '' } as const;

/**
 * @param address what was typed; null: it is not an address.
 * @param staffId the member with the address; null: it has no account.
 */
export function* recordFailedSignIn(
  ctx: Context,
  {
    store: { id: storeId, timeZone },
    address,
    staffId,
  }: {
    readonly store: Pick<Store, 'id' | 'timeZone'>;
    readonly address: EmailAddress | null;
    readonly staffId: number | null;
  },
): Script<void> {
  const entry = {
    storeId,
    action: 'sign-in-failed',
    subjectId: staffId,
    details: { method: 'password' },
  } as const;
  if (staffId !== null) {
    yield* recordAction(ctx, null, entry);
    return;
  }
  const at = ctx.clock.now();
  const day = dayOf(at, timeZone);
  const keyOf = (typed: Pick<EmailAddress, 'key'>): AttemptsKey => {
    return { storeId, day, digest: ctx.keys.digest('unknown-address', digestedText(storeId, typed)) };
  };
  let key = keyOf(address ?? others);
  if (yield* countAttempt(key, at)) return;
  if (address && (yield* hasManyAddresses(key, addressesPerDay))) {
    key = keyOf(others);
    if (yield* countAttempt(key, at)) return;
  }
  const actionId = yield* recordAction(ctx, null, entry);
  if (!(yield* insertUnknownAddress(key, { actionId, at })))
    throw new RetryTransaction('the address was used at the same time');
}

/** Failed attempts to sign in with an address that has no account. */
export type UnknownAttempts = {
  /** A short name of the address. Two names of one address are equal. Null: they used several addresses, or none. */
  readonly name: string | null;
  readonly attempts: number;
  /** The last attempt (ms); null: it is that of the entry. */
  readonly lastAt: number | null;
};

const shownLength = 6;

/** The attempts of entries of the audit log, by their ids. */
export function* findUnknownAttempts(
  { keys }: Pick<Context, 'keys'>,
  storeId: number,
  actionIds: readonly number[],
): Script<ReadonlyMap<number, UnknownAttempts>> {
  const addresses = yield* listUnknownAddresses(storeId, actionIds);
  const unnamed = keys.digests('unknown-address', digestedText(storeId, others));
  const attempts = addresses.entries().map(([id, { digest, ...counted }]) => {
    const isUnnamed = unnamed.some((each) => sameBytes(each, digest));
    const name = isUnnamed ? null : Buffer.from(digest).toString('hex').slice(0, shownLength);
    return [id, { name, ...counted }] as const;
  });
  return new Map(attempts);
}

/** Erases up to `limit` digests of an address under each key. @returns whether there can be more. */
export function* forgetAddress(
  { keys }: Context,
  storeId: number,
  { address, limit }: { readonly address: Pick<EmailAddress, 'key'>; readonly limit: number },
): Script<boolean> {
  let hasMore = false;
  for (const digest of keys.digests('unknown-address', digestedText(storeId, address)))
    if ((yield* eraseUnknownAddress(storeId, digest, limit)) === limit) hasMore = true;
  return hasMore;
}
