/** The task that enqueues reminders of cards that expire soon or have a balance. */

import {
  enqueueReminders,
  firstPlace,
  planReminders,
  type ReminderPlace,
} from '../service/emails/reminder.ts';
import { listRemindingStores } from '../storage/emails/email.ts';
import type { JobTools } from './job.ts';

/**
 * Returns a task that enqueues due reminders, one page of cards per transaction. Each store is processed once a day, and
 * again after a change of its schedule or a restart. Reminders that were enqueued before are skipped.
 */
export function createReminders({
  ctx,
  storage,
  limits,
  canSend,
}: Pick<JobTools, 'ctx' | 'storage' | 'limits'> & {
  /** Whether emails of a store are sent. */
  readonly canSend: (storeId: number) => boolean | Promise<boolean>;
}): () => Promise<void> {
  const done = new Map<number, string>();
  return async () => {
    for (const storeId of await storage.read(listRemindingStores)) {
      if (!(await canSend(storeId))) continue;
      const plan = await storage.read(() => planReminders(ctx, storeId));
      if (!plan || done.get(storeId) === plan.name) continue;
      for (const task of plan.tasks) {
        let place: ReminderPlace | undefined = firstPlace;
        while (place) {
          const from: ReminderPlace = place;
          place = await storage.write(() =>
            enqueueReminders(ctx, { store: plan.store, task, from, limit: limits.upkeepRowsMax }),
          );
        }
      }
      done.set(storeId, plan.name);
    }
  };
}
