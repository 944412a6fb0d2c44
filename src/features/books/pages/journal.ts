/** The journal: double-entry lines of a period, and the balances of its accounts before and after. */

import { monthlyLinesOf, type JournalLine } from '../domain/reports.ts';
import { addDays } from '../../../core/domain/day.ts';
import type { JournalAccount } from '../../../core/stores/domain/store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readJournal, type JournalQuery, type JournalReport } from '../service/reports.ts';
import { select } from '../../../pages/kit/form.ts';
import { amountText, dayText, figure, monthText } from '../../../pages/kit/format.ts';
import {
  amountsOf,
  momentText,
  periodPath,
  periodText,
  routesOfReport,
  tablePanel,
  type ReportContext,
} from './page.ts';
import { journalExports, programsPanel } from './journal-programs.ts';
import { askedDays, periodLinks, usualPeriods } from './period.ts';
import { reportTexts } from './texts.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

/** A longer period has lines of months, so that the page stays short. */
const daysListed = 92;

/** Whether the lines are split; only a store with locations has the field. */
function splitIn({ request, locations }: ReportContext): { readonly by?: 'location' } {
  return locations.length > 0 && request.query.get('by') === 'location' ? { by: 'location' } : {};
}

export const journalRoutes = routesOfReport<JournalQuery, JournalReport>({
  name: 'journal',
  ask(context) {
    const { request, today, language } = context;
    const text = reportTexts[language];
    const asked = askedDays(request.query, { today, language, usual: usualPeriods.lastMonth(today) });
    const split = splitIn(context);
    const options = [
      { value: '', text: text.locationsTogether },
      { value: 'location', text: text.groups.location },
    ];
    const field =
      context.locations.length === 0
        ? undefined
        : select({ name: 'by', label: text.fields.by, options, value: split.by ?? '' });
    const locations = request.signedIn.member.locationIds ?? undefined;
    return {
      query: asked.query && { ...asked.query, ...split, locations },
      fields: markup`${asked.fields}${field}`,
    };
  },
  search: ({ from, to, by }) => ({ from, to, ...(by !== undefined && { by }) }),
  read: ({ source }, days) => readJournal(source, days),
  file: ({ rows }, { from, to }) => ({ rows, about: `${from}-${to}` }),
  links: (context, current) =>
    periodLinks((days) => periodPath(context, 'journal', { ...splitIn(context), ...days }), {
      ...context,
      current,
    }),
  exports: journalExports,
  show: (context, journal, query) =>
    query.locations
      ? linesPanel(context, journal, query)
      : markup`${liabilityPanel(context, journal)}
${accountsPanel(context, journal)}
${query.by === undefined ? programsPanel(context, journal) : undefined}
${linesPanel(context, journal, query)}`,
});

/** Returns the liability before and after the period. */
function liabilityPanel(context: ReportContext, { summary }: JournalReport): Markup {
  const { store, language } = context;
  const text = reportTexts[language];
  const { from, to, opening, change, closing, closing_gross: gross, debits, credits } = summary;
  const amount = (minor: bigint): string => amountText({ minor, currency: store.currency }, language);
  const state =
    debits === credits
      ? markup`<p class="notice good">${fillPlain(text.balanced, { amount: amount(debits) })}</p>`
      : undefined;
  const vat =
    gross === closing
      ? undefined
      : markup`<p class="soft small">${fillPlain(text.vatPart, { tax: amount(gross - closing), net: amount(closing) })}</p>`;
  return markup`<section class="panel stack" aria-labelledby="liability"><h2 id="liability">${text.titles.liability}</h2>
<p>${figure({ minor: closing, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, to)}</p>
<dl class="facts"><dt>${fillPlain(text.openingOn, { day: dayText(from, language) })}</dt><dd class="sum">${amount(opening)}</dd><dt>${text.columns.change}</dt><dd class="sum">${amount(change)}</dd><dt>${text.columns.closing}</dt><dd class="sum">${amount(closing)}</dd></dl>
${state}<p class="soft small">${text.contractLiability}</p>${vat}
<p class="soft small">${text.clearing}</p>
<p class="soft small">${text.netted}</p></section>`;
}

/** The name of an account, with the one that the store gave it. */
function accountName({ store, language }: ReportContext, account: JournalAccount): MarkupPart {
  const own = store.accountNames[account];
  const name = reportTexts[language].accounts[account];
  return own === undefined ? name : markup`<span class="soft mono">${own}</span> ${name}`;
}

/** The balances of the accounts. The side of a balance is written after it. */
function accountsPanel(context: ReportContext, { accounts, summary }: JournalReport): Markup {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const balance = (minor: bigint): MarkupPart => {
    if (minor === 0n) return amount(0n);
    const side = minor > 0n ? 'credit' : 'debit';
    return markup`${amount(minor < 0n ? -minor : minor)} <abbr class="soft" title="${columns[side]}">${text.sides[side]}</abbr>`;
  };
  const moved = (minor: bigint): string => (minor === 0n ? '' : amount(minor));
  const rows = accounts.map(({ account, opening, debit, credit, closing }) => ({
    name: accountName(context, account),
    cells: [balance(opening), moved(debit), moved(credit), balance(closing)],
  }));
  return tablePanel(
    {
      id: 'accounts',
      heading: text.balances,
      note: fillPlain(text.amountsIn, { currency: store.currency.code }),
      columns: [
        { name: columns.account },
        { name: columns.opening, isSum: true },
        { name: columns.debit, isSum: true },
        { name: columns.credit, isSum: true },
        { name: columns.closing, isSum: true },
      ],
      rows,
      total: { name: columns.total, cells: ['', amount(summary.debits), amount(summary.credits), ''] },
    },
    text.none,
  );
}

/** The tax of a line. */
function vatText({ vatDue, vatRate, tax }: JournalLine, context: ReportContext): string {
  const text = reportTexts[context.language];
  if (vatDue === 'at_redemption') return text.vatAtRedemption;
  if (vatDue === null || vatRate === null || tax === null) return '';
  const rate = new Intl.NumberFormat(context.language, { maximumFractionDigits: 3 }).format(
    vatRate as `${number}`,
  );
  return fillPlain(text.vatAtSale, { rate, amount: amountsOf(context)(tax) });
}

function linesPanel(context: ReportContext, { lines, summary }: JournalReport, query: JournalQuery): Markup {
  const { language } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const isMonthly = query.to > addDays(query.from, daysListed - 1);
  const isSplit = query.by === 'location';
  const names = new Map(context.locations.map(({ id, name }) => [id, name]));
  const shown = isMonthly ? monthlyLinesOf(lines) : lines;
  const hasVat = lines.some(({ vatDue }) => vatDue !== null);
  const side = (minor: bigint): string => (minor === 0n ? '' : amount(minor));
  const rows = shown.map((line) => ({
    name: markup`<span class="nowrap">${isMonthly ? monthText(line.day, language) : dayText(line.day, language)}</span>`,
    cells: [
      text.kinds[line.kind],
      ...(isSplit ? [line.locationId === null ? '' : (names.get(line.locationId) ?? '')] : []),
      accountName(context, line.account),
      ...(hasVat ? [vatText(line, context)] : []),
      side(line.debit),
      side(line.credit),
    ],
  }));
  return tablePanel(
    {
      id: 'lines',
      heading: `${text.titles.journal}, ${periodText(query, language)}`,
      note: isMonthly ? text.monthly : text.daily,
      columns: [
        { name: isMonthly ? columns.month : columns.day, isTime: true },
        { name: columns.kind },
        ...(isSplit ? [{ name: text.groups.location }] : []),
        { name: columns.account },
        ...(hasVat ? [{ name: columns.vat }] : []),
        { name: columns.debit, isSum: true },
        { name: columns.credit, isSum: true },
      ],
      rows,
      total: {
        name: columns.total,
        cells: [
          '',
          '',
          ...(isSplit ? [''] : []),
          ...(hasVat ? [''] : []),
          amount(summary.debits),
          amount(summary.credits),
        ],
      },
    },
    text.none,
  );
}
