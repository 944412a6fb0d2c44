/** Changes the logo in a store's emails, for an owner. */

import type { Context } from '../../storage/context.ts';
import type { Logo } from '../../domain/emails/logo.ts';
import type { StaffMember } from '../../domain/staff/staff.ts';
import type { Store } from '../../domain/stores/store.ts';
import { saveLogo } from '../../storage/emails/logo.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { assertMay } from '../staff-actions/limits.ts';
import { recordAction, type Acting } from '../staff/staff.ts';

/**
 * @param logo null: removes it.
 * @throws Fault `unauthenticated` or `insufficient-scope`.
 */
export function* changeLogo(
  ctx: Context,
  {
    store,
    member,
    by,
    logo,
  }: {
    readonly store: Store;
    readonly member: Pick<StaffMember, 'id'>;
    readonly by: Acting;
    readonly logo: Logo | null;
  },
): Script<void> {
  yield* assertMay(store, member, 'changeSettings');
  yield* saveLogo(ctx, store.id, logo);
  yield* recordAction(ctx, by, {
    storeId: store.id,
    action: 'settings-changed',
    subjectId: null,
    details: { fields: 'logo' },
  });
}
