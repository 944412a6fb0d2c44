/** The emails of a batch that were not sent get another time or are cancelled. */

import type { Batch } from '../domain/batch.ts';
import { parseDay } from '../../../core/domain/day.ts';
import { parseSendOn, type SendOn } from '../../../core/emails/domain/send-on.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { batchKeyOf } from '../service/batch.ts';
import { showBatch } from '../service/batch-lists.ts';
import { readUnsentEmails, type UnsentEmails } from '../service/campaign.ts';
import { cancelBatchEmails, rescheduleBatch } from '../service/staff-batch.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { findResult, hasFields, isKey, keyInput, type Json } from '../../../pages/kit/once.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** The result of a form, which the page of the batch shows. */
type Done = {
  readonly batch: number;
  readonly did: 'cancelled' | 'rescheduled' | 'resent';
  readonly count: number;
  /** Emails that were sent before, or cards that were left out. */
  readonly others: number;
  readonly inProgress: number;
};

const isDone = hasFields<Done>('batch', 'did', 'count', 'others', 'inProgress');

/** The sentence about the form before the page of a batch; undefined: there was none. */
export async function doneNotice(page: Page, batch: Batch): Promise<Markup | undefined> {
  const key = page.request.query.get('done') ?? '';
  const done = isKey(key) ? await findResult(page.services, page.request, key, isDone) : undefined;
  if (!done || done.batch !== batch.id) return undefined;
  const { done: text } = page.text.batches.campaign;
  const sentences = [
    plural(page.language, text[done.did], done.count),
    ...(done.did === 'cancelled' ? [plural(page.language, text.sentBefore, done.others)] : []),
    ...(done.did !== 'cancelled' && done.others > 0
      ? [plural(page.language, text.omitted, done.others)]
      : []),
    ...(done.inProgress > 0 ? [plural(page.language, text.inProgress, done.inProgress)] : []),
  ];
  return markup`<div class="notice good" role="status"><p>${sentences.join(' ')}</p></div>
`;
}

/** The batch in the path. @throws Fault `not-found`. */
export async function openBatch(page: Page): Promise<Batch> {
  const batchId = page.storedId();
  return await page.read(() => showBatch({ storeId: page.store.id, batchId }));
}

export function frameOf(
  page: Page,
  batch: Batch,
  title: string,
): { readonly title: string; readonly heading: string; readonly actions: Markup } {
  const back = page.link(`/cards/batches/${batch.id}`, batch.name ?? page.text.batches.unnamed);
  return { title: `${title} · ${batch.name ?? page.text.batches.unnamed}`, heading: title, actions: back };
}

/** The time that was typed into two fields, in the store's time zone. */
export function parseTypedTime(page: Page, store: Store): Parsed<SendOn> {
  const place = { now: page.now, timeZone: store.timeZone };
  const day = parseDay(page.typed('send_date'));
  const time = page.typed('send_time');
  if (!day.ok) return day;
  if (!/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(time)) return parseSendOn('', place);
  const local = Temporal.PlainDateTime.from(`${day.value}T${time}`);
  return parseSendOn(local.toZonedDateTime(store.timeZone).toInstant().toString(), place);
}

/** The fields of a day and a time. @param isOptional whether an empty day means: at once. */
export function timeFields(
  page: Page,
  {
    error,
    isOptional,
    day,
    time,
  }: {
    readonly error: string | undefined;
    readonly isOptional: boolean;
    readonly day: string;
    readonly time: string;
  },
): Markup {
  const { time: text } = page.text.batches.campaign;
  const zone = fillPlain(page.text.issue.time, { zone: page.store.timeZone });
  const hint = isOptional ? { hint: text.hint } : {};
  return markup`<div class="row send-time">${inputField({ name: 'send_date', label: text.day, type: 'date', value: day, error, isOptional, ...hint })}${inputField({ name: 'send_time', label: zone, type: 'time', value: time === '' ? '09:00' : time, isOptional })}</div>`;
}

type UnsentForm = { readonly error?: string; readonly notice?: string };

function unsentPage(
  page: Page,
  { batch, unsent }: { readonly batch: Batch; readonly unsent: UnsentEmails },
  { error, notice }: UnsentForm = {},
): ConsoleResponse {
  const { unsent: text } = page.text.batches.campaign;
  const isRejected = error !== undefined || notice !== undefined;
  const path = `${page.basePath}/cards/batches/${batch.id}`;
  const { count, nextAt } = unsent;
  const next = nextAt === null ? undefined : markup`<p class="soft">${text.next} ${page.time(nextAt)}</p>`;
  const forms =
    count === 0 || batch.state !== 'complete'
      ? undefined
      : markup`<form class="panel stack" method="post" action="${path}/reschedule" aria-labelledby="reschedule"><h2 id="reschedule">${text.schedule}</h2>${keyInput(page.ctx, error === undefined ? undefined : page.key)}
${timeFields(page, { error, isOptional: false, day: page.typed('send_date'), time: page.typed('send_time') })}
<p class="hint">${text.scheduleHint}</p><div class="row"><button class="button first">${text.scheduleAction}</button></div></form>
<form class="panel stack" method="post" action="${path}/cancel" aria-labelledby="cancel"><h2 id="cancel">${text.cancel}</h2>${keyInput(page.ctx)}
<p class="hint">${text.cancelHint}</p><div class="row"><button class="button">${plural(page.language, text.cancelAction, count)}</button></div></form>`;
  const body = markup`<div class="stack change">${notice === undefined ? undefined : alert(notice)}<section class="panel" aria-label="${text.title}"><p><strong>${plural(page.language, text.count, count)}</strong></p>${next}</section>
${forms}</div>`;
  return page.show('/cards', { status: isRejected ? 422 : 200, ...frameOf(page, batch, text.title), body });
}

async function openUnsent(page: Page): Promise<{ readonly batch: Batch; readonly unsent: UnsentEmails }> {
  const batch = await openBatch(page);
  return { batch, unsent: await page.read(() => readUnsentEmails(page.ctx, batch)) };
}

export type Submitted = {
  readonly batch: Batch;
  readonly script: () => Script<Done & { readonly [name: string]: Json }>;
  /** The page of the form with a sentence above it. */
  readonly again: (notice: string) => Promise<ConsoleResponse>;
};

/** Runs a form once, and leads to the page of the batch. A form without a key was not made by the server. */
export async function submit(page: Page, { batch, script, again }: Submitted): Promise<ConsoleResponse> {
  const { errors: text } = page.text.batches.campaign;
  const { key } = page;
  if (key === undefined) return await again(text.incomplete);
  try {
    await page.once(key, script);
    return seeOther(`/cards/batches/${batch.id}?done=${key}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const withheld = withoutAccess(page, error);
    if (withheld) return withheld;
    if (error.code === 'precondition-failed') return await again(text.running);
    if (error.code === 'no-mail') return await again(text.noEmails);
    if (error.errors?.['send_on']) return await again(text.afterExpiry);
    throw error;
  }
}

async function cancel(page: Page): Promise<ConsoleResponse> {
  const batch = await openBatch(page);
  return await submit(page, {
    batch,
    again: async (notice) => unsentPage(page, await openUnsent(page), { notice }),
    *script() {
      const { cancelled, sent, inProgress } = yield* cancelBatchEmails(page.ctx, page.by, batchKeyOf(batch));
      return { batch: batch.id, did: 'cancelled', count: cancelled, others: sent, inProgress };
    },
  });
}

async function reschedule(page: Page): Promise<ConsoleResponse> {
  const batch = await openBatch(page);
  const sendOn = parseTypedTime(page, page.store);
  const earlier = await earlierPage(page, batch);
  if (earlier) return earlier;
  if (!sendOn.ok) return unsentPage(page, await openUnsent(page), { error: page.text.issue.errors.date });
  return await submit(page, {
    batch,
    again: async (notice) => unsentPage(page, await openUnsent(page), { notice }),
    *script() {
      const { rescheduled } = yield* rescheduleBatch(page.ctx, page.by, batchKeyOf(batch), sendOn.value);
      return { batch: batch.id, did: 'rescheduled', count: rescheduled, others: 0, inProgress: 0 };
    },
  });
}

/** The page after a form that was sent before, whatever its fields are now. */
export async function earlierPage(page: Page, batch: Batch): Promise<ConsoleResponse | undefined> {
  const { key } = page;
  const done = key === undefined ? undefined : await findResult(page.services, page.request, key, isDone);
  return done && seeOther(`/cards/batches/${batch.id}?done=${key}`);
}

export const batchEmailRoutes: readonly StaffRoute[] = [
  get('/cards/batches/:id/unsent', 'changeEmails', async (page) => unsentPage(page, await openUnsent(page))),
  post('/cards/batches/:id/cancel', 'changeEmails', cancel),
  post('/cards/batches/:id/reschedule', 'changeEmails', reschedule),
];
