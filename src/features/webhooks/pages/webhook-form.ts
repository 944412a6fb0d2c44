/** The forms with which webhooks are created and edited. */

import { webhookUrlsTool } from '../service/webhook.ts';
import { eventTypes } from '../../../core/events/domain/event-type.ts';
import { eventPatterns, parsePatterns, webhooksMax, type Webhook } from '../domain/webhook.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { webhookVersionTagOf } from '../service/version.ts';
import { editWebhook, registerWebhook } from '../service/staff-webhook.ts';
import { alert, hidden, inputField } from '../../../pages/kit/form.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import {
  confirmPanel,
  developerAccess,
  developersPath,
  pathOfSecret,
  runOrFault,
  type ShownSecret,
} from './developer-parts.ts';
import {
  chosenTypes,
  eventText,
  groupNames,
  groupOfType,
  pathOfWebhook,
  requireWebhook,
  webhooksPath,
} from './webhook-parts.ts';

type FormState = {
  /** Null: a new webhook. */
  readonly edited: Webhook | null;
  readonly url: string;
  readonly patterns: readonly string[];
  readonly urlError?: string | undefined;
  readonly eventsError?: string | undefined;
  readonly alert?: string;
};

const newWebhook: FormState = { edited: null, url: '', patterns: [] };

function eventBox({ patterns }: FormState, pattern: string, label: string, more: MarkupPart): Markup {
  const checked = patterns.includes(pattern) ? markup` checked` : undefined;
  return markup`<label class="check"><input type="checkbox" name="event_${pattern}" value="1"${checked}><span>${label}</span><span class="soft">${more}</span></label>
`;
}

function eventsField(page: Page, state: FormState): Markup {
  const { webhooks: text, eventGroups } = page.text.developers;
  const { eventsError } = state;
  const named = (pattern: string, label: string): Markup =>
    eventBox(state, pattern, label, markup`<code class="chip">${pattern}</code>`);
  const groups = groupNames.map((group) => {
    const types = chosenTypes.filter((type) => groupOfType(type) === group);
    const boxes = types.map((type) => named(type, eventText(page, type)));
    return markup`<fieldset><legend class="small">${eventGroups[group]}</legend>${named(`${group}.*`, text.allOf)}${boxes}</fieldset>
`;
  });
  const describedBy = eventsError === undefined ? 'events-hint' : 'events-error events-hint';
  const error =
    eventsError === undefined ? undefined : markup`<p class="error" id="events-error">${eventsError}</p>`;
  const everything = eventBox(state, '*', text.everything, text.everythingHint);
  return markup`<fieldset class="stack" aria-describedby="${describedBy}"><legend>${text.events}</legend><p class="hint" id="events-hint">${text.eventsHint}</p>${error}
${everything}${groups}</fieldset>`;
}

function formPage(page: Page, state: FormState): ConsoleResponse {
  const { webhooks: text } = page.text.developers;
  const { edited, urlError } = state;
  const isRejected = urlError !== undefined || state.eventsError !== undefined || state.alert !== undefined;
  const title = edited ? text.editTitle : text.add;
  const path = edited ? `${pathOfWebhook(edited)}/edit` : `${webhooksPath}/new`;
  const version = edited ? hidden('version', webhookVersionTagOf(edited)) : undefined;
  const once = edited ? undefined : markup`<p class="small soft">${text.onceText}</p>`;
  const fields = markup`${version}
${inputField({ name: 'url', label: text.url, type: 'url', kind: 'mono', value: state.url, hint: text.urlHint, error: urlError })}
${eventsField(page, state)}
${once}
<button class="button first">${edited ? text.save : text.create}</button>`;
  const form = markup`${state.alert === undefined ? undefined : alert(state.alert)}
${page.form(path, fields, isRejected ? page.key : undefined)}`;
  const back = edited ? pathOfWebhook(edited) : developersPath;
  const body = confirmPanel(page, { label: title, before: undefined, form, back });
  return page.show(developersPath, { title, body, status: isRejected ? 422 : 200 });
}

/** The chosen patterns, without those that another one includes. */
function chosenPatterns({ request: { form } }: Page): readonly string[] {
  const chosen = eventPatterns(eventTypes).filter((pattern) => form.get(`event_${pattern}`) === '1');
  if (chosen.includes('*')) return ['*'];
  const groups = new Set(chosen.filter((pattern) => pattern.endsWith('.*')));
  return chosen.filter((pattern) => groups.has(pattern) || !groups.has(`${pattern.split('.', 1)[0]}.*`));
}

type ReadForm = { readonly key: string; readonly fields: Pick<Webhook, 'url' | 'patterns'> };

/** The fields of the form, or the form with its errors. */
async function readForm(
  page: Page,
  edited: Webhook | null,
): Promise<ReadForm | { readonly rejected: ConsoleResponse }> {
  const { webhooks: text, expiredForm } = page.text.developers;
  const { key } = page;
  const typed = page.typed('url');
  const url = (await page.services.tools.of(webhookUrlsTool).urlParser())(typed);
  const patterns = parsePatterns(chosenPatterns(page), eventPatterns(eventTypes));
  if (url.ok && patterns.ok && key !== undefined)
    return { key, fields: { url: url.value, patterns: patterns.value } };
  return {
    rejected: formPage(page, {
      edited,
      url: typed.slice(0, 2_048),
      patterns: patterns.ok ? patterns.value : [],
      urlError: url.ok ? undefined : text.urlInvalid,
      eventsError: patterns.ok ? undefined : text.eventsMissing,
      ...(key === undefined && { alert: expiredForm }),
    }),
  };
}

async function submitNew(page: Page): Promise<ConsoleResponse> {
  const { webhooks: text } = page.text.developers;
  const read = await readForm(page, null);
  if ('rejected' in read) return read.rejected;
  const { key, fields } = read;
  const secret = page.services.tools.of(webhookUrlsTool).generateSecret();
  const created = await runOrFault(page, key, {
    script: () => registerWebhook(page.ctx, page.by, { ...fields, secret }),
    resultOf: ({ webhook: { id } }): ShownSecret => ({
      done: 'webhook-secret',
      subject: id,
      secret: secret.reveal(),
    }),
    codes: ['too-many-webhooks'],
  });
  if ('result' in created) return seeOther(pathOfSecret(key));
  return formPage(page, { ...newWebhook, ...fields, alert: fillPlain(text.tooMany, { count: webhooksMax }) });
}

async function submitEdit(page: Page): Promise<ConsoleResponse> {
  const { webhooks: text } = page.text.developers;
  const edited = await requireWebhook(page);
  const read = await readForm(page, edited);
  if ('rejected' in read) return read.rejected;
  const { key, fields } = read;
  const { id } = edited;
  const saved = await runOrFault(page, key, {
    script: () => editWebhook(page.ctx, page.by, { id, version: page.typed('version'), fields }),
    resultOf: () => ({ done: 'webhook-changed', subject: id }),
    codes: ['precondition-failed'],
  });
  if ('result' in saved) return seeOther(pathOfWebhook(edited));
  return formPage(page, { edited, ...fields, alert: text.changed });
}

const sensitive = { sensitive: developerAccess } as const;

export const webhookFormRoutes: readonly StaffRoute[] = [
  get(`${webhooksPath}/new`, sensitive, (page) => formPage(page, newWebhook)),
  post(`${webhooksPath}/new`, sensitive, submitNew),
  get(`${webhooksPath}/:id/edit`, sensitive, async (page) => {
    const edited = await requireWebhook(page);
    return formPage(page, { edited, url: edited.url, patterns: edited.patterns });
  }),
  post(`${webhooksPath}/:id/edit`, sensitive, submitEdit),
];
