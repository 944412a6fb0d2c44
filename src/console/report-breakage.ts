/** The balances of expired cards by month. */

import type { ReportDays } from '../domain/report-days.ts';
import { markup } from '../markup.ts';
import { readBreakage, type BreakageReport } from '../service/reports.ts';
import { figure, monthText } from './format.ts';
import {
  amountsOf,
  countText,
  momentText,
  periodPath,
  periodText,
  routesOfReport,
  tablePanel,
} from './report-page.ts';
import { askedDays, lastTwelveMonths, periodLinks } from './report-period.ts';
import { reportTexts } from './report-texts.ts';
import { fillPlain } from './texts.ts';

export const breakageRoutes = routesOfReport<ReportDays, BreakageReport>({
  name: 'breakage',
  ask: ({ request, today, language }) =>
    askedDays(request.query, { today, language, usual: lastTwelveMonths(today) }),
  search: ({ from, to }) => ({ from, to }),
  read: ({ source }, days) => readBreakage(source, days),
  file: ({ rows }, { from, to }) => ({ rows, about: `${from}-${to}` }),
  links: (context, current) =>
    periodLinks((days) => periodPath(context, 'breakage', days), { ...context, current }),
  show(context, { rows, summary }, days) {
    const { language, store } = context;
    const { columns, ...text } = reportTexts[language];
    const amount = amountsOf(context);
    const names = ['opening', 'expired', 'restored', 'disabled', 'adjusted', 'closing'] as const;
    return markup`<section class="panel stack" aria-labelledby="expired"><h2 id="expired">${text.titles.breakage}</h2>
<p>${figure({ minor: summary.closing, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, days.to)}</p>
<p class="soft">${text.breakageNote}</p></section>
${tablePanel(
  {
    id: 'months',
    heading: periodText(days, language),
    note: fillPlain(text.amountsIn, { currency: store.currency.code }),
    columns: [
      { name: columns.month },
      ...names.map((name) => ({ name: columns[name], isSum: true })),
      { name: columns.cards, isSum: true },
    ],
    rows: rows.map((row) => ({
      name: monthText(row.month, language),
      cells: [...names.map((name) => amount(row[name])), countText(row.cards, language)],
    })),
  },
  text.none,
)}`;
  },
});
