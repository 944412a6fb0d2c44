/** Emails to the accountants of a store, about a month that has ended. */

import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { ReportDays } from '../../books/domain/report-days.ts';
import type { EmailState } from '../../../core/emails/domain/email.ts';
import { sendingInstantOf } from '../../../core/emails/domain/send-on.ts';

/** Accountants of one store. */
export const accountantsMax = 3;

/** The days for which a link works, from the time at which its email was written. */
export const monthLinkDays = 60;
export const monthLinkMs = monthLinkDays * 24 * 60 * 60 * 1_000;

/** Tables for people, and files that accounting programs import. */
export const accountantFormats = ['csv', 'xlsx', 'datev', 'quickbooks', 'xero'] as const;

export type AccountantFormat = (typeof accountantFormats)[number];

export type Accountant = {
  readonly storeId: number;
  readonly id: number;
  readonly address: string;
  /** Equal for all spellings of one address. */
  readonly addressKey: string;
  /** A language of the pages. */
  readonly language: string;
  readonly format: AccountantFormat;
  readonly createdAt: number;
};

/** `month`: enqueued once, after the month. `again` and `test`: an owner requested it. A test has no figures and no link. */
export type AccountantEmailKind = 'month' | 'again' | 'test';

export type AccountantEmail = {
  readonly storeId: number;
  readonly id: number;
  readonly accountantId: number;
  readonly kind: AccountantEmailKind;
  /** `YYYY-MM` */
  readonly month: string;
  /** The format of the file that the link downloads. */
  readonly format: AccountantFormat;
  /** The instant (ms) from which the link does not work. */
  readonly linkUntil: number;
  readonly state: Exclude<EmailState, 'scheduled'>;
  readonly createdAt: number;
  /** When the next attempt is due (ms); null after it has ended. */
  readonly nextAt: number | null;
  readonly attempts: number;
  /** When the first attempt was made (ms); null: there was none. */
  readonly firstAt: number | null;
  readonly response: string | null;
  readonly endedAt: number | null;
  /** When its page was first opened, and its file first downloaded (ms); null: never. */
  readonly openedAt: number | null;
  readonly downloadedAt: number | null;
};

/** The month `YYYY-MM` of an instant (ms). */
export function monthOf(instant: number, timeZone: string): string {
  return dayOf(instant, timeZone).slice(0, 7);
}

export function addMonths(month: string, months: number): string {
  return Temporal.PlainYearMonth.from(month).add({ months }).toString();
}

/** The first and the last day of a month. */
export function daysOfMonth(month: string): ReportDays {
  return { from: `${month}-01`, to: addDays(`${addMonths(month, 1)}-01`, -1) };
}

/** The instant (ms) at which a month ends. */
export function endOfMonth(month: string, timeZone: string): number {
  return startOfDay(`${addMonths(month, 1)}-01`, timeZone);
}

/** Whether the emails about a month are due: at the time of emails on the first day after it. */
export function isMonthDue(month: string, timeZone: string, now: number): boolean {
  return now >= dueAt(month, timeZone);
}

function dueAt(month: string, timeZone: string): number {
  return sendingInstantOf(`${addMonths(month, 1)}-01`, timeZone);
}

/** The first instant (ms) after one at which the emails about a month are due. */
export function nextMonthDue(after: number, timeZone: string): number {
  const month = monthOf(after, timeZone);
  const ofLastMonth = dueAt(addMonths(month, -1), timeZone);
  return ofLastMonth > after ? ofLastMonth : dueAt(month, timeZone);
}
