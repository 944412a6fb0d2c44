/** Recent activity: movements of cards and emails that could not be delivered, as rows of a table. */

import type { Context } from '../../../core/storage/context.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { dayOf } from '../../../core/domain/day.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { RecentActivity } from '../service/activity.ts';
import type { Activity } from '../storage/today.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import { signedText, timeElement } from '../../../pages/kit/format.ts';
import { fill, fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { todayTexts } from './texts.ts';

/** The key of a row, by which a page recognizes it. */
export function keyOfActivity({ keys }: Pick<Context, 'keys'>, { id, transfer }: Activity): string {
  // Ids of events are public.
  return transfer ? `t${keys.publicIds.of(id)}` : `e${id}`;
}

export type ActivityRow = {
  readonly key: string;
  readonly row: Markup;
  /** One sentence, for the live region. */
  readonly text: string;
};

type RowOptions = {
  readonly ctx: Context;
  readonly store: Store;
  readonly language: PageLanguage;
  readonly basePath: string;
};

export function activityRows(
  { ctx, store, language, basePath }: RowOptions,
  { activities, actors, takenBack }: RecentActivity,
): readonly ActivityRow[] {
  const text = todayTexts[language];
  const today = dayOf(ctx.clock.now(), store.timeZone);
  return activities.map((activity) => {
    const { transfer, at, lastCharacters, person, cardId } = activity;
    const what = text.kinds[takenBack.get(activity.id) ?? kindOf(activity)];
    const isOfToday = dayOf(at, store.timeZone) === today;
    const time = timeElement(
      at,
      store,
      language,
      isOfToday ? { timeStyle: 'short' } : { day: 'numeric', month: 'short' },
    );
    const amount = transfer ? signedText({ minor: transfer.effect, currency: store.currency }, language) : '';
    const who = transfer ? actorName(transfer.actor, actors, language) : '';
    const about = aboutOf(activity, language) ?? person ?? undefined;
    const card = fillPlain(text.cardEnding, { characters: lastCharacters });
    const key = keyOfActivity(ctx, activity);
    const details = about === undefined ? undefined : markup`<br><span class="small soft">${about}</span>`;
    return {
      key,
      row: markup`<tr data-key="${key}"><td class="soft nowrap">${time}</td><td><a class="whole" href="${basePath}/cards/${String(ctx.keys.publicIds.of(cardId))}">${what}<span class="sr">, ${card}</span></a>${details}</td><td class="code nowrap" aria-hidden="true">•••• ${lastCharacters}</td><td class="soft small">${who}</td><td class="sum nowrap">${amount}</td></tr>
`,
      text: [what, amount, card].filter((part) => part !== '').join(', '),
    };
  });
}

type Kind = keyof (typeof todayTexts)['en']['kinds'];

function kindOf({ transfer }: Activity): Kind {
  if (!transfer) return 'emailFailed';
  switch (transfer.kind) {
    case 'issue':
      return 'sold';
    case 'debit':
    case 'capture':
      if (transfer.orderId !== null) return 'redeemedOnline';
      return transfer.actor.startsWith('staff:') ? 'redeemedTill' : 'redeemed';
    case 'reversal':
      return transfer.effect > 0n ? 'refunded' : 'takenBack';
    case 'credit':
    case 'top_up':
      return 'added';
    case 'adjustment':
      return 'adjusted';
  }
}

/** The order or reference of a movement. */
function aboutOf({ transfer }: Activity, language: PageLanguage): Markup | string | undefined {
  if (transfer === null) return undefined;
  const { orderId, reference } = transfer;
  if (orderId !== null) return fill(todayTexts[language].order, { id: String(orderId) });
  return reference ?? undefined;
}
