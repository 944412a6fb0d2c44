/**
 * A database that was restored from a backup: sales since the backup are missing, and what was redeemed since is back. Until
 * an owner confirms that the old machine is off, all pages say it, and what was on its way waits.
 */

import { dayOf } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  countCopiedEmails,
  dropCopiedEmails,
  holdCopiedEmails,
  sendCopiedEmails,
} from '../../emails/storage/copied.ts';
import {
  countCopiedDeliveries,
  dropCopiedDeliveries,
  holdCopiedDeliveries,
  sendCopiedDeliveries,
} from '../../webhooks/storage/copied.ts';
import {
  countWaitingAccountantEmails,
  dropWaitingAccountantEmails,
} from '../../accountants/storage/accountant.ts';
import { dropOwnerNotices } from '../../owner-notices/storage/owner-notice.ts';
import { markCopiedProviders } from '../../online-sales/storage/provider.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { removeSetupStep, saveSetupStep } from '../../../core/stores/storage/setup-step.ts';
import { listOpenStores } from '../../../core/stores/storage/store.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { recordAction } from '../../../core/staff/service/staff.ts';

export { listRestoredCopies } from '../../../core/stores/storage/setup-step.ts';

const step = 'restored_copy';

/** Marks a verified copy of a database that becomes the database. @param madeAt when the backup was made, in ms. */
export function* markRestored(ctx: Context, madeAt: number): Script<void> {
  const now = ctx.clock.now();
  for (const { store } of yield* listOpenStores()) {
    if (store.demonstration) continue;
    const { id: storeId } = store;
    yield* saveSetupStep({ storeId, step, doneAt: madeAt, staffId: null });
    yield* holdCopiedEmails(storeId, now);
    yield* dropOwnerNotices(storeId);
    yield* holdCopiedDeliveries(storeId);
    yield* markCopiedProviders(storeId, madeAt);
    const details = { day: dayOf(madeAt, store.timeZone) };
    yield* recordAction(ctx, null, { storeId, action: 'database-restored', subjectId: null, details });
  }
}

/** The number of emails and deliveries that wait for an owner. */
export type HeldCounts = { readonly emails: number; readonly deliveries: number };

export function* countHeld({ id }: Pick<Store, 'id'>): Script<HeldCounts> {
  const [emails, months, deliveries] = yield* parallel(
    countCopiedEmails(id),
    countWaitingAccountantEmails(id),
    countCopiedDeliveries(id),
  );
  return { emails: emails + months, deliveries };
}

const dropped = 'not sent after a restore, as an owner decided';

/**
 * Records that an owner knows the state of the shop and has switched the old machine off, and sends or drops what waits.
 * @returns the numbers of what waited; null: another owner has confirmed it.
 * @throws Fault as `assertMay` does.
 */
export function* confirmRestored(
  ctx: Context,
  by: ByStaff,
  { isSent }: { readonly isSent: boolean },
): Script<HeldCounts | null> {
  const storeId = by.store.id;
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      if (!(yield* removeSetupStep({ storeId, step }))) return null;
      const held = yield* countHeld(by.store);
      if (isSent) {
        yield* sendCopiedEmails(storeId);
        yield* sendCopiedDeliveries(storeId);
      } else {
        const drop = { now: ctx.clock.now(), response: dropped };
        yield* dropCopiedEmails(storeId, drop);
        yield* dropWaitingAccountantEmails(storeId, drop);
        yield* dropCopiedDeliveries(storeId, dropped);
      }
      return held;
    },
    entryOf: (held) =>
      held && {
        action: 'restore-confirmed',
        subjectId: null,
        details: { emails: held.emails, events: held.deliveries, dropped: !isSent },
      },
  });
}
