/** The page of a webhook with the log of its deliveries, and the page of a delivery. */

import { setTimeout as wait } from 'node:timers/promises';
import { eventJson } from '../../domain/events/event.ts';
import { Fault } from '../../domain/fault.ts';
import {
  deliveryStatuses,
  type Attempt,
  type AttemptResult,
  type Delivery,
  type DeliveryStatus,
  type Webhook,
} from '../../domain/events/webhook.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { redeliver, showEvent } from '../../service/events/event.ts';
import { sendTestEvent, showDelivery } from '../../service/events/webhook.ts';
import { parallel } from '../../storage/sql/sql.ts';
import { findDelivery, searchDeliveries } from '../../storage/events/webhook-delivery.ts';
import {
  beforeOf,
  developerAccess,
  developerPage,
  developersPath,
  developerTexts,
  pathId,
  recordDeveloperAction,
  runOrFault,
} from './parts.ts';
import { eventText, hostOf, pathOfWebhook, requireWebhook, webhookPanel, webhooksPath } from './webhooks.ts';
import { select } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill, fillPlain, plural, type PageLanguage } from '../kit/texts.ts';

const pageSize = 50;
const attemptsMax = 50;
const payloadLengthMax = 20_000;

/** How long a form waits for the first attempt, so that the next page shows its result. */
const attemptWaitMs = 2_000;
const attemptPollMs = 50;

const withSeconds = { dateStyle: 'medium', timeStyle: 'medium' } as const;

const kinds: Readonly<Record<DeliveryStatus, 'good' | 'wait' | 'bad'>> = {
  queued: 'wait',
  retrying: 'wait',
  delivered: 'good',
  dead: 'bad',
};

function deliveryTag(status: DeliveryStatus, language: PageLanguage): Markup {
  const { states } = developerTexts[language].log;
  return markup`<span class="tag ${kinds[status]}">${states[status]}</span>`;
}

/** What an attempt resulted in, in one line. */
function resultText({ result, durationMs }: Attempt, language: PageLanguage): string {
  const { log: text } = developerTexts[language];
  const duration = new Intl.NumberFormat(language).format(durationMs);
  if (result.kind === 'responded') return fillPlain(text.took, { status: result.status, duration });
  const { failures } = text;
  const reason = Object.hasOwn(failures, result.reason)
    ? failures[result.reason as keyof typeof failures]
    : text.failed;
  return fillPlain(text.failedAfter, { reason, duration });
}

/** What a response that is not a success means; undefined: nothing more than its status. */
function meaningOf(result: AttemptResult, language: PageLanguage): string | undefined {
  const { meanings } = developerTexts[language].log;
  if (result.kind !== 'responded' || result.status < 300) return undefined;
  if (result.status === 410) return meanings.gone;
  if (result.status < 400) return meanings.redirect;
  return result.status < 500 ? meanings.client : meanings.server;
}

/** When the next attempt is, or why there is none; undefined: it is delivered. */
function nextText(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  { language, signedIn: { store } }: StaffRequest,
  { status, nextAt }: Delivery,
  { paused }: Pick<Webhook, 'paused'>,
): MarkupPart {
  const { log: text } = developerTexts[language];
  if (status === 'delivered') return undefined;
  if (nextAt === null) return text.deadText;
  if (paused) return text.nextPaused;
  if (nextAt <= ctx.clock.now()) return text.nextNow;
  return fill(text.next, { time: timeElement(nextAt, store, language, withSeconds) });
}

function statusOf({ query }: StaffRequest): DeliveryStatus | null {
  return deliveryStatuses.find((status) => status === query.get('state')) ?? null;
}

async function webhookPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const { language } = request;
  const { log: text, older, newest, back } = developerTexts[language];
  const webhook = await requireWebhook(services, request);
  const [status, asked] = [statusOf(request), beforeOf(request)];
  const key = { storeId: webhook.storeId, webhookId: webhook.id };
  const { deliveries, scannedTo } = await storage.read(() =>
    searchDeliveries(key, { before: asked ?? Number.MAX_SAFE_INTEGER, limit: pageSize + 1, status }),
  );
  const shown = deliveries.slice(0, pageSize);
  const before = deliveries.length > pageSize ? (shown.at(-1)?.eventId ?? null) : scannedTo;
  const path = (from: number | null): string => {
    const parameters = new URLSearchParams({
      ...(status !== null && { state: status }),
      ...(from !== null && { before: String(from) }),
    });
    return `${frame.basePath}${pathOfWebhook(webhook)}${parameters.size > 0 ? '?' : ''}${parameters.toString()}`;
  };
  const olderLink =
    before === null ? undefined : markup`<a class="button" rel="next" href="${path(before)}">${older}</a>`;
  const newestLink =
    asked === undefined ? undefined : markup`<a class="button quiet" href="${path(null)}">${newest}</a>`;
  const unmatched = before === null ? text.noneSuch : text.noneHere;
  const log =
    shown.length === 0
      ? markup`<section class="panel empty"><p>${status === null ? text.none : unmatched}</p></section>`
      : logTable(services, request, webhook, shown);
  const body = markup`<div class="stack">${webhookPanel(services, request, webhook)}
<h2>${text.title}</h2>
${filterForm(services, request, webhook, status)}
${log}
<div class="row apart"><a class="button quiet" href="${frame.basePath}${developersPath}">${back}</a><span class="row">${newestLink}${olderLink}</span></div></div>`;
  return developerPage(services, request, { title: hostOf(webhook), body });
}

function filterForm(
  { frame }: ConsoleServices,
  { language }: StaffRequest,
  webhook: Webhook,
  status: DeliveryStatus | null,
): Markup {
  const { log: text } = developerTexts[language];
  const options = [
    { value: '', text: text.every },
    ...deliveryStatuses.map((each) => ({ value: each, text: text.states[each] })),
  ];
  return markup`<form class="panel filters" role="search" aria-label="${text.title}" action="${frame.basePath}${pathOfWebhook(webhook)}">${select({ name: 'state', label: text.state, options, value: status ?? '' })}<button class="button">${text.show}</button></form>`;
}

function logTable(
  services: ConsoleServices,
  request: StaffRequest,
  webhook: Webhook,
  deliveries: readonly Delivery[],
): Markup {
  const { language, signedIn } = request;
  const { log: text } = developerTexts[language];
  const rows = deliveries.map((delivery) => {
    const { eventId, eventType, status, createdAt, attempts, last } = delivery;
    const href = `${services.frame.basePath}${pathOfDelivery(webhook, eventId)}`;
    const next = nextText(services, request, delivery, webhook);
    const result = last ? resultText(last, language) : text.noAttempt;
    const more = [attempts > 1 ? plural(language, text.attempts, attempts) : undefined, next]
      .filter((part) => part !== undefined)
      .map((part) => markup`<br><span class="soft">${part}</span>`);
    return markup`<tr role="row"><td role="cell"><a href="${href}">${eventText(eventType, language)}</a><br><span class="small soft mono">${eventType} ${eventId}</span></td><td role="cell" class="aside">${deliveryTag(status, language)}</td><td role="cell" class="small whole-line">${result}${more}</td><td role="cell" class="soft small nowrap whole-line">${timeElement(createdAt, signedIn.store, language, withSeconds)}</td></tr>
`;
  });
  return markup`<section class="panel flush"><table class="table lines" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.event}</th><th scope="col" role="columnheader">${text.state}</th><th scope="col" role="columnheader">${text.result}</th><th scope="col" role="columnheader">${text.time}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

function pathOfDelivery(webhook: Pick<Webhook, 'id'>, eventId: number): string {
  return `${pathOfWebhook(webhook)}/deliveries/${String(eventId)}`;
}

async function deliveryPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { log: text, back } = developerTexts[language];
  const webhook = await requireWebhook(services, request);
  const eventId = pathId(request, 'event');
  const [{ delivery, attempts }, event] = await storage.read(() =>
    parallel(showDelivery(store.id, { webhookId: webhook.id, eventId }), showEvent(store.id, eventId)),
  );
  const path = `${frame.basePath}${pathOfDelivery(webhook, eventId)}`;
  const next = nextText(services, request, delivery, webhook);
  const isPending = delivery.status === 'queued' && !webhook.paused;
  const refresh = isPending ? markup`<a class="button" href="${path}">${text.refresh}</a>` : undefined;
  const again = webhook.paused
    ? undefined
    : markup`<form method="post" action="${path}/redeliver">${keyInput(ctx)}<button class="button">${text.redeliver}</button></form>`;
  const title = eventText(delivery.eventType, language);
  const body = markup`<div class="stack"><section class="panel stack" aria-label="${text.state}"><div class="row apart"><p>${deliveryTag(delivery.status, language)} ${next}</p><div class="row">${refresh}${again}</div></div>
<dl class="facts"><dt>${text.event}</dt><dd class="mono">${delivery.eventType}</dd><dt>${text.id}</dt><dd class="mono">${eventId}</dd><dt>${text.happened}</dt><dd>${timeElement(event.createdAt, store, language, withSeconds)}</dd><dt>${text.webhook}</dt><dd class="mono">${webhook.url}</dd></dl></section>
${attemptsPanel(request, attempts)}
${payloadPanel(language, eventJson(event, store.domain))}
<p><a class="button quiet" href="${frame.basePath}${pathOfWebhook(webhook)}">${back}</a></p></div>`;
  return developerPage(services, request, { title, body });
}

function attemptsPanel(
  { language, signedIn: { store } }: StaffRequest,
  attempts: readonly Attempt[],
): Markup {
  const { log: text } = developerTexts[language];
  const shown = attempts.slice(-attemptsMax).toReversed();
  const rows = shown.map((attempt) => {
    const { at, result } = attempt;
    const meaning = meaningOf(result, language);
    const detail =
      result.kind === 'failed'
        ? markup`<br><span class="small soft mono" lang="en">${result.detail}</span>`
        : meaning && markup`<br><span class="small soft">${meaning}</span>`;
    const excerpt =
      result.kind === 'responded' && result.body.trim() !== ''
        ? markup`<details><summary>${text.excerpt}</summary><pre class="payload" tabindex="0" role="group" aria-label="${text.excerpt}">${result.body}</pre></details>`
        : undefined;
    return markup`<dt>${timeElement(at, store, language, withSeconds)}</dt><dd>${resultText(attempt, language)}${detail ?? undefined}${excerpt}</dd>
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
function payloadPanel(language: PageLanguage, json: string): Markup {
  const { log: text } = developerTexts[language];
  const indented = JSON.stringify(JSON.parse(json), null, 2);
  const count = new Intl.NumberFormat(language).format(payloadLengthMax);
  const cut =
    indented.length > payloadLengthMax
      ? markup`<p class="hint">${fillPlain(text.payloadCut, { count })}</p>`
      : undefined;
  return markup`<section class="panel stack"><h2>${text.payload}</h2><pre class="payload">${indented.slice(0, payloadLengthMax)}</pre>${cut}<p class="small soft">${text.payloadHint}</p></section>`;
}

/** Waits a short time until a process has attempted the delivery. */
async function attempted(
  { storage }: ConsoleServices,
  key: { readonly storeId: number; readonly webhookId: number; readonly eventId: number },
): Promise<void> {
  for (let waitedMs = 0; waitedMs < attemptWaitMs; waitedMs += attemptPollMs) {
    const delivery = await storage.read(() => findDelivery(key));
    if (delivery?.status !== 'queued') return;
    await wait(attemptPollMs);
  }
}

type Sent = { readonly done: 'event-sent'; readonly event: number };

async function submitTest(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const webhook = await requireWebhook(services, request);
  const key = keyOf(request);
  if (key === undefined) return seeOther(pathOfWebhook(webhook));
  const { storeId, id } = webhook;
  const codes = ['webhook-paused', 'not-found'] as const;
  const sent = await runOrFault<Sent>(services, request, { key, codes }, function* test() {
    const { eventId } = yield* sendTestEvent(ctx, { storeId, id });
    const details = { name: hostOf(webhook), test: true };
    yield* recordDeveloperAction(services, request, { action: 'event-sent', subjectId: id, details });
    return { done: 'event-sent', event: eventId };
  });
  // The page of the webhook says that it is paused.
  if ('fault' in sent) return seeOther(pathOfWebhook(webhook));
  const { event } = sent.result;
  await attempted(services, { storeId, webhookId: id, eventId: event });
  return seeOther(pathOfDelivery(webhook, event));
}

async function submitRedeliver(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const webhook = await requireWebhook(services, request);
  const { storeId, id: webhookId } = webhook;
  const eventId = pathId(request, 'event');
  if (!(await storage.read(() => findDelivery({ storeId, webhookId, eventId }))))
    throw new Fault('not-found');
  const path = pathOfDelivery(webhook, eventId);
  const key = keyOf(request);
  if (key === undefined) return seeOther(path);
  const codes = ['webhook-paused', 'invalid-parameter'] as const;
  const sent = await runOrFault<Sent>(services, request, { key, codes }, function* again() {
    yield* redeliver(ctx, { storeId, eventId, webhookId });
    const details = { name: hostOf(webhook), event: eventId };
    yield* recordDeveloperAction(services, request, { action: 'event-sent', subjectId: webhookId, details });
    return { done: 'event-sent', event: eventId };
  });
  // The webhook was paused or deleted: its page says so.
  if ('fault' in sent) return seeOther(pathOfWebhook(webhook));
  await attempted(services, { storeId, webhookId, eventId });
  return seeOther(path);
}

const own = { access: developerAccess } as const;

export const developerDeliveryRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: `${webhooksPath}/:id`, ...own, handle: webhookPage },
  { method: 'POST', path: `${webhooksPath}/:id/test`, ...own, handle: submitTest },
  { method: 'GET', path: `${webhooksPath}/:id/deliveries/:event`, ...own, handle: deliveryPage },
  {
    method: 'POST',
    path: `${webhooksPath}/:id/deliveries/:event/redeliver`,
    ...own,
    handle: submitRedeliver,
  },
];
