/** Emails to all owners of a store about its machine. */

import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { deleteOldOccasions, insertOwnerNotice, type NoticeContent } from '../storage/owner-notice.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listOwnerAddresses } from '../../../core/staff/service/actors.ts';

export {
  claimOwnerNotices,
  endOwnerNotice,
  hasOwnerNotices,
  listStoresToNotify,
  retryOwnerNotice,
  type NoticeContent,
  type OwnerNotice,
} from '../storage/owner-notice.ts';

/** Owners of a shop are few. */
const ownersNotifiedMax = 20;
/** The occasions of a year are remembered, such as certificates. */
const occasionsMs = 400 * 24 * 60 * 60 * 1_000;

/** Enqueues an email to each owner. @param occasion with the same one, an owner gets one email. */
export function* enqueueOwnerNotices(
  ctx: Context,
  store: Store,
  { content, occasion = null }: { readonly content: NoticeContent; readonly occasion?: string | null },
): Script<void> {
  const createdAt = ctx.clock.now();
  yield* deleteOldOccasions(store.id, createdAt - occasionsMs);
  const owners = yield* listOwnerAddresses(store);
  for (const address of owners.slice(0, ownersNotifiedMax)) {
    yield* insertOwnerNotice(
      { storeId: store.id, id: ctx.random.id(), address, content, createdAt },
      occasion,
    );
  }
}
