/** The liability by the month in which the cards were issued. */

import { momentOfDay } from '../domain/report-days.ts';
import { markup } from '../../../platform/markup.ts';
import { readAging, type AgingReport } from '../service/reports.ts';
import { amountText, figure, monthText } from '../../../pages/kit/format.ts';
import { amountsOf, countText, momentText, routesOfReport, tablePanel, type ReportContext } from './page.ts';
import { askedDay } from './period.ts';
import { reportTexts } from './texts.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

export const agingRoutes = routesOfReport<string, AgingReport>({
  name: 'aging',
  ask: ({ request, today, language }) => askedDay(request.query, { today, language }),
  search: (day) => ({ as_of: day }),
  read: ({ source }, day) => readAging(source, momentOfDay(day, source.store, source.now)),
  file: ({ rows, summary }) => ({ rows, about: summary.as_of }),
  show(context, { rows, summary }, day) {
    const { language, store } = context;
    const text = reportTexts[language];
    return markup`<section class="panel" aria-labelledby="outstanding"><h2 id="outstanding">${text.columns.outstanding}</h2>
<p>${figure({ minor: summary.outstanding, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, day)}</p></section>
${monthsPanel(context, { rows, summary })}
${cohortsPanel(context, { rows, summary })}`;
  },
});

function monthsPanel(context: ReportContext, { rows, summary }: AgingReport) {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const total = (name: 'active' | 'expired' | 'disabled'): string =>
    amount(rows.reduce((sum, row) => sum + row[name], 0n));
  const cards = rows.reduce((sum, row) => sum + row.cards, 0);
  return tablePanel(
    {
      id: 'months',
      heading: text.byMonth,
      note: `${fillPlain(text.amountsIn, { currency: store.currency.code })} ${text.withHolds}`,
      columns: [
        { name: columns.issuedIn, isTime: true },
        { name: columns.cards, isSum: true },
        { name: columns.active, isSum: true },
        { name: columns.expired, isSum: true },
        { name: columns.disabled, isSum: true },
        { name: columns.outstanding, isSum: true },
      ],
      rows: rows.map((row) => ({
        name: monthText(row.issued, language),
        cells: [
          countText(row.cards, language),
          amount(row.active),
          amount(row.expired),
          amount(row.disabled),
          amount(row.outstanding),
        ],
      })),
      total: {
        name: columns.total,
        cells: [
          countText(cards, language),
          total('active'),
          total('expired'),
          total('disabled'),
          amountText({ minor: summary.outstanding, currency: store.currency }, language),
        ],
      },
    },
    text.noCards,
  );
}

/** The amounts that were sold and redeemed until the day, by the month of issue. */
function cohortsPanel(context: ReportContext, { rows, summary }: AgingReport) {
  const { language } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const hasVat = summary.outstanding_vat !== 0n;
  const shown = [
    { member: 'issued_to_date', name: columns.issuedToDate },
    { member: 'redeemed_to_date', name: columns.redeemedToDate },
    { member: 'adjusted_to_date', name: columns.adjusted },
    { member: 'outstanding', name: columns.outstanding },
    ...(hasVat ? [{ member: 'outstanding_net', name: columns.net } as const] : []),
  ] as const;
  return tablePanel(
    {
      id: 'cohorts',
      heading: text.cohortsHeading,
      note: text.cohorts,
      columns: [{ name: columns.issuedIn }, ...shown.map(({ name }) => ({ name, isSum: true }))],
      rows: rows.map((row) => ({
        name: monthText(row.issued, language),
        cells: shown.map(({ member }) => amount(row[member])),
      })),
      total: {
        name: columns.total,
        cells: shown.map(({ member }) => amount(rows.reduce((sum, row) => sum + row[member], 0n))),
      },
    },
    text.noCards,
  );
}
