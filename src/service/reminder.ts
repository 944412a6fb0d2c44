/**
 * Reminders: which cards' holders are told that a card runs out, or that there is money on it.
 *
 * Terms: a *task* is one number of days of a store's schedule, on one day of the store: it goes through the cards for
 * which that day has come, and was not passed by the task with the next smaller number. So a card is reminded of the
 * nearest day only, however late the schedule was made or the service was down, and a day that had come before the
 * card was issued is none.
 */

import type { Context } from '../context.ts';
import { isDisabled, isExpired, type Card } from '../domain/card.ts';
import { addDays, dayOf } from '../domain/day.ts';
import { holderOf } from '../domain/mail.ts';
import { sendingInstantOf } from '../domain/send-on.ts';
import type { Store } from '../domain/store.ts';
import { listCardsExpiring, listCardsIssued, type CardPlace } from '../storage/reminder.ts';
import { bookMail, findMailSettings } from '../storage/mail.ts';
import type { Script } from '../storage/sql.ts';
import { findStore } from '../storage/store.ts';

export type ReminderTask = {
  readonly kind: 'expiry_reminder' | 'balance_reminder';
  /** The number of days, before the expiry or after the issue. */
  readonly days: number;
  /** The last good days, or the days of issue, of the cards that it is about: first and last. */
  readonly from: string;
  readonly to: string;
};

export type ReminderPlan = {
  readonly store: Store;
  /** Another one for another day or schedule. */
  readonly name: string;
  readonly tasks: readonly ReminderTask[];
};

export type ReminderPlace = CardPlace;
export const firstPlace: ReminderPlace = { day: '', id: 0 };

/** A reminder of a balance that is later than this is not made up for: the schedule was made after its day. */
const lateDaysMax = 7;

/** What a store has to remind of today; undefined if there is no such store. */
export function* planReminders(ctx: Context, storeId: number): Script<ReminderPlan | undefined> {
  const record = yield* findStore(storeId);
  if (!record) return undefined;
  const { store } = record;
  const { expiryReminderDays, balanceReminderDays } = yield* findMailSettings(storeId);
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  return {
    store,
    name: `${today} ${store.timeZone} ${expiryReminderDays.join(',')} ${balanceReminderDays.join(',')}`,
    tasks: [...expiryTasks(expiryReminderDays, today), ...balanceTasks(balanceReminderDays, today)],
  };
}

/** @param schedule the largest number first. */
function expiryTasks(schedule: readonly number[], today: string): readonly ReminderTask[] {
  return schedule.map((days, place) => {
    const nextSmaller = schedule[place + 1] ?? -1;
    return {
      kind: 'expiry_reminder',
      days,
      from: addDays(today, nextSmaller + 1),
      to: addDays(today, days),
    };
  });
}

function balanceTasks(schedule: readonly number[], today: string): readonly ReminderTask[] {
  return schedule.map((days, place) => {
    const nextLarger = schedule[place - 1] ?? Number.POSITIVE_INFINITY;
    const late = Math.min(lateDaysMax, nextLarger - days - 1);
    return {
      kind: 'balance_reminder',
      days,
      from: addDays(today, -days - late),
      to: addDays(today, -days),
    };
  });
}

/** Books a task's reminders of up to `limit` cards. @returns where the next cards start; undefined after the last. */
export function* bookReminders(
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
  // At nine o'clock, or at once if that is over.
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const sendAt = sendingInstantOf(today, store.timeZone);
  for (const card of page.cards) {
    const holder = holderOf(card);
    if (!holder || !isToBeReminded(card, { store, task, today })) continue;
    yield* bookMail(ctx, {
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

function isToBeReminded(
  card: Card,
  { store, task: { kind, days }, today }: { store: Store; task: ReminderTask; today: string },
): boolean {
  if (isDisabled(card) || isExpired(card, today) || card.balance.minor === 0n) return false;
  if (kind === 'balance_reminder') return true;
  return card.expiresOn !== null && dayOf(card.createdAt, store.timeZone) < addDays(card.expiresOn, -days);
}

/** An expiry that is moved is another occasion. */
function occasionOf(card: Card, { kind, days }: ReminderTask): string {
  return kind === 'expiry_reminder' ? `expiry ${card.expiresOn} ${days}` : `balance ${days}`;
}
