/** The page of a batch as a campaign: figures about its cards and emails, each with its list, and the next steps. */

import type { Batch } from '../domain/batch.ts';
import type { EmailState } from '../../../core/emails/domain/email.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readCampaignFigures, type CampaignFigures } from '../service/campaign.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { fillPlain, plural, type Texts } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Step = {
  readonly name: string;
  readonly count: number;
  /** The list of these cards or emails; undefined: there is none. */
  readonly path?: string;
  /** After the number. */
  readonly more?: string;
  readonly isBad?: boolean;
};

/** The number of cards whose newest email is in one of some states. */
function cardsIn({ emails }: CampaignFigures, ...states: readonly EmailState[]): number {
  return states.reduce((sum, state) => sum + (emails.get(state) ?? 0), 0);
}

/** The steps in the order in which a card passes through them. Those without cards are shown only if they can be expected. */
function stepsOf(page: Page, batch: Batch, figures: CampaignFigures): readonly Step[] {
  const text: Texts['batches']['campaign'] = page.text.batches.campaign;
  const cards = (query: string): string => `/cards?batch_id=${batch.id}&${query}`;
  const byEmail = (state: 'scheduled' | 'sent' | 'kept' | 'bounced' | 'dead' | 'cancelled') => ({
    name: text.steps[state],
    count: cardsIn(figures, state),
    path: cards(`email_status=${state}`),
  });
  const waiting = {
    name: text.steps.waiting,
    count: cardsIn(figures, 'queued', 'deferred'),
    path: `/emails?batch=${batch.id}&state=waiting&kind=gift_card`,
  };
  const isEmailed = figures.emails.size > 0;
  const undelivered = [byEmail('bounced'), byEmail('dead')].map((step) => ({ ...step, isBad: true }));
  const emails: readonly Step[] = [
    byEmail('scheduled'),
    waiting,
    byEmail('kept'),
    ...undelivered,
    byEmail('cancelled'),
  ];
  const { redeemed, redeemedTotal, viewed } = figures;
  const money = redeemed > 0 ? { more: page.amount(redeemedTotal) } : {};
  return [
    ...(isEmailed ? [byEmail('sent'), ...emails.filter(({ count }) => count > 0)] : []),
    { name: text.steps.viewed, count: viewed, path: cards('viewed=yes') },
    { name: text.steps.redeemed, count: redeemed, path: cards('redeemed=yes'), ...money },
  ];
}

function stepRow(page: Page, { issued }: Batch, { name, count, path, more, isBad }: Step): Markup {
  const width = issued === 0 ? 0 : Math.round((count * 1_000) / issued) / 10;
  const number = new Intl.NumberFormat(page.language).format(count);
  const figure: MarkupPart = more === undefined ? number : `${number} · ${more}`;
  const shown =
    path !== undefined && count > 0 ? markup`<a href="${page.basePath}${path}">${figure}</a>` : figure;
  const bad = isBad === true ? markup` class="bad"` : undefined;
  return markup`<dt>${name}</dt><dd${bad}><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="4"/></svg></dd><dd>${shown}</dd>
`;
}

const icons = {
  correct: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><rect x="3" y="5" width="18" height="14" rx="2"/><path d="m4 7 8 6 8-6"/></svg>`,
  unsent: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/></svg>`,
  list: markup`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 3h8l5 5v13H6zM14 3v5h5M9 13h7M9 17h7"/></svg>`,
} as const;

function action(page: Page, path: string, icon: Markup, title: string, hint: string): Markup {
  return markup`<li><a href="${page.basePath}${path}">${icon}<span><strong>${title}</strong> <span class="soft">${hint}</span></span></a></li>
`;
}

function actionsOf(page: Page, batch: Batch, figures: CampaignFigures): readonly Markup[] {
  const { actions: text } = page.text.batches.campaign;
  const own = `/cards/batches/${batch.id}`;
  const failed = cardsIn(figures, 'bounced', 'dead');
  const unsent = cardsIn(figures, 'scheduled', 'queued', 'deferred');
  const mayChange = batch.state === 'complete' && isPermitted(page.member, 'changeEmails');
  const changes = [
    ...(failed > 0
      ? [
          action(
            page,
            `${own}/undelivered`,
            icons.correct,
            plural(page.language, text.correct, failed),
            text.correctHint,
          ),
        ]
      : []),
    ...(unsent > 0
      ? [
          action(
            page,
            `${own}/unsent`,
            icons.unsent,
            plural(page.language, text.unsent, unsent),
            text.unsentHint,
          ),
        ]
      : []),
  ];
  const emails = action(page, `/emails?batch=${batch.id}`, icons.correct, text.emails, text.emailsHint);
  return [
    ...(mayChange ? changes : []),
    ...(figures.emails.size > 0 && isPermitted(page.member, 'readStore') ? [emails] : []),
    action(page, `/cards?batch_id=${batch.id}`, icons.list, text.cards, text.cardsHint),
  ];
}

/** The figures and the next steps; undefined: no card was issued yet. */
export async function campaignPanels(page: Page, batch: Batch): Promise<Markup | undefined> {
  if (batch.issued === 0) return undefined;
  const text = page.text.batches.campaign;
  const figures = await longReads(page.services).read(() => readCampaignFigures(batch));
  const steps = stepsOf(page, batch, figures).map((step) => stepRow(page, batch, step));
  const emailed = [...figures.emails.values()].reduce((sum, count) => sum + count, 0);
  const others = batch.issued - emailed;
  const notes = [
    ...(emailed > 0 && others > 0 ? [plural(page.language, text.notEmailed, others)] : []),
    ...(emailed > 0 ? [text.sentMeans] : []),
    text.viewedMeans,
  ];
  const of = fillPlain(text.of, { count: new Intl.NumberFormat(page.language).format(batch.issued) });
  return markup`<section class="panel stack" aria-labelledby="campaign"><h2 id="campaign">${text.title} <span class="soft small">${of}</span></h2>
<dl class="funnel">${steps}</dl>
<p class="small soft">${notes.join(' ')}</p></section>
<section class="panel flush" aria-label="${text.actions.title}"><ul class="rows">
${actionsOf(page, batch, figures)}</ul></section>`;
}
