/**
 * Failed attempts to sign in with a password, in the audit log. For an address without an account, which can be
 * anyone's, a keyed digest is stored for a limited time: it shows whether several attempts used the same address.
 */

import type { Context } from '../../storage/context.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import {
  eraseUnknownAddress,
  insertUnknownAddress,
  listUnknownAddresses,
} from '../../storage/staff/unknown-address.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { recordAction } from './staff.ts';

function digestedText(storeId: number, { key }: Pick<EmailAddress, 'key'>): string {
  return `${storeId} ${key}`;
}

/**
 * @param address what was typed; null: it is not an address.
 * @param staffId the member with the address; null: it has no account.
 */
export function* recordFailedSignIn(
  ctx: Context,
  {
    storeId,
    address,
    staffId,
  }: { readonly storeId: number; readonly address: EmailAddress | null; readonly staffId: number | null },
): Script<void> {
  const entry = { storeId, action: 'sign-in-failed', subjectId: staffId } as const;
  const actionId = yield* recordAction(ctx, null, { ...entry, details: { method: 'password' } });
  if (staffId !== null || !address) return;
  const digest = ctx.keys.digest('unknown-address', digestedText(storeId, address));
  yield* insertUnknownAddress(storeId, { actionId, digest });
}

const shownLength = 6;

/** Short names of the addresses of failed attempts, by the ids of the entries. Two names of one address are equal. */
export function* nameUnknownAddresses(
  storeId: number,
  actionIds: readonly number[],
): Script<ReadonlyMap<number, string>> {
  const digests = yield* listUnknownAddresses(storeId, actionIds);
  const names = digests
    .entries()
    .map(([id, digest]) => [id, Buffer.from(digest).toString('hex').slice(0, shownLength)] as const);
  return new Map(names);
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
