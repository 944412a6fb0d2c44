/** A webhook as the pages show it: its events in words, its state, and its place in lists. */

import { eventTypes, type EventType } from '../../../core/events/domain/event-type.ts';
import type { Webhook } from '../domain/webhook.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { showWebhook } from '../service/webhook.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { table, tag } from '../../../pages/kit/parts.ts';
import { fill } from '../../../pages/kit/texts.ts';
import { developersPath } from './developer-parts.ts';

export const webhooksPath = `${developersPath}/webhooks`;

export function pathOfWebhook({ id }: Pick<Webhook, 'id'>): string {
  return `${webhooksPath}/${String(id)}`;
}

/** The webhook in the path. @throws Fault `not-found`. */
export async function requireWebhook(page: Page): Promise<Webhook> {
  const id = page.storedId();
  return await page.read(() => showWebhook(page.store.id, id));
}

/** The types that a webhook can choose. Each one receives its own tests. */
export const chosenTypes = eventTypes.filter((type) => type !== 'webhook.test');

type GroupOf<Type> = Type extends `${infer Name}.${string}` ? Name : never;
type Group = GroupOf<EventType>;

export const groupOfType = (type: EventType): Group => type.split('.', 1)[0] as Group;
export const groupNames = [...new Set(chosenTypes.map(groupOfType))];

/** A type of an event in words. @param type also one of a later version. */
export function eventText({ text }: Page, type: string): string {
  const names: Readonly<Record<EventType, string>> = text.developers.eventTypes;
  return Object.hasOwn(names, type) ? names[type as EventType] : type;
}

/** The events of a webhook in words. */
export function patternsText(page: Page, { patterns }: Webhook): string {
  const { webhooks: text, eventGroups } = page.text.developers;
  return patterns
    .map((pattern) => {
      if (pattern === '*') return text.everything;
      const group = groupNames.find((name) => pattern === `${name}.*`);
      return group === undefined ? eventText(page, pattern) : `${eventGroups[group]}: ${text.everything}`;
    })
    .join(' · ');
}

/** The state as a dot and a word. */
export function webhookTag(page: Page, { paused, failing }: Webhook): Markup {
  const { webhooks: text } = page.text.developers;
  if (paused) return tag(paused.reason === 'requested' ? 'ended' : 'bad', text.paused);
  return failing ? tag('wait', text.failing) : tag('good', text.active);
}

/** Since when the webhook is paused or failing, and why; undefined: it works. */
export function conditionOf(page: Page, { paused, failing }: Webhook): MarkupPart {
  const { webhooks: text } = page.text.developers;
  const failure = failing && markup` <span class="mono" lang="en">${failing.failure}</span>`;
  if (paused)
    return markup`${fill(text.pausedAt, { time: page.time(paused.at) })}. ${text.reasons[paused.reason]}${failure ?? undefined}`;
  return failing
    ? markup`${fill(text.failingSince, { time: page.time(failing.since) })}:${failure ?? undefined}`
    : undefined;
}

export function webhookTable(page: Page, webhooks: readonly Webhook[]): Markup {
  const { webhooks: text } = page.text.developers;
  return table({
    caption: text.title,
    columns: [text.url, text.events, { class: 'end', name: text.state }],
    rows: webhooks.map((webhook) => {
      const condition = conditionOf(page, webhook);
      const shown = condition === undefined ? undefined : markup`<p class="small soft">${condition}</p>`;
      return [
        markup`<a class="mono" href="${page.url(pathOfWebhook(webhook))}">${webhook.url}</a>${shown}`,
        { class: 'small whole-line', html: patternsText(page, webhook) },
        { class: 'aside end', html: webhookTag(page, webhook) },
      ];
    }),
  });
}
