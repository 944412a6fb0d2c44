/** What the store owes by the month in which the cards were issued. */

import { momentOfDay } from '../domain/report-days.ts';
import { markup } from '../markup.ts';
import { readAging, type AgingReport } from '../service/reports.ts';
import { amountText, figure, monthText } from './format.ts';
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
${monthsPanel(context, { rows, summary })}`;
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
        { name: columns.issuedIn },
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
