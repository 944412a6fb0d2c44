/** The liability to the holders of cards at the end of a day. */

import { momentOfDay } from '../domain/report-days.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { readLiability, type LiabilityReport } from '../service/reports.ts';
import { findMonthEnds } from '../service/month-ends.ts';
import { monthsChart } from './chart.ts';
import { amountText, dayText, figure } from '../../../pages/kit/format.ts';
import { amountsOf, countText, momentText, routesOfReport, tablePanel, type ReportContext } from './page.ts';
import { askedDay } from './period.ts';
import { reportTexts } from './texts.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';

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
        : monthsChart(
            ends,
            {
              day,
              outstanding,
              name: shownDay,
              trustedUntil: await context.findTrustedUntil(),
              title: text.chartTitle,
            },
            store,
            language,
          );
    return markup`<section class="panel stack" aria-labelledby="outstanding"><h2 id="outstanding">${text.columns.outstanding}</h2>
<p>${figure({ minor: outstanding, currency: store.currency }, language)}</p><p class="soft small">${momentText(context, day)}</p>
<p class="soft small">${text.contractLiability}</p>${vatNote(context, made)}
${chart}</section>
<div class="grid two">${partsPanel(context, made)}
${causesPanel(context, made)}</div>
${netPanel(context, made)}`;
  },
});

/** The VAT in the balances that was due at the sale; undefined: none was. */
function vatNote(
  { language, store: { currency } }: ReportContext,
  made: LiabilityReport,
): Markup | undefined {
  const { outstanding_vat: tax, outstanding_net: net } = made;
  if (tax === 0n) return undefined;
  const shown = (minor: bigint): string => amountText({ minor, currency }, language);
  return markup`<p class="soft small">${fillPlain(reportTexts[language].vatPart, { tax: shown(tax), net: shown(net) })}</p>`;
}

function firstCard({ language, basePath, request }: ReportContext): Markup {
  const text = reportTexts[language];
  const action = isPermitted(request.signedIn.member, 'useTill')
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
  const suspended =
    made.cards_suspended === 0
      ? undefined
      : plural(language, text.suspendedPart, made.cards_suspended, {
          amount: amountText({ minor: made.suspended, currency: store.currency }, language),
        });
  return tablePanel(
    {
      id: 'parts',
      heading: text.parts,
      note: [fillPlain(text.amountsIn, { currency: store.currency.code }), suspended]
        .filter((part) => part !== undefined)
        .join(' '),
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

/** The balances with and without the VAT that was due at the sale; undefined: none was. */
function netPanel(context: ReportContext, made: LiabilityReport): Markup | undefined {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  if (made.outstanding_vat === 0n) return undefined;
  const row = (name: string, gross: bigint, net: bigint) => ({
    name,
    cells: [amount(gross), amount(gross - net), amount(net)],
  });
  return tablePanel(
    {
      id: 'net',
      heading: text.contractHeading,
      note: `${fillPlain(text.amountsIn, { currency: store.currency.code })} ${text.withHolds}`,
      columns: [
        { name: columns.state },
        { name: columns.gross, isSum: true },
        { name: columns.vat, isSum: true },
        { name: columns.net, isSum: true },
      ],
      rows: [
        row(columns.active, made.available + made.on_hold, made.active_net),
        row(columns.expired, made.expired, made.expired_net),
        row(columns.disabled, made.disabled, made.disabled_net),
      ],
      total: row(columns.outstanding, made.outstanding, made.outstanding_net),
    },
    text.none,
  );
}

/** Returns the causes of the liability since the first card. */
function causesPanel(context: ReportContext, made: LiabilityReport): Markup {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  return tablePanel(
    {
      id: 'causes',
      heading: text.causes,
      note: `${text.sinceFirst}. ${text.undoneInBoth}`,
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
