/** The task that enqueues reminders of cards that expire soon or have a balance. */

import { enqueueReminders, firstPlace, planReminders, type ReminderPlace } from '../service/reminder.ts';
import { forDueStores, presentOf } from '../../../core/stores/service/work.ts';
import type { JobTools } from '../../../jobs/job.ts';

/** A store whose emails cannot be sent is read again after this time. */
const cannotSendMs = 10 * 60_000;

/**
 * Enqueues due reminders, one page of cards per transaction. Each store is processed once a day, and again after a change of
 * its schedule. Reminders that were enqueued before are skipped.
 */
export async function remind({
  ctx,
  storage,
  limits,
  canSend,
}: Pick<JobTools, 'ctx' | 'storage' | 'limits'> & {
  /** Whether emails of a store are sent. */
  readonly canSend: (storeId: number) => boolean | Promise<boolean>;
}): Promise<void> {
  await forDueStores(storage, { kind: 'reminders', time: presentOf(ctx) }, async (store) => {
    const plan = await storage.read(() => planReminders(ctx, store));
    if (!plan) return null;
    if (!(await canSend(store.id))) return ctx.clock.now() + cannotSendMs;
    for (const task of plan.tasks) {
      let place: ReminderPlace | undefined = firstPlace;
      while (place) {
        const from: ReminderPlace = place;
        place = await storage.write(() =>
          enqueueReminders(ctx, { store, task, from, limit: limits.upkeepRowsMax }),
        );
      }
    }
    return plan.until;
  });
}
