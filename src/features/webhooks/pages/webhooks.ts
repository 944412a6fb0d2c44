/** The state of a webhook, and its changes: pause, resume, rotate the secret and delete. */

import { webhookUrlsTool } from '../service/webhook.ts';
import type { Webhook } from '../domain/webhook.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { discardWebhook, pauseWebhook, renewWebhookSecret } from '../service/staff-webhook.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import {
  confirmPanel,
  developerAccess,
  developersPath,
  pathOfSecret,
  runOrFault,
  type ShownSecret,
} from './developer-parts.ts';
import { webhookFormRoutes } from './webhook-form.ts';
import {
  conditionOf,
  patternsText,
  pathOfWebhook,
  requireWebhook,
  webhooksPath,
  webhookTag,
} from './webhook-parts.ts';

/** The state of a webhook with its actions, on its page. */
export function webhookPanel(page: Page, webhook: Webhook): Markup {
  const { webhooks: text } = page.text.developers;
  const { paused, previousSecretUntil, createdAt } = webhook;
  const path = pathOfWebhook(webhook);
  const pausedText = paused ? markup`<p class="soft">${text.pausedText}</p>` : undefined;
  const previous =
    previousSecretUntil !== null && previousSecretUntil > page.now
      ? markup`<br>${fill(text.secretPrevious, { time: page.time(previousSecretUntil) })}`
      : undefined;
  const send = paused
    ? undefined
    : markup`<form method="post" action="${page.url(path)}/test">${keyInput(page.ctx)}<button class="button first">${text.test}</button></form>`;
  const [change, label] = paused ? (['resume', text.resume] as const) : (['pause', text.pause] as const);
  const kind = paused ? ' first' : '';
  const about = markup`<dl class="facts"><dt>${text.url}</dt><dd class="mono">${webhook.url}</dd><dt>${text.events}</dt><dd>${patternsText(page, webhook)}</dd><dt>${text.secret}</dt><dd>${text.secretState}${previous}</dd><dt>${text.created}</dt><dd>${page.time(createdAt)}</dd></dl>`;
  return markup`<section class="panel stack" aria-label="${text.state}"><p>${webhookTag(page, webhook)} ${conditionOf(page, webhook)}</p>${pausedText}
${about}
<div class="row">${send}<form method="post" action="${page.url(path)}/${change}"><button class="button${kind}">${label}</button></form>${page.link(`${path}/edit`, text.edit)}${page.link(`${path}/rotate`, text.rotate)}${page.link(`${path}/delete`, text.delete, 'bad')}</div></section>`;
}

async function pauseOrResume(page: Page, paused: boolean): Promise<ConsoleResponse> {
  const id = page.storedId();
  await page.write(() => pauseWebhook(page.ctx, page.by, id, paused));
  return seeOther(pathOfWebhook({ id }));
}

type Confirmed = {
  readonly title: string;
  readonly about: Markup;
  /** The path of the form, below that of the webhook. */
  readonly path: string;
  readonly button: Markup;
};

function confirmPage(
  page: Page,
  webhook: Webhook,
  { title, about, path, button }: Confirmed,
): ConsoleResponse {
  const body = confirmPanel(page, {
    label: title,
    before: markup`<p class="mono">${webhook.url}</p>${about}`,
    form: markup`<form method="post" action="${page.url(pathOfWebhook(webhook))}/${path}">${keyInput(page.ctx)}${button}</form>`,
    back: pathOfWebhook(webhook),
  });
  return page.show(developersPath, { title, body });
}

async function rotatePage(page: Page): Promise<ConsoleResponse> {
  const { webhooks: text } = page.text.developers;
  return confirmPage(page, await requireWebhook(page), {
    title: text.rotate,
    about: markup`<p>${text.rotateText}</p><p class="small soft">${text.onceText}</p>`,
    path: 'rotate',
    button: markup`<button class="button first">${text.rotateSubmit}</button>`,
  });
}

async function submitRotate(page: Page): Promise<ConsoleResponse> {
  const webhook = await requireWebhook(page);
  const { key } = page;
  if (key === undefined) return seeOther(`${pathOfWebhook(webhook)}/rotate`);
  const { id } = webhook;
  const secret = page.services.tools.of(webhookUrlsTool).generateSecret();
  await runOrFault(page, key, {
    script: () => renewWebhookSecret(page.ctx, page.by, { id, secret }),
    resultOf: (): ShownSecret => ({ done: 'webhook-secret', subject: id, secret: secret.reveal() }),
  });
  return seeOther(pathOfSecret(key));
}

async function deletePage(page: Page): Promise<ConsoleResponse> {
  const { webhooks: text } = page.text.developers;
  return confirmPage(page, await requireWebhook(page), {
    title: text.deleteTitle,
    about: markup`<p>${text.deleteText}</p>`,
    path: 'delete',
    button: markup`<button class="button bad">${text.deleteSubmit}</button>`,
  });
}

async function submitDelete(page: Page): Promise<ConsoleResponse> {
  const id = page.storedId();
  const { key } = page;
  if (key === undefined) return seeOther(`${pathOfWebhook({ id })}/delete`);
  // Another person can have deleted it.
  await runOrFault(page, key, {
    script: () => discardWebhook(page.ctx, page.by, id),
    resultOf: () => ({ done: 'webhook-deleted', subject: id }),
    codes: ['not-found'],
  });
  return seeOther(developersPath);
}

const sensitive = { sensitive: developerAccess } as const;

export const developerWebhookRoutes: readonly StaffRoute[] = [
  ...webhookFormRoutes,
  post(`${webhooksPath}/:id/pause`, sensitive, (page) => pauseOrResume(page, true)),
  post(`${webhooksPath}/:id/resume`, sensitive, (page) => pauseOrResume(page, false)),
  get(`${webhooksPath}/:id/rotate`, sensitive, rotatePage),
  post(`${webhooksPath}/:id/rotate`, sensitive, submitRotate),
  get(`${webhooksPath}/:id/delete`, sensitive, deletePage),
  post(`${webhooksPath}/:id/delete`, sensitive, submitDelete),
];
