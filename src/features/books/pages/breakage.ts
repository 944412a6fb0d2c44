/** The balances of expired cards by month. */

import type { ReportDays } from '../domain/report-days.ts';
import { markup } from '../../../platform/markup.ts';
import { readBreakage, type BreakageReport } from '../service/reports.ts';
import { amountText, figure, monthText } from '../../../pages/kit/format.ts';
import {
  amountsOf,
  countText,
  momentText,
  periodPath,
  periodText,
  routesOfReport,
  tablePanel,
} from './page.ts';
import { askedDays, lastTwelveMonths, periodLinks } from './period.ts';
import { reportTexts } from './texts.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

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
    const { closing, closing_net: withoutVat } = summary;
    const net =
      closing === withoutVat
        ? undefined
        : markup`<p>${fillPlain(text.withoutVat, { amount: amountText({ minor: withoutVat, currency: store.currency }, language) })}</p>
`;
    return markup`<section class="panel stack" aria-labelledby="expired"><h2 id="expired">${text.titles.breakage}</h2>
<p>${figure({ minor: summary.closing, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, days.to)}</p>
${net}<p class="soft">${text.breakageNote}</p></section>
${tablePanel(
  {
    id: 'months',
    heading: periodText(days, language),
    note: fillPlain(text.amountsIn, { currency: store.currency.code }),
    columns: [
      { name: columns.month, isTime: true },
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
