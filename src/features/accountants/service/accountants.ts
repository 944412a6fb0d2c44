/** Emails to the accountants of a store: when one about a month is due, and the links in them. */

import {
  addMonths,
  daysOfMonth,
  endOfMonth,
  isMonthDue,
  monthLinkMs,
  monthOf,
  nextMonthDue,
  type Accountant,
  type AccountantEmail,
  type AccountantEmailKind,
} from '../domain/accountant.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { Secret } from '../../../platform/secret.ts';
import { findFirstInstant, findLastClosings } from '../../books/storage/books.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  claimDueEmails,
  deleteOldAccountantEmails,
  findAccountant,
  findAccountantEmail,
  insertAccountantEmail,
  listAccountants,
  listFailedAccountants,
  listReportedMonths,
  recordDownloaded,
  recordOpened,
  type AccountantClaim,
} from '../storage/accountant.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listSetupSteps } from '../../../core/stores/storage/setup-step.ts';
import { assertStoreOpen, findStore } from '../../../core/stores/storage/store.ts';
import { recordAction } from '../../../core/staff/service/staff.ts';

export {
  listAccountantEmails,
  listAccountants,
  listStoresToReport,
  settleAccountantEmail,
} from '../storage/accountant.ts';

/** Months whose emails are enqueued late, after the service did not run. */
const caughtUpMonths = 3;
/** Emails are listed for a year; those that owners requested until their links have ended. */
const keptMonths = 13;
const requestsKeptMs = monthLinkMs + 24 * 60 * 60 * 1_000;

/** An email about a month that has to be enqueued. */
type DueMonth = { readonly accountant: Accountant; readonly month: string };

/** The last month that has ended, `YYYY-MM`. */
export function lastMonth(ctx: Pick<Context, 'clock'>, { timeZone }: Pick<Store, 'timeZone'>): string {
  return addMonths(monthOf(ctx.clock.earliest(), timeZone), -1);
}

/** Whether all days of a month are closed, so that its figures do not change. */
export function* isMonthClosed(store: Pick<Store, 'id' | 'timeZone'>, month: string): Script<boolean> {
  const { to } = daysOfMonth(month);
  const [last] = yield* findLastClosings(store.id);
  if (last) return last.day > to || (last.day === to && last.part === 'closed');
  const firstAt = yield* findFirstInstant(store.id);
  return firstAt === undefined || firstAt >= endOfMonth(month, store.timeZone);
}

/** The emails about months whose time has come: about those that ended since the accountant was added, and not enqueued yet. */
function* findEndedMonths(ctx: Context, store: Store): Script<readonly DueMonth[]> {
  const now = ctx.clock.earliest();
  const last = lastMonth(ctx, store);
  const months = Array.from({ length: caughtUpMonths }, (_, place) =>
    addMonths(last, place + 1 - caughtUpMonths),
  ).filter((month) => isMonthDue(month, store.timeZone, now));
  const accountants = yield* listAccountants(store.id);
  const reported = yield* listReportedMonths(store.id, addMonths(last, 1 - caughtUpMonths));
  return accountants.flatMap((accountant) =>
    months
      .filter((month) => month >= monthOf(accountant.createdAt, store.timeZone))
      .filter(
        (month) => !reported.some((each) => each.accountantId === accountant.id && each.month === month),
      )
      .map((month) => ({ accountant, month })),
  );
}

/** The emails about months that are due and were not enqueued. */
function* findDueMonths(ctx: Context, store: Store): Script<readonly DueMonth[]> {
  const closed: DueMonth[] = [];
  for (const each of yield* findEndedMonths(ctx, store))
    if (yield* isMonthClosed(store, each.month)) closed.push(each);
  return closed;
}

/** The work of a store on emails about months: those to enqueue now, and when there can be others. */
type MonthsWork = {
  readonly hasDue: boolean;
  /** Ms; null: the store has no accountants; undefined: soon, because a day is not closed yet, or a restore not confirmed. */
  readonly next: number | null | undefined;
};

/** A restored copy sends nothing until an owner has confirmed it: the other machine may have sent it. */
export function* findMonthsWork(ctx: Context, store: Store): Script<MonthsWork> {
  if ((yield* listAccountants(store.id)).length === 0) return { hasDue: false, next: null };
  const steps = yield* listSetupSteps(store.id);
  if (steps.some(({ step }) => step === 'restored_copy')) return { hasDue: false, next: undefined };
  const [ended, due] = [yield* findEndedMonths(ctx, store), yield* findDueMonths(ctx, store)];
  const isWaiting = ended.length > due.length;
  return {
    hasDue: due.length > 0,
    next: isWaiting ? undefined : nextMonthDue(ctx.clock.earliest(), store.timeZone),
  };
}

/** Enqueues the emails of `findDueMonths`, each once, whichever processes do it. */
export function* enqueueDueMonths(ctx: Context, store: Store): Script<void> {
  for (const { accountant, month } of yield* findDueMonths(ctx, store))
    yield* enqueueMonth(ctx, accountant, { kind: 'month', month });
  yield* deleteOldAccountantEmails(store.id, {
    month: addMonths(lastMonth(ctx, store), -keptMonths),
    requestedBefore: ctx.clock.now() - requestsKeptMs,
  });
}

export function* enqueueMonth(
  ctx: Context,
  { storeId, id: accountantId, format }: Accountant,
  { kind, month }: { readonly kind: AccountantEmailKind; readonly month: string },
): Script<void> {
  const createdAt = ctx.clock.now();
  yield* insertAccountantEmail({
    storeId,
    id: ctx.random.id(),
    accountantId,
    kind,
    month,
    format,
    linkUntil: createdAt + monthLinkMs,
    createdAt,
  });
}

/** An email with its accountant. */
export type AddressedMonth = { readonly accountant: Accountant; readonly email: AccountantEmail };

/** Claims due emails of a store. While the clock of a sandbox is advanced, only the process that does it can. */
export function* claimAccountantEmails(
  ctx: Context,
  storeId: number,
  { limit, ...claim }: AccountantClaim & { readonly limit: number },
): Script<readonly AddressedMonth[]> {
  if (!(yield* mayClaim(ctx))) return [];
  const accountants = yield* listAccountants(storeId);
  const claimed = yield* claimDueEmails(storeId, claim, limit);
  return claimed.flatMap((email) => {
    const accountant = accountants.find(({ id }) => id === email.accountantId);
    return accountant ? [{ accountant, email }] : [];
  });
}

/** The accountants whose last email has not arrived. */
export function* findUnreachedAccountants(ctx: Context, store: Store): Script<readonly Accountant[]> {
  return yield* listFailedAccountants(store.id, lastMonth(ctx, store));
}

/** `lga_<store>_<email>_<MAC>`: both ids in base 36. */
const linkForm = /^lga_([1-9a-z][0-9a-z]{0,10})_([1-9a-z][0-9a-z]{0,10})_([\w-]{43})$/;

/** The text whose MAC is in a link: another month, recipient or format needs another link. */
function boundTo({ accountant, email }: AddressedMonth): string {
  const { storeId, id, month, format } = email;
  return JSON.stringify(['month', storeId, id, month, format, accountant.id, accountant.addressKey]);
}

/** The token of the link in an email. */
export function monthToken({ keys }: Pick<Context, 'keys'>, addressed: AddressedMonth): Secret {
  const { storeId, id } = addressed.email;
  const mac = Buffer.from(keys.digest('accountant-link', boundTo(addressed))).toString('base64url');
  return new Secret(`lga_${storeId.toString(36)}_${id.toString(36)}_${mac}`);
}

/** The month that a link shows. */
export type OpenMonth = AddressedMonth & { readonly store: Store };

/**
 * Opens a link; undefined: it is not one, or it has ended. Any key of the key file can have signed it.
 * @throws Fault `store-closed`.
 */
export function* openMonth(ctx: Context, text: string): Script<OpenMonth | undefined> {
  const [, store36 = '', email36 = '', mac = ''] = linkForm.exec(text) ?? [];
  const [storeId, id] = [Number.parseInt(store36, 36), Number.parseInt(email36, 36)];
  if (!Number.isSafeInteger(storeId) || !Number.isSafeInteger(id)) return undefined;
  const email = yield* findAccountantEmail({ storeId, id });
  const accountant = email && (yield* findAccountant({ storeId, id: email.accountantId }));
  if (!accountant || email.kind === 'test' || ctx.clock.latest() >= email.linkUntil) return undefined;
  const given = Buffer.from(mac, 'base64url');
  const digests = ctx.keys.digests('accountant-link', boundTo({ accountant, email }));
  if (!digests.some((digest) => sameBytes(digest, given))) return undefined;
  const record = yield* findStore(storeId);
  if (!record) throw new Fault('not-found');
  assertStoreOpen(record);
  return { accountant, email, store: record.store };
}

/** Lists the first time that a page is opened, and that its file is downloaded, in the audit log. */
export function* recordMonthRead(
  ctx: Context,
  { store, accountant, email }: OpenMonth,
  { isDownload }: { readonly isDownload: boolean },
): Script<void> {
  const now = ctx.clock.now();
  const isFirst = isDownload ? yield* recordDownloaded(email, now) : yield* recordOpened(email, now);
  if (!isFirst) return;
  yield* recordAction(ctx, null, {
    storeId: store.id,
    action: 'month-opened',
    subjectId: null,
    details: { month: email.month, email: accountant.address, ...(isDownload && { downloaded: true }) },
  });
}
