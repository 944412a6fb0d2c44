/** The page of a webhook with the log of its deliveries, and the page of a delivery. */

import { setTimeout as wait } from 'node:timers/promises';
import { eventJson } from '../../../core/events/domain/event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import {
  deliveryStatuses,
  hostOf,
  type Attempt,
  type AttemptResult,
  type Delivery,
  type DeliveryStatus,
  type Webhook,
} from '../domain/webhook.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { showEvent } from '../service/event.ts';
import { findDelivery, searchDeliveries, showDelivery } from '../service/webhook.ts';
import { parallel } from '../../../core/service/scripts.ts';
import { redeliverTo, sendTestTo } from '../service/staff-webhook.ts';
import { select } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { small, table, tag, type Row } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { developerAccess, developersPath, runOrFault } from './developer-parts.ts';
import { eventText, pathOfWebhook, requireWebhook, webhooksPath } from './webhook-parts.ts';
import { webhookPanel } from './webhooks.ts';

const pageSize = 50;
const attemptsMax = 50;
const payloadLengthMax = 20_000;

/** The longest wait of a form for the first attempt, so that the next page shows its result. */
const attemptWaitMs = 2_000;
const attemptPollMs = 50;

const withSeconds = { dateStyle: 'medium', timeStyle: 'medium' } as const;

const kinds: Readonly<Record<DeliveryStatus, 'good' | 'wait' | 'bad'>> = {
  queued: 'wait',
  retrying: 'wait',
  delivered: 'good',
  dead: 'bad',
};

function deliveryTag({ text }: Page, status: DeliveryStatus): Markup {
  return tag(kinds[status], text.developers.log.states[status]);
}

/** Returns the result of an attempt in one line. */
function resultText(page: Page, { result, durationMs }: Attempt): string {
  const { log: text } = page.text.developers;
  const duration = new Intl.NumberFormat(page.language).format(durationMs);
  if (result.kind === 'responded') return fillPlain(text.took, { status: result.status, duration });
  const { failures } = text;
  const reason = Object.hasOwn(failures, result.reason)
    ? failures[result.reason as keyof typeof failures]
    : text.failed;
  return fillPlain(text.failedAfter, { reason, duration });
}

/** Returns the meaning of a response that is not a success; undefined: its status says it all. */
function meaningOf(page: Page, result: AttemptResult): string | undefined {
  const { meanings } = page.text.developers.log;
  if (result.kind !== 'responded' || result.status < 300) return undefined;
  if (result.status === 410) return meanings.gone;
  if (result.status < 400) return meanings.redirect;
  return result.status < 500 ? meanings.client : meanings.server;
}

/** When the next attempt is, or why there is none; undefined: it is delivered. */
function nextText(page: Page, { status, nextAt }: Delivery, { paused }: Webhook): MarkupPart {
  const { log: text } = page.text.developers;
  if (status === 'delivered') return undefined;
  if (nextAt === null) return status === 'dead' ? text.deadText : text.heldText;
  if (paused) return text.nextPaused;
  if (nextAt <= page.now) return text.nextNow;
  return fill(text.next, { time: page.time(nextAt, withSeconds) });
}

async function webhookPage(page: Page): Promise<ConsoleResponse> {
  const { log: text, older, newest, back } = page.text.developers;
  const webhook = await requireWebhook(page);
  const status = deliveryStatuses.find((each) => each === page.request.query.get('state')) ?? null;
  const asked = readStoredId(page.request.query.get('before'));
  const key = { storeId: webhook.storeId, webhookId: webhook.id };
  const { deliveries, scannedTo } = await page.read(() =>
    searchDeliveries(key, { before: asked ?? Number.MAX_SAFE_INTEGER, limit: pageSize + 1, status }),
  );
  const shown = deliveries.slice(0, pageSize);
  const before = deliveries.length > pageSize ? (shown.at(-1)?.eventId ?? null) : scannedTo;
  const path = (from: number | null): string => {
    const parameters = new URLSearchParams({
      ...(status !== null && { state: status }),
      ...(from !== null && { before: String(from) }),
    });
    return `${pathOfWebhook(webhook)}${parameters.size > 0 ? '?' : ''}${parameters.toString()}`;
  };
  const olderLink =
    before === null
      ? undefined
      : markup`<a class="button" rel="next" href="${page.url(path(before))}">${older}</a>`;
  const newestLink = asked === undefined ? undefined : page.link(path(null), newest, 'quiet');
  const unmatched = before === null ? text.noneSuch : text.noneHere;
  const log =
    shown.length === 0
      ? markup`<section class="panel empty"><p>${status === null ? text.none : unmatched}</p></section>`
      : logTable(page, webhook, shown);
  const body = markup`<div class="stack">${webhookPanel(page, webhook)}
<h2>${text.title}</h2>
${filterForm(page, webhook, status)}
${log}
<div class="row apart">${page.link(developersPath, back, 'quiet')}<span class="row">${newestLink}${olderLink}</span></div></div>`;
  return page.show(developersPath, { title: hostOf(webhook), body });
}

function filterForm(page: Page, webhook: Webhook, status: DeliveryStatus | null): Markup {
  const { log: text } = page.text.developers;
  const options = [
    { value: '', text: text.every },
    ...deliveryStatuses.map((each) => ({ value: each, text: text.states[each] })),
  ];
  return markup`<form class="filters one" role="search" aria-label="${text.title}" action="${page.url(pathOfWebhook(webhook))}">${select({ name: 'state', label: text.state, options, value: status ?? '' })}<button class="button">${text.show}</button></form>`;
}

function logTable(page: Page, webhook: Webhook, deliveries: readonly Delivery[]): Markup {
  const { log: text } = page.text.developers;
  const rows = deliveries.map((delivery): Row => {
    const { eventId, eventType, status, createdAt, attempts, last } = delivery;
    const href = page.url(pathOfDelivery(webhook, eventId));
    const result = last ? resultText(page, last) : text.noAttempt;
    const more = [
      attempts > 1 ? plural(page.language, text.attempts, attempts) : undefined,
      nextText(page, delivery, webhook),
    ]
      .filter((part) => part !== undefined)
      .map((part) => markup`<br><span class="soft">${part}</span>`);
    return [
      markup`<a href="${href}">${eventText(page, eventType)}</a><br><span class="small soft mono">${eventType} ${eventId}</span>`,
      { class: 'aside', html: deliveryTag(page, status) },
      { class: 'small whole-line', html: markup`${result}${more}` },
      { class: 'soft small nowrap whole-line', html: page.time(createdAt, withSeconds) },
    ];
  });
  const columns = [text.event, text.state, text.result, text.time];
  return markup`<section class="panel flush">${table({ caption: text.caption, columns, rows })}</section>`;
}

function pathOfDelivery(webhook: Pick<Webhook, 'id'>, eventId: number): string {
  return `${pathOfWebhook(webhook)}/deliveries/${String(eventId)}`;
}

async function deliveryPage(page: Page): Promise<ConsoleResponse> {
  const { log: text, back } = page.text.developers;
  const { id: storeId, domain } = page.store;
  const webhook = await requireWebhook(page);
  const eventId = page.storedId('event');
  const [{ delivery, attempts }, event] = await page.read(() =>
    parallel(showDelivery(storeId, { webhookId: webhook.id, eventId }), showEvent(storeId, eventId)),
  );
  const path = pathOfDelivery(webhook, eventId);
  const isPending = delivery.status === 'queued' && !webhook.paused;
  const refresh = isPending ? page.link(path, text.refresh) : undefined;
  const again = webhook.paused
    ? undefined
    : markup`<form method="post" action="${page.url(path)}/redeliver">${keyInput(page.ctx)}<button class="button">${text.redeliver}</button></form>`;
  const about = markup`<dl class="facts"><dt>${text.event}</dt><dd class="mono">${delivery.eventType}</dd><dt>${text.id}</dt><dd class="mono">${eventId}</dd><dt>${text.happened}</dt><dd>${page.time(event.createdAt, withSeconds)}</dd><dt>${text.webhook}</dt><dd class="mono">${webhook.url}</dd></dl>`;
  const body = markup`<div class="stack"><section class="panel stack" aria-label="${text.state}"><div class="row apart"><p>${deliveryTag(page, delivery.status)} ${nextText(page, delivery, webhook)}</p><div class="row">${refresh}${again}</div></div>
${about}</section>
${attemptsPanel(page, attempts)}
${payloadPanel(page, eventJson(event, domain))}
<p>${page.link(pathOfWebhook(webhook), back, 'quiet')}</p></div>`;
  return page.show(developersPath, { title: eventText(page, delivery.eventType), body });
}

function attemptsPanel(page: Page, attempts: readonly Attempt[]): Markup {
  const { log: text } = page.text.developers;
  const shown = attempts.slice(-attemptsMax).toReversed();
  const rows = shown.map((attempt) => {
    const { at, result } = attempt;
    const meaning = meaningOf(page, result);
    const detail =
      result.kind === 'failed'
        ? markup`<br><span class="small soft mono" lang="en">${result.detail}</span>`
        : meaning && markup`<br>${small(meaning)}`;
    const excerpt =
      result.kind === 'responded' && result.body.trim() !== ''
        ? markup`<details><summary>${text.excerpt}</summary><pre class="payload" tabindex="0" role="group" aria-label="${text.excerpt}">${result.body}</pre></details>`
        : undefined;
    return markup`<dt>${page.time(at, withSeconds)}</dt><dd>${resultText(page, attempt)}${detail ?? undefined}${excerpt}</dd>
`;
  });
  const list =
    rows.length === 0
      ? markup`<p class="soft">${text.noAttempt}</p>`
      : markup`<dl class="facts attempts">${rows}</dl>`;
  const cut =
    attempts.length > attemptsMax
      ? markup`<p class="hint">${fillPlain(text.attemptsNewest, { count: attemptsMax })}</p>`
      : undefined;
  return markup`<section class="panel stack"><h2>${text.attemptsTitle}</h2>${list}${cut}</section>`;
}

/** @param json the bytes that are sent, as text. */
function payloadPanel(page: Page, json: string): Markup {
  const { log: text } = page.text.developers;
  const indented = JSON.stringify(JSON.parse(json), null, 2);
  const count = new Intl.NumberFormat(page.language).format(payloadLengthMax);
  const cut =
    indented.length > payloadLengthMax
      ? markup`<p class="hint">${fillPlain(text.payloadCut, { count })}</p>`
      : undefined;
  return markup`<section class="panel stack"><h2>${text.payload}</h2><pre class="payload">${indented.slice(0, payloadLengthMax)}</pre>${cut}<p class="small soft">${text.payloadHint}</p></section>`;
}

/** Waits a short time until a process has attempted the delivery. */
async function attempted(page: Page, { id: webhookId }: Webhook, eventId: number): Promise<void> {
  const key = { storeId: page.store.id, webhookId, eventId };
  for (let waitedMs = 0; waitedMs < attemptWaitMs; waitedMs += attemptPollMs) {
    const delivery = await page.read(() => findDelivery(key));
    if (delivery?.status !== 'queued') return;
    await wait(attemptPollMs);
  }
}

async function submitTest(page: Page): Promise<ConsoleResponse> {
  const webhook = await requireWebhook(page);
  const { key } = page;
  if (key === undefined) return seeOther(pathOfWebhook(webhook));
  const sent = await runOrFault(page, key, {
    script: () => sendTestTo(page.ctx, page.by, webhook),
    resultOf: ({ eventId }) => ({ done: 'event-sent', event: eventId }),
    codes: ['webhook-paused', 'not-found'],
  });
  // The page of the webhook says that it is paused.
  if ('fault' in sent) return seeOther(pathOfWebhook(webhook));
  const { event } = sent.result;
  await attempted(page, webhook, event);
  return seeOther(pathOfDelivery(webhook, event));
}

async function submitRedeliver(page: Page): Promise<ConsoleResponse> {
  const webhook = await requireWebhook(page);
  const eventId = page.storedId('event');
  const delivery = { storeId: webhook.storeId, webhookId: webhook.id, eventId };
  if (!(await page.read(() => findDelivery(delivery)))) throw new Fault('not-found');
  const path = pathOfDelivery(webhook, eventId);
  const { key } = page;
  if (key === undefined) return seeOther(path);
  const sent = await runOrFault(page, key, {
    script: () => redeliverTo(page.ctx, page.by, { webhook, eventId }),
    resultOf: () => ({ done: 'event-sent', event: eventId }),
    codes: ['webhook-paused', 'invalid-parameter'],
  });
  // The webhook was paused or deleted: its page says so.
  if ('fault' in sent) return seeOther(pathOfWebhook(webhook));
  await attempted(page, webhook, eventId);
  return seeOther(path);
}

export const developerDeliveryRoutes: readonly StaffRoute[] = [
  get(`${webhooksPath}/:id`, developerAccess, webhookPage),
  post(`${webhooksPath}/:id/test`, developerAccess, submitTest),
  get(`${webhooksPath}/:id/deliveries/:event`, developerAccess, deliveryPage),
  post(`${webhooksPath}/:id/deliveries/:event/redeliver`, developerAccess, submitRedeliver),
];
