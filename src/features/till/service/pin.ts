/** PINs of members of staff. */

import type { Context } from '../../../core/storage/context.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';

/**
 * Returns the text that is hashed slowly instead of a PIN: a digest under a key outside of the database, because all PINs
 * can be tried in seconds against a hash alone.
 */
export function pinText(
  { keys }: Context,
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
  pin: string,
): string {
  return Buffer.from(keys.digest('staff-pin', `${storeId} ${id} ${pin}`)).toString('base64');
}

/** The texts under every key: a PIN can have been set under an older one. */
export function pinTexts(
  { keys }: Context,
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
  pin: string,
): readonly string[] {
  return keys
    .digests('staff-pin', `${storeId} ${id} ${pin}`)
    .map((digest) => Buffer.from(digest).toString('base64'));
}
