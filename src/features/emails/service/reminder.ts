/**
 * Reminders of an expiry or of a balance. A *task* is one number of days in a store's schedule, on one day. Tasks cover
 * disjoint ranges of days, so a card gets only the nearest reminder, even after a new schedule or a downtime.
 */

import type { Context } from '../../../core/storage/context.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { spendStateOf } from '../../../core/cards/domain/state.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import { holderOf } from '../../../core/emails/domain/email.ts';
import { sendingInstantOf } from '../../../core/emails/domain/send-on.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listCardsExpiring, listCardsIssued, type CardPlace } from '../storage/reminder.ts';
import { enqueueEmail, findEmailSettings } from '../../../core/emails/storage/email.ts';
import type { Script } from '../../../database/sql/sql.ts';

export type ReminderTask = {
  readonly kind: 'expiry_reminder' | 'balance_reminder';
  /** The number of days before the expiry, or after the issue. */
  readonly days: number;
  /** The range of the cards' last valid days, or of their days of issue. */
  readonly from: string;
  readonly to: string;
};

export type ReminderPlan = {
  /** The first instant (ms) of the next day, with other reminders. */
  readonly until: number;
  readonly tasks: readonly ReminderTask[];
};

export type ReminderPlace = CardPlace;
export const firstPlace: ReminderPlace = { day: '', id: 0 };

/** A reminder of a balance that is later than this is skipped, because the schedule is newer than its day. */
const lateDaysMax = 7;

/** The reminders of a store for today; undefined if it sends none. */
export function* planReminders(ctx: Context, store: Store): Script<ReminderPlan | undefined> {
  const { enabled, expiryReminderDays, balanceReminderDays } = yield* findEmailSettings(store.id);
  if (!enabled || expiryReminderDays.length + balanceReminderDays.length === 0) return undefined;
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  return {
    until: startOfDay(addDays(today, 1), store.timeZone),
    tasks: [...expiryTasks(expiryReminderDays, today), ...balanceTasks(balanceReminderDays, today)],
  };
}

/** @param schedule the largest number first. */
function expiryTasks(schedule: readonly number[], today: string): readonly ReminderTask[] {
  return schedule.map((days, place) => {
    const nextSmaller = schedule[place + 1] ?? -1;
    return { kind: 'expiry_reminder', days, from: addDays(today, nextSmaller + 1), to: addDays(today, days) };
  });
}

function balanceTasks(schedule: readonly number[], today: string): readonly ReminderTask[] {
  return schedule.map((days, place) => {
    const nextLarger = schedule[place - 1] ?? Number.POSITIVE_INFINITY;
    const late = Math.min(lateDaysMax, nextLarger - days - 1);
    return { kind: 'balance_reminder', days, from: addDays(today, -days - late), to: addDays(today, -days) };
  });
}

/** Enqueues a task's reminders for up to `limit` cards. @returns where the next page starts; undefined after the last. */
export function* enqueueReminders(
  ctx: Context,
  {
    store,
    task,
    from,
    limit,
  }: {
    readonly store: Store;
    readonly task: ReminderTask;
    readonly from: ReminderPlace;
    readonly limit: number;
  },
): Script<ReminderPlace | undefined> {
  const list = task.kind === 'expiry_reminder' ? listCardsExpiring : listCardsIssued;
  const page = yield* list(store, { ...task, after: from, limit });
  // An email is sent immediately if this time has passed.
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const sendAt = sendingInstantOf(today, store.timeZone);
  for (const { card, isUnopenedSale } of page.cards) {
    const holder = holderOf(card);
    // The address of a recipient was given by a buyer, for the delivery only (2002/58/EC, article 13).
    if (isUnopenedSale) continue;
    if (!holder || !needsReminder(card, { store, task, today })) continue;
    yield* enqueueEmail(ctx, {
      storeId: store.id,
      cardId: card.id,
      kind: task.kind,
      address: holder.email,
      code: null,
      sendAt,
      occasion: occasionOf(card, task),
    });
  }
  return page.next;
}

/** Whether a card needs the reminder. A day that came before the issue of the card does not count. */
function needsReminder(
  card: Card,
  { store, task: { kind, days }, today }: { store: Store; task: ReminderTask; today: string },
): boolean {
  if (spendStateOf(card, today) !== 'active' || card.balance.minor === 0n) return false;
  if (kind === 'balance_reminder') return true;
  return card.expiresOn !== null && dayOf(card.createdAt, store.timeZone) < addDays(card.expiresOn, -days);
}

/** A changed expiry date is a new occasion, with its own reminders. */
function occasionOf(card: Card, { kind, days }: ReminderTask): string {
  return kind === 'expiry_reminder' ? `expiry ${card.expiresOn} ${days}` : `balance ${days}`;
}
