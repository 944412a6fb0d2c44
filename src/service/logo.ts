/** Changes the logo in a store's emails, for an owner. */

import type { Context } from '../context.ts';
import type { Logo } from '../domain/logo.ts';
import type { StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { saveLogo } from '../storage/logo.ts';
import type { Script } from '../storage/sql.ts';
import { assertMay } from './counter.ts';
import { recordAction, type Acting } from './staff.ts';

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
