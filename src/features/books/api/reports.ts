/** Reports from the books: the liability, the journal, ages, activity and breakage. */

import Type from 'typebox';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import {
  activityGroups,
  readActivity,
  readAging,
  readBreakage,
  readLiability,
  type ActivityGroup,
  journalSplits,
  readJournal,
} from '../service/reports.ts';
import { withAmounts } from '../service/report-file.ts';
import { field, required } from '../../../api/field.ts';
import { locationFilter } from '../../../core/cards/api/list-fields.ts';
import {
  activitySchema,
  agingSchema,
  breakageSchema,
  journalSchema,
  liabilitySchema,
} from './report-schemas.ts';
import { assertRange, daysOfReport, report, reportMoment } from './report.ts';

const liabilityExample = {
  as_of: '2026-06-30',
  currency: 'USD',
  issued: '1000.00',
  topped_up: '50.00',
  redeemed: '420.00',
  refunded: '20.00',
  adjusted: '-5.00',
  outstanding: '645.00',
  outstanding_vat: '0.00',
  outstanding_net: '645.00',
  available: '585.00',
  on_hold: '10.00',
  suspended: '25.00',
  expired: '40.00',
  disabled: '10.00',
  active_net: '595.00',
  expired_net: '40.00',
  disabled_net: '10.00',
  cards: 40,
  cards_active: 36,
  cards_suspended: 1,
  cards_expired: 3,
  cards_disabled: 1,
};

export const reportLiability = report({
  id: 'reportLiability',
  path: '/reports/liability',
  summary: 'Report the liability',
  description:
    'Returns what the store owes to the holders of its cards at a moment: `outstanding` is `issued` + `topped_up` − `redeemed` + `refunded` + `adjusted`, and also `available` + `on_hold` + `expired` + `disabled`. A suspended card is in `available` and `on_hold`. The reversal of a top-up lowers `topped_up`, and a cancelled sale `issued`; the reversal of a redemption is `refunded`, also if it undid a redemption at the till, which stays in `redeemed`. These amounts include VAT. `outstanding_net` is the contract liability (deferred revenue): it does not include VAT that was due at the sale of single-purpose cards.',
  query: { as_of: reportMoment },
  member: 'liability',
  schema: liabilitySchema,
  example: liabilityExample,
  exampleRow: liabilityExample,
  responseDescription: 'The liability.',
  async run(source, { as_of: asked }) {
    const made = await readLiability(source, asked);
    return { report: withAmounts(source.store, made), rows: [made], about: made.as_of };
  },
});

const issueLine = {
  day: '2026-06-01',
  kind: 'issue',
  debit: '0.00',
  credit: '0.00',
  vat_kind: 'single_purpose',
  vat_rate: '19',
  vat_due: null,
  net_amount: '100.00',
  vat_amount: '19.00',
  gross_amount: '119.00',
  location_id: null,
  location: null,
} as const;

const lineExamples = [
  { ...issueLine, account: 'sales', debit: '119.00', vat_due: 'at_sale' },
  { ...issueLine, account: 'liability_active', credit: '100.00' },
  { ...issueLine, account: 'vat_payable', credit: '19.00' },
] as const;

/** A field that names one of some texts. */
function choice<const Name extends string>(names: readonly Name[], description: string) {
  return field<Name>(Type.Enum([...names], { description }), (value): Parsed<Name> => {
    const known = names.find((name) => name === value);
    return known === undefined ? rejected(`must be ${names.join(', ')}`) : accepted(known);
  });
}

const split = choice(journalSplits, 'Splits the lines by location; absent: those of all are together.');

export const reportJournal = report({
  id: 'reportJournal',
  path: '/reports/journal',
  summary: 'Report the journal',
  description:
    'Returns double-entry lines of each day. The debits of a day equal its credits, and the credits less the debits of the liability accounts are the change of the liability. `largesse store update --account` sets the names of the accounts. `sales`, `top_ups` and `redemptions` are clearing accounts: the till or checkout makes the other entry, `sales` and `top_ups` against the payment and `redemptions` against revenue. The sale or top-up of a single-purpose card credits its VAT to `vat_payable`, and only the reversal of a sale or top-up takes it back; the other lines of such cards are without VAT. Moves between states within a day are netted. With `by=location` the lines of each location are apart, as of a cost center: the debits of a location equal its credits on each day, and moves between states have no location.',
  query: { ...daysOfReport, by: split },
  member: 'journal',
  schema: journalSchema,
  example: {
    from: '2026-06-01',
    to: '2026-06-30',
    currency: 'USD',
    opening: '0.00',
    change: '100.00',
    closing: '100.00',
    closing_gross: '119.00',
    debits: '119.00',
    credits: '119.00',
    lines: [...lineExamples],
  },
  exampleRow: lineExamples[0],
  responseDescription: 'The journal.',
  sample: { query: 'from=2026-06-01&to=2026-06-30' },
  async run(source, { by: asked, ...range }) {
    assertRange(range);
    const { store } = source;
    const { summary, rows } = await readJournal(source, { ...range, by: asked });
    const lines = rows.map((row) => withAmounts(store, row));
    return { report: { ...withAmounts(store, summary), lines }, rows, about: `${range.from}-${range.to}` };
  },
});

const agingExample = {
  issued: '2026-05',
  outstanding: '150.00',
  outstanding_vat: '0.00',
  outstanding_net: '150.00',
  active: '110.00',
  expired: '40.00',
  disabled: '0.00',
  active_net: '110.00',
  expired_net: '40.00',
  disabled_net: '0.00',
  issued_to_date: '600.00',
  issued_to_date_net: '600.00',
  redeemed_to_date: '445.00',
  redeemed_to_date_net: '445.00',
  adjusted_to_date: '-5.00',
  cards: 12,
  cards_active: 9,
  cards_expired: 3,
  cards_disabled: 0,
};

export const reportAging = report({
  id: 'reportAging',
  path: '/reports/aging',
  summary: 'Report the liability by age',
  description:
    'Returns what the store owes at a moment by the month in which the cards were issued. `active` includes amounts on hold. `issued_to_date` and `redeemed_to_date` are of the same cards: with them, breakage can be recognized in proportion to redemptions (ASC 606-10-55-46, IFRS 15 B44 to B47).',
  query: { as_of: reportMoment },
  member: 'aging',
  schema: agingSchema,
  example: {
    as_of: '2026-06-30',
    currency: 'USD',
    outstanding: '150.00',
    outstanding_vat: '0.00',
    outstanding_net: '150.00',
    months: [agingExample],
  },
  exampleRow: agingExample,
  responseDescription: 'The liability by the month of issue.',
  async run(source, { as_of: asked }) {
    const { store } = source;
    const { summary, rows } = await readAging(source, asked);
    const months = rows.map((row) => withAmounts(store, row));
    return { report: { ...withAmounts(store, summary), months }, rows, about: summary.as_of };
  },
});

const by = required(
  choice<ActivityGroup>(
    activityGroups,
    'The rows are days, months, or the actors or the locations of the transactions.',
  ),
);

const locations = locationFilter('Only transactions at this location');

const activityExample = {
  group: '2026-06-01',
  transactions: 14,
  issued: '200.00',
  topped_up: '0.00',
  redeemed: '60.00',
  refunded: '5.00',
  adjusted: '0.00',
  change: '145.00',
  location: null,
};

export const reportActivity = report({
  id: 'reportActivity',
  path: '/reports/activity',
  summary: 'Report the activity',
  description:
    'Returns the transactions of a period by day, month, actor or location. Days and months without transactions have no row. The rows of all locations, with the one of no location, add up to the report that is not split.',
  query: { by, ...daysOfReport, location_id: locations },
  member: 'activity',
  schema: activitySchema,
  example: { by: 'day', from: '2026-06-01', to: '2026-06-30', currency: 'USD', rows: [activityExample] },
  exampleRow: activityExample,
  responseDescription: 'The activity.',
  sample: { query: 'by=day&from=2026-06-01&to=2026-06-30' },
  async run(source, { location_id: asked, ...query }) {
    assertRange(query);
    const { store } = source;
    const { summary, rows } = await readActivity(source, { ...query, locations: asked });
    const shown = rows.map((row) => withAmounts(store, row));
    return {
      report: { ...withAmounts(store, summary), rows: shown },
      rows,
      about: `${query.from}-${query.to}`,
    };
  },
});

const breakageExample = {
  month: '2026-06',
  opening: '30.00',
  expired: '25.00',
  restored: '10.00',
  disabled: '0.00',
  adjusted: '-5.00',
  closing: '40.00',
  expired_net: '25.00',
  closing_net: '40.00',
  cards: 3,
};

export const reportBreakage = report({
  id: 'reportBreakage',
  path: '/reports/breakage',
  summary: 'Report expired balances',
  description:
    'Returns the balances of expired cards by month: `closing` is `opening` + `expired` − `restored` − `disabled` + `adjusted`. `restored` is the balance of cards that were given a later expiry, `adjusted` the net of the transactions of expired cards. The amounts are expired balances and not revenue. They stay a contract liability (deferred revenue) in these books: the law decides whether and when the store can keep them (escheat, limitation, consumer law), and the store’s accountant decides what to post.',
  query: daysOfReport,
  member: 'breakage',
  schema: breakageSchema,
  example: {
    from: '2026-06-01',
    to: '2026-06-30',
    currency: 'USD',
    opening: '30.00',
    closing: '40.00',
    closing_net: '40.00',
    months: [breakageExample],
  },
  exampleRow: breakageExample,
  responseDescription: 'The expired balances.',
  sample: { query: 'from=2026-06-01&to=2026-06-30' },
  async run(source, range) {
    assertRange(range);
    const { store } = source;
    const { summary, rows } = await readBreakage(source, range);
    const months = rows.map((row) => withAmounts(store, row));
    return { report: { ...withAmounts(store, summary), months }, rows, about: `${range.from}-${range.to}` };
  },
});
