/** What the store owes to the holders of its cards at the end of a day. */

import { momentOfDay } from '../domain/report-days.ts';
import { isPermitted } from '../domain/staff.ts';
import { markup, type Markup } from '../markup.ts';
import { readLiability, type LiabilityReport } from '../service/reports.ts';
import { findMonthEnds } from '../service/today.ts';
import { monthsChart } from './chart.ts';
import { amountText, dayText, figure } from './format.ts';
import {
  amountsOf,
  countText,
  momentText,
  routesOfReport,
  tablePanel,
  type ReportContext,
} from './report-page.ts';
import { askedDay } from './report-period.ts';
import { reportTexts } from './report-texts.ts';
import { fillPlain } from './texts.ts';

export const liabilityRoutes = routesOfReport<string, LiabilityReport>({
  name: 'liability',
  ask: ({ request, today, language }) => askedDay(request.query, { today, language }),
  search: (day) => ({ as_of: day }),
  read: ({ source }, day) => readLiability(source, momentOfDay(day, source.store, source.now)),
  file: (made) => ({ rows: [made], about: made.as_of }),
  async show(context, made, day) {
    const { source, store, language } = context;
    const text = reportTexts[language];
    const ends = await source.storage.read(() => findMonthEnds(store));
    const shownDay = dayText(day, language);
    const { outstanding } = made;
    const chart =
      made.cards === 0
        ? firstCard(context)
        : monthsChart(ends, { day, outstanding, name: shownDay, title: text.chartTitle }, store, language);
    return markup`<section class="panel" aria-labelledby="outstanding"><h2 id="outstanding">${text.columns.outstanding}</h2>
<p>${figure({ minor: outstanding, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, day)}</p>
${chart}</section>
<div class="grid two">${partsPanel(context, made)}
${causesPanel(context, made)}</div>`;
  },
});

function firstCard({ language, basePath, request }: ReportContext): Markup {
  const text = reportTexts[language];
  const action = isPermitted(request.signedIn.member.role, 'useTill')
    ? markup`<p><a class="button" href="${basePath}/cards/new">${text.issueCard}</a></p>`
    : undefined;
  return markup`<p class="soft">${text.noCards}</p>${action}`;
}

/** The parts of the liability, by the state of the cards. */
function partsPanel(context: ReportContext, made: LiabilityReport): Markup {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const count = (cards: number): string => countText(cards, language);
  return tablePanel(
    {
      id: 'parts',
      heading: text.parts,
      note: fillPlain(text.amountsIn, { currency: store.currency.code }),
      columns: [
        { name: columns.state },
        { name: columns.cards, isSum: true },
        { name: columns.amount, isSum: true },
      ],
      rows: [
        { name: columns.available, cells: [count(made.cards_active), amount(made.available)] },
        { name: columns.on_hold, cells: ['', amount(made.on_hold)] },
        { name: columns.expired, cells: [count(made.cards_expired), amount(made.expired)] },
        { name: columns.disabled, cells: [count(made.cards_disabled), amount(made.disabled)] },
      ],
      total: {
        name: columns.outstanding,
        cells: [
          count(made.cards),
          amountText({ minor: made.outstanding, currency: store.currency }, language),
        ],
      },
    },
    text.none,
  );
}

/** What has raised and lowered the liability since the first card. */
function causesPanel(context: ReportContext, made: LiabilityReport): Markup {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  return tablePanel(
    {
      id: 'causes',
      heading: text.causes,
      note: text.sinceFirst,
      columns: [{ name: columns.cause }, { name: columns.amount, isSum: true }],
      rows: [
        { name: columns.issued, cells: [amount(made.issued)] },
        { name: columns.topped_up, cells: [amount(made.topped_up)] },
        { name: columns.redeemed, cells: [amount(-made.redeemed)] },
        { name: columns.refunded, cells: [amount(made.refunded)] },
        { name: columns.adjusted, cells: [amount(made.adjusted)] },
      ],
      total: {
        name: columns.outstanding,
        cells: [amountText({ minor: made.outstanding, currency: store.currency }, language)],
      },
    },
    text.none,
  );
}
