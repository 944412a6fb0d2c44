/** Webhooks: list, create, edit, pause, rotate the secret, delete and test. */

import { eventTypes, type EventType } from '../../domain/events/event-type.ts';
import { eventPatterns, parsePatterns, webhooksMax, type Webhook } from '../../domain/events/webhook.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { webhookVersionTagOf } from '../../service/cards/version.ts';
import {
  addWebhook,
  changeWebhook,
  removeWebhook,
  replaceWebhookSecret,
  showWebhook,
} from '../../service/events/webhook.ts';
import {
  confirmPanel,
  developerAccess,
  developerPage,
  developersPath,
  developerTexts,
  pathId,
  pathOfSecret,
  recordDeveloperAction,
  runOrFault,
  type ShownSecret,
} from './parts.ts';
import { alert, hidden, inputField } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill, fillPlain, type PageLanguage } from '../kit/texts.ts';

export const webhooksPath = `${developersPath}/webhooks`;

export function pathOfWebhook({ id }: Pick<Webhook, 'id'>): string {
  return `${webhooksPath}/${String(id)}`;
}

/** How pages and the audit log name a webhook: the rest of its URL can contain a secret of the receiver. */
export function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return new URL(url).host;
}

/** The types that a webhook can choose. Each one receives its own tests. */
const chosenTypes = eventTypes.filter((type) => type !== 'webhook.test');

type GroupOf<Type> = Type extends `${infer Name}.${string}` ? Name : never;
type Group = GroupOf<EventType>;

const groupOf = (type: EventType): Group => type.split('.', 1)[0] as Group;
const groupNames = [...new Set(chosenTypes.map(groupOf))];

/** A type of an event in words. @param type also one of a later version. */
export function eventText(type: string, language: PageLanguage): string {
  const names: Readonly<Record<EventType, string>> = developerTexts[language].eventTypes;
  return Object.hasOwn(names, type) ? names[type as EventType] : type;
}

/** The events of a webhook in words. */
function patternsText({ patterns }: Pick<Webhook, 'patterns'>, language: PageLanguage): string {
  const { webhooks: text, eventGroups } = developerTexts[language];
  return patterns
    .map((pattern) => {
      if (pattern === '*') return text.everything;
      const group = groupNames.find((name) => pattern === `${name}.*`);
      return group === undefined ? eventText(pattern, language) : `${eventGroups[group]}: ${text.everything}`;
    })
    .join(' · ');
}

/** The state as a dot and a word. */
function webhookTag(
  { paused, failing }: Pick<Webhook, 'paused' | 'failing'>,
  language: PageLanguage,
): Markup {
  const { webhooks: text } = developerTexts[language];
  if (paused) {
    const kind = paused.reason === 'requested' ? 'ended' : 'bad';
    return markup`<span class="tag ${kind}">${text.paused}</span>`;
  }
  return failing
    ? markup`<span class="tag wait">${text.failing}</span>`
    : markup`<span class="tag good">${text.active}</span>`;
}

/** Since when the webhook is paused or failing, and why; undefined: it works. */
function conditionOf(
  { paused, failing }: Webhook,
  { language, signedIn: { store } }: StaffRequest,
): MarkupPart {
  const { webhooks: text } = developerTexts[language];
  const time = (at: number): Markup => timeElement(at, store, language);
  const failure =
    failing === null ? undefined : markup` <span class="mono" lang="en">${failing.failure}</span>`;
  if (paused)
    return markup`${fill(text.pausedAt, { time: time(paused.at) })}. ${text.reasons[paused.reason]}${failure}`;
  return failing ? markup`${fill(text.failingSince, { time: time(failing.since) })}:${failure}` : undefined;
}

export function webhookTable(
  { frame }: ConsoleServices,
  request: StaffRequest,
  webhooks: readonly Webhook[],
): Markup {
  const { language } = request;
  const { webhooks: text } = developerTexts[language];
  const rows = webhooks.map((webhook) => {
    const condition = conditionOf(webhook, request);
    const shown = condition === undefined ? undefined : markup`<p class="small soft">${condition}</p>`;
    return markup`<tr role="row"><td role="cell"><a class="mono" href="${frame.basePath}${pathOfWebhook(webhook)}">${webhook.url}</a>${shown}</td><td role="cell" class="small whole-line">${patternsText(webhook, language)}</td><td role="cell" class="aside end">${webhookTag(webhook, language)}</td></tr>
`;
  });
  return markup`<table class="table lines" role="table"><caption class="sr">${text.title}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.url}</th><th scope="col" role="columnheader">${text.events}</th><th scope="col" role="columnheader" class="end">${text.state}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>`;
}

/** The state of a webhook with its actions, on its page. */
export function webhookPanel(services: ConsoleServices, request: StaffRequest, webhook: Webhook): Markup {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { webhooks: text } = developerTexts[language];
  const { paused, previousSecretUntil, createdAt } = webhook;
  const path = `${frame.basePath}${pathOfWebhook(webhook)}`;
  const condition = conditionOf(webhook, request);
  const pausedText = paused ? markup`<p class="soft">${text.pausedText}</p>` : undefined;
  const previous =
    previousSecretUntil !== null && previousSecretUntil > ctx.clock.now()
      ? markup`<br>${fill(text.secretPrevious, { time: timeElement(previousSecretUntil, signedIn.store, language) })}`
      : undefined;
  const send = paused
    ? undefined
    : markup`<form method="post" action="${path}/test">${keyInput(ctx)}<button class="button first">${text.test}</button></form>`;
  const [change, label] = paused ? (['resume', text.resume] as const) : (['pause', text.pause] as const);
  const kind = paused ? ' first' : '';
  return markup`<section class="panel stack" aria-label="${text.state}"><p>${webhookTag(webhook, language)} ${condition}</p>${pausedText}
<dl class="facts"><dt>${text.url}</dt><dd class="mono">${webhook.url}</dd><dt>${text.events}</dt><dd>${patternsText(webhook, language)}</dd><dt>${text.secret}</dt><dd>${text.secretState}${previous}</dd><dt>${text.created}</dt><dd>${timeElement(createdAt, signedIn.store, language)}</dd></dl>
<div class="row">${send}<form method="post" action="${path}/${change}"><button class="button${kind}">${label}</button></form><a class="button" href="${path}/edit">${text.edit}</a><a class="button" href="${path}/rotate">${text.rotate}</a><a class="button bad" href="${path}/delete">${text.delete}</a></div></section>`;
}

/** @throws Fault `not-found`. */
export async function requireWebhook(
  { storage }: Pick<ConsoleServices, 'storage'>,
  request: StaffRequest,
): Promise<Webhook> {
  const id = pathId(request);
  return await storage.read(() => showWebhook(request.signedIn.store.id, id));
}

type FormState = {
  /** Null: a new webhook. */
  readonly edited: Webhook | null;
  readonly url: string;
  readonly patterns: ReadonlySet<string>;
  readonly urlError?: string | undefined;
  readonly eventsError?: string | undefined;
  readonly alert?: string;
};

function eventBox(
  { patterns }: FormState,
  { pattern, label, more }: { readonly pattern: string; readonly label: string; readonly more: MarkupPart },
): Markup {
  const checked = patterns.has(pattern) ? markup` checked` : undefined;
  return markup`<label class="check"><input type="checkbox" name="event_${pattern}" value="1"${checked}><span>${label}</span><span class="soft">${more}</span></label>
`;
}

function formPage(services: ConsoleServices, request: StaffRequest, state: FormState): ConsoleResponse {
  const { ctx, frame } = services;
  const { language } = request;
  const { webhooks: text, eventGroups } = developerTexts[language];
  const { edited, eventsError } = state;
  const isRejected = state.urlError !== undefined || eventsError !== undefined || state.alert !== undefined;
  const groups = groupNames.map((group) => {
    const types = chosenTypes.filter((type) => groupOf(type) === group);
    const boxes = types.map((type) =>
      eventBox(state, {
        pattern: type,
        label: eventText(type, language),
        more: markup`<code class="chip">${type}</code>`,
      }),
    );
    const all = eventBox(state, {
      pattern: `${group}.*`,
      label: text.allOf,
      more: markup`<code class="chip">${group}.*</code>`,
    });
    return markup`<fieldset><legend class="small">${eventGroups[group]}</legend>${all}${boxes}</fieldset>
`;
  });
  const describedBy = eventsError === undefined ? 'events-hint' : 'events-error events-hint';
  const error =
    eventsError === undefined ? undefined : markup`<p class="error" id="events-error">${eventsError}</p>`;
  const everything = eventBox(state, { pattern: '*', label: text.everything, more: text.everythingHint });
  const title = edited ? text.editTitle : text.add;
  const path = edited ? `${pathOfWebhook(edited)}/edit` : `${webhooksPath}/new`;
  const version = edited ? hidden('version', webhookVersionTagOf(edited)) : undefined;
  const once = edited ? undefined : markup`<p class="small soft">${text.onceText}</p>`;
  const form = markup`${state.alert === undefined ? undefined : alert(state.alert)}
<form class="stack" method="post" action="${frame.basePath}${path}">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}${version}
${inputField({ name: 'url', label: text.url, type: 'url', kind: 'mono', value: state.url, hint: text.urlHint, error: state.urlError })}
<fieldset class="stack" aria-describedby="${describedBy}"><legend>${text.events}</legend><p class="hint" id="events-hint">${text.eventsHint}</p>${error}
${everything}${groups}</fieldset>
${once}
<button class="button first">${edited ? text.save : text.create}</button></form>`;
  const back = edited ? pathOfWebhook(edited) : developersPath;
  const body = confirmPanel(services, request, { label: title, before: undefined, form, back });
  return developerPage(services, request, { title, body, status: isRejected ? 422 : 200 });
}

/** The chosen patterns, without those that another one includes. */
function chosenPatterns({ form }: StaffRequest): readonly string[] {
  const chosen = eventPatterns(eventTypes).filter((pattern) => form.get(`event_${pattern}`) === '1');
  if (chosen.includes('*')) return ['*'];
  const groups = new Set(chosen.filter((pattern) => pattern.endsWith('.*')));
  return chosen.filter((pattern) => groups.has(pattern) || !groups.has(`${pattern.split('.', 1)[0]}.*`));
}

type ReadWebhook = { readonly url: string; readonly patterns: readonly string[] };

/** The fields of the form, or the form with its errors. */
async function readForm(
  services: ConsoleServices,
  request: StaffRequest,
  edited: FormState['edited'],
): Promise<{ readonly key: string; readonly fields: ReadWebhook } | { readonly page: ConsoleResponse }> {
  const { webhooks: text, expiredForm } = developerTexts[request.language];
  const typed = formText(request, 'url');
  const parseUrl = await services.webhookUrls.urlParser();
  const [url, patterns] = [
    parseUrl(typed),
    parsePatterns(chosenPatterns(request), eventPatterns(eventTypes)),
  ];
  const state: FormState = {
    edited,
    url: typed.slice(0, 2_048),
    patterns: new Set(patterns.ok ? patterns.value : []),
  };
  const key = keyOf(request);
  if (url.ok && patterns.ok && key !== undefined)
    return { key, fields: { url: url.value, patterns: patterns.value } };
  return {
    page: formPage(services, request, {
      ...state,
      urlError: url.ok ? undefined : text.urlInvalid,
      eventsError: patterns.ok ? undefined : text.eventsMissing,
      ...(key === undefined && { alert: expiredForm }),
    }),
  };
}

async function submitNew(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, webhookUrls } = services;
  const { webhooks: text } = developerTexts[request.language];
  const read = await readForm(services, request, null);
  if ('page' in read) return read.page;
  const { key, fields } = read;
  const storeId = request.signedIn.store.id;
  const created = await runOrFault<ShownSecret>(
    services,
    request,
    { key, codes: ['too-many-webhooks'] },
    function* create() {
      const secret = webhookUrls.generateSecret();
      const { webhook } = yield* addWebhook(ctx, { storeId, ...fields, secret });
      const details = { name: hostOf(webhook) };
      yield* recordDeveloperAction(services, request, {
        action: 'webhook-created',
        subjectId: webhook.id,
        details,
      });
      return { done: 'webhook-secret', subject: webhook.id, secret: secret.reveal() };
    },
  );
  if ('result' in created) return seeOther(pathOfSecret(key));
  return formPage(services, request, {
    edited: null,
    url: fields.url,
    patterns: new Set(fields.patterns),
    alert: fillPlain(text.tooMany, { count: webhooksMax }),
  });
}

async function submitEdit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { webhooks: text } = developerTexts[request.language];
  const webhook = await requireWebhook(services, request);
  const read = await readForm(services, request, webhook);
  if ('page' in read) return read.page;
  const { key, fields } = read;
  const { storeId, id } = webhook;
  const versions = [formText(request, 'version')];
  const saved = await runOrFault(
    services,
    request,
    { key, codes: ['precondition-failed'] },
    function* save() {
      const changed = yield* changeWebhook(ctx, { storeId, id, versions, changes: fields });
      const names = [
        changed.url === webhook.url ? '' : 'url',
        changed.patterns.join(' ') === webhook.patterns.join(' ') ? '' : 'events',
      ].filter((name) => name !== '');
      const details = { name: hostOf(changed), fields: names.join(', ') };
      if (names.length > 0)
        yield* recordDeveloperAction(services, request, {
          action: 'webhook-changed',
          subjectId: id,
          details,
        });
      return { done: 'webhook-changed', subject: id };
    },
  );
  if ('result' in saved) return seeOther(pathOfWebhook(webhook));
  return formPage(services, request, {
    edited: webhook,
    url: fields.url,
    patterns: new Set(fields.patterns),
    alert: text.changed,
  });
}

async function pauseOrResume(
  services: ConsoleServices,
  request: StaffRequest,
  paused: boolean,
): Promise<ConsoleResponse> {
  const { ctx, storage } = services;
  const id = pathId(request);
  const storeId = request.signedIn.store.id;
  await storage.write(function* change() {
    const { version } = yield* showWebhook(storeId, id);
    const changed = yield* changeWebhook(ctx, { storeId, id, versions: null, changes: { paused } });
    const details = { name: hostOf(changed), [paused ? 'paused' : 'resumed']: true };
    // Another click has paused or resumed it.
    if (changed.version === version) return;
    yield* recordDeveloperAction(services, request, { action: 'webhook-changed', subjectId: id, details });
  });
  return seeOther(pathOfWebhook({ id }));
}

async function rotatePage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, frame } = services;
  const { webhooks: text } = developerTexts[request.language];
  const webhook = await requireWebhook(services, request);
  const body = confirmPanel(services, request, {
    label: text.rotate,
    before: markup`<p class="mono">${webhook.url}</p><p>${text.rotateText}</p><p class="small soft">${text.onceText}</p>`,
    form: markup`<form method="post" action="${frame.basePath}${pathOfWebhook(webhook)}/rotate">${keyInput(ctx)}<button class="button first">${text.rotateSubmit}</button></form>`,
    back: pathOfWebhook(webhook),
  });
  return developerPage(services, request, { title: text.rotate, body });
}

async function submitRotate(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, webhookUrls } = services;
  const webhook = await requireWebhook(services, request);
  const key = keyOf(request);
  if (key === undefined) return seeOther(`${pathOfWebhook(webhook)}/rotate`);
  const { storeId, id } = webhook;
  await runOrFault<ShownSecret>(services, request, { key, codes: [] }, function* rotate() {
    const secret = webhookUrls.generateSecret();
    yield* replaceWebhookSecret(ctx, { storeId, id, versions: null, secret });
    const details = { name: hostOf(webhook), rotated: true };
    yield* recordDeveloperAction(services, request, { action: 'webhook-changed', subjectId: id, details });
    return { done: 'webhook-secret', subject: id, secret: secret.reveal() };
  });
  return seeOther(pathOfSecret(key));
}

async function deletePage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, frame } = services;
  const { webhooks: text } = developerTexts[request.language];
  const webhook = await requireWebhook(services, request);
  const body = confirmPanel(services, request, {
    label: text.deleteTitle,
    before: markup`<p class="mono">${webhook.url}</p><p>${text.deleteText}</p>`,
    form: markup`<form method="post" action="${frame.basePath}${pathOfWebhook(webhook)}/delete">${keyInput(ctx)}<button class="button bad">${text.deleteSubmit}</button></form>`,
    back: pathOfWebhook(webhook),
  });
  return developerPage(services, request, { title: text.deleteTitle, body });
}

async function submitDelete(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const id = pathId(request);
  const key = keyOf(request);
  if (key === undefined) return seeOther(`${pathOfWebhook({ id })}/delete`);
  const storeId = request.signedIn.store.id;
  // Another person can have deleted it.
  await runOrFault(services, request, { key, codes: ['not-found'] }, function* remove() {
    const webhook = yield* removeWebhook({ storeId, id, versions: null });
    const details = { name: hostOf(webhook) };
    yield* recordDeveloperAction(services, request, { action: 'webhook-deleted', subjectId: id, details });
    return { done: 'webhook-deleted', subject: id };
  });
  return seeOther(developersPath);
}

const sensitive = { access: developerAccess, isSensitive: true } as const;

export const developerWebhookRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: `${webhooksPath}/new`,
    ...sensitive,
    handle: (services, request) =>
      Promise.resolve(formPage(services, request, { edited: null, url: '', patterns: new Set() })),
  },
  { method: 'POST', path: `${webhooksPath}/new`, ...sensitive, handle: submitNew },
  {
    method: 'GET',
    path: `${webhooksPath}/:id/edit`,
    ...sensitive,
    async handle(services, request) {
      const webhook = await requireWebhook(services, request);
      const state = { edited: webhook, url: webhook.url, patterns: new Set(webhook.patterns) };
      return formPage(services, request, state);
    },
  },
  { method: 'POST', path: `${webhooksPath}/:id/edit`, ...sensitive, handle: submitEdit },
  {
    method: 'POST',
    path: `${webhooksPath}/:id/pause`,
    ...sensitive,
    handle: (services, request) => pauseOrResume(services, request, true),
  },
  {
    method: 'POST',
    path: `${webhooksPath}/:id/resume`,
    ...sensitive,
    handle: (services, request) => pauseOrResume(services, request, false),
  },
  { method: 'GET', path: `${webhooksPath}/:id/rotate`, ...sensitive, handle: rotatePage },
  { method: 'POST', path: `${webhooksPath}/:id/rotate`, ...sensitive, handle: submitRotate },
  { method: 'GET', path: `${webhooksPath}/:id/delete`, ...sensitive, handle: deletePage },
  { method: 'POST', path: `${webhooksPath}/:id/delete`, ...sensitive, handle: submitDelete },
];
