/** Reports from the books: the liability, the journal, ages, activity and breakage. */

import Type from 'typebox';
import { inBuckets, type DaySum } from '../domain/books.ts';
import { cardStates } from '../domain/card.ts';
import { formatInstant } from '../domain/day.ts';
import { formatMoney } from '../domain/money.ts';
import { accepted, rejected, type Parsed } from '../domain/parsed.ts';
import {
  addMovement,
  agesOf,
  balancesOf,
  breakageOf,
  journalOf,
  noMovements,
  outstandingOf,
  type Balance,
  type Movements,
} from '../domain/reports.ts';
import type { Store } from '../domain/store.ts';
import { field, required } from './field.ts';
import {
  activityGroups,
  activitySchema,
  agingSchema,
  breakageSchema,
  journalSchema,
  liabilitySchema,
} from './report-schemas.ts';
import { reportMoment, assertRange, daysOfReport, report, type ReportMoment } from './report.ts';
import { readAgesUntil, readHeldAt, readSumsOfDays, readSumsUntil, type SumsSource } from './report-sums.ts';

function amountsOf(store: Store) {
  return (minor: bigint): string => formatMoney({ minor, currency: store.currency });
}

/** The moment of a report: what was requested, or now. */
function momentOf(
  { now }: SumsSource,
  asked: ReportMoment | undefined,
): { readonly until: number; readonly shown: string } {
  return asked ?? { until: now + 1, shown: formatInstant(now) };
}

function movementRecord(movements: Movements, show: (minor: bigint) => string) {
  return {
    issued: show(movements.issued),
    topped_up: show(movements.toppedUp),
    redeemed: show(movements.redeemed),
    refunded: show(movements.refunded),
    adjusted: show(movements.adjusted),
  };
}

function movementsOf(sums: readonly DaySum[]): Movements {
  const movements = noMovements();
  for (const sum of sums) addMovement(movements, sum);
  return movements;
}

const liabilityExample = {
  as_of: '2026-06-30',
  currency: 'USD',
  issued: '1000.00',
  topped_up: '50.00',
  redeemed: '420.00',
  refunded: '20.00',
  adjusted: '-5.00',
  outstanding: '645.00',
  available: '585.00',
  on_hold: '10.00',
  expired: '40.00',
  disabled: '10.00',
  cards: 40,
  cards_active: 36,
  cards_expired: 3,
  cards_disabled: 1,
};

export const reportLiability = report({
  id: 'reportLiability',
  path: '/reports/liability',
  summary: 'Report the liability',
  description:
    'Returns what the store owes to the holders of its cards at a moment: `outstanding` is `issued` + `topped_up` − `redeemed` + `refunded` + `adjusted`, and also `available` + `on_hold` + `expired` + `disabled`. The reversal of a top-up lowers `topped_up`; the reversal of a redemption is `refunded`.',
  query: { as_of: reportMoment },
  member: 'liability',
  schema: liabilitySchema,
  example: liabilityExample,
  exampleRow: liabilityExample,
  columns: Object.keys(liabilityExample),
  responseDescription: 'The liability.',
  async run(source, { as_of: asked }) {
    const moment = momentOf(source, asked);
    const sums = await readSumsUntil(source, moment.until);
    const held = await readHeldAt(source, moment.until - 1);
    const show = amountsOf(source.store);
    const movements = movementsOf(sums);
    const { active, expired, disabled } = balancesOf(sums);
    const made = {
      as_of: moment.shown,
      currency: source.store.currency.code,
      ...movementRecord(movements, show),
      outstanding: show(outstandingOf(movements)),
      available: show(active.amount - held),
      on_hold: show(held),
      expired: show(expired.amount),
      disabled: show(disabled.amount),
      cards: active.cards + expired.cards + disabled.cards,
      cards_active: active.cards,
      cards_expired: expired.cards,
      cards_disabled: disabled.cards,
    };
    return { report: made, rows: [made], name: `liability-${nameOf(moment.shown)}` };
  },
});

/** A moment as a part of a file name. */
function nameOf(shown: string): string {
  return shown.replaceAll(/[^0-9A-Za-z-]/g, '');
}

const lineExamples = [
  {
    day: '2026-06-01',
    kind: 'issue',
    account: 'sales',
    debit: '119.00',
    credit: '0.00',
    vat_kind: 'single_purpose',
    vat_rate: '19',
    vat_due: 'at_sale',
    vat_amount: '19.00',
  },
  {
    day: '2026-06-01',
    kind: 'issue',
    account: 'liability_active',
    debit: '0.00',
    credit: '119.00',
    vat_kind: 'single_purpose',
    vat_rate: '19',
    vat_due: null,
    vat_amount: null,
  },
] as const;

export const reportJournal = report({
  id: 'reportJournal',
  path: '/reports/journal',
  summary: 'Report the journal',
  description:
    'Returns double-entry lines of each day. The debits of a day equal its credits, and the credits less the debits of the liability accounts are the change of the liability. `largesse store update --account` sets the names of the accounts. The books record when VAT is due, and do not separate it from the amounts.',
  query: daysOfReport,
  member: 'journal',
  schema: journalSchema,
  example: {
    from: '2026-06-01',
    to: '2026-06-30',
    currency: 'USD',
    opening: '0.00',
    change: '119.00',
    closing: '119.00',
    debits: '119.00',
    credits: '119.00',
    lines: [...lineExamples],
  },
  exampleRow: lineExamples[0],
  columns: Object.keys(lineExamples[0]),
  responseDescription: 'The journal.',
  async run(source, range) {
    assertRange(range);
    const { store } = source;
    const show = amountsOf(store);
    const { before, days } = await readSumsOfDays(source, range);
    const opening = outstandingOf(movementsOf(before));
    const change = outstandingOf(movementsOf(days));
    const lines = journalOf(days);
    const total = (side: 'debit' | 'credit'): bigint => lines.reduce((sum, line) => sum + line[side], 0n);
    const rows = lines.map((line) => ({
      day: line.day,
      kind: line.kind,
      account: store.accountNames[line.account] ?? line.account,
      debit: show(line.debit),
      credit: show(line.credit),
      vat_kind: line.vatKind,
      vat_rate: line.vatRate,
      vat_due: line.vatDue,
      vat_amount: line.tax === null ? null : show(line.tax),
    }));
    return {
      report: {
        ...range,
        currency: store.currency.code,
        opening: show(opening),
        change: show(change),
        closing: show(opening + change),
        debits: show(total('debit')),
        credits: show(total('credit')),
        lines: rows,
      },
      rows,
      name: `journal-${range.from}-${range.to}`,
    };
  },
});

const agingExample = {
  issued: '2026-05',
  outstanding: '150.00',
  active: '110.00',
  expired: '40.00',
  disabled: '0.00',
  cards: 12,
  cards_active: 9,
  cards_expired: 3,
  cards_disabled: 0,
};

function totalOf(values: readonly Balance[]): Balance {
  return {
    amount: values.reduce((total, value) => total + value.amount, 0n),
    cards: values.reduce((total, value) => total + value.cards, 0),
  };
}

export const reportAging = report({
  id: 'reportAging',
  path: '/reports/aging',
  summary: 'Report the liability by age',
  description:
    'Returns what the store owes at a moment by the month in which the cards were issued. `active` includes amounts on hold.',
  query: { as_of: reportMoment },
  member: 'aging',
  schema: agingSchema,
  example: { as_of: '2026-06-30', currency: 'USD', outstanding: '150.00', months: [agingExample] },
  exampleRow: agingExample,
  columns: Object.keys(agingExample),
  responseDescription: 'The liability by the month of issue.',
  async run(source, { as_of: asked }) {
    const moment = momentOf(source, asked);
    const show = amountsOf(source.store);
    const ages = agesOf(await readAgesUntil(source, moment.until));
    const months = [...ages].map(([issued, buckets]) => {
      const all = totalOf(Object.values(buckets));
      const amounts = inBuckets((bucket) => show(buckets[bucket].amount));
      return {
        issued,
        outstanding: show(all.amount),
        ...amounts,
        cards: all.cards,
        cards_active: buckets.active.cards,
        cards_expired: buckets.expired.cards,
        cards_disabled: buckets.disabled.cards,
      };
    });
    const total = totalOf(
      [...ages.values()].flatMap((buckets) => cardStates.map((bucket) => buckets[bucket])),
    );
    return {
      report: {
        as_of: moment.shown,
        currency: source.store.currency.code,
        outstanding: show(total.amount),
        months,
      },
      rows: months,
      name: `aging-${nameOf(moment.shown)}`,
    };
  },
});

type Group = (typeof activityGroups)[number];

const by = required(
  field<Group>(
    Type.Enum([...activityGroups], {
      description: 'What the rows are: days, months, or the actors of the transactions.',
    }),
    (value): Parsed<Group> => {
      const known = activityGroups.find((group) => group === value);
      return known ? accepted(known) : rejected(`must be ${activityGroups.join(', ')}`);
    },
  ),
);

function groupOf({ day, actor }: DaySum, group: Group): string {
  if (group === 'actor') return actor;
  return group === 'day' ? day : day.slice(0, 7);
}

const activityExample = {
  group: '2026-06-01',
  transactions: 14,
  issued: '200.00',
  topped_up: '0.00',
  redeemed: '60.00',
  refunded: '5.00',
  adjusted: '0.00',
  change: '145.00',
};

export const reportActivity = report({
  id: 'reportActivity',
  path: '/reports/activity',
  summary: 'Report the activity',
  description:
    'Returns the transactions of a period by day, month or actor. Days and months without transactions have no row.',
  query: { by, ...daysOfReport },
  member: 'activity',
  schema: activitySchema,
  example: { by: 'day', from: '2026-06-01', to: '2026-06-30', currency: 'USD', rows: [activityExample] },
  exampleRow: activityExample,
  columns: Object.keys(activityExample),
  responseDescription: 'The activity.',
  async run(source, { by: group, ...range }) {
    const { from, to } = range;
    assertRange({ from, to });
    const show = amountsOf(source.store);
    const { days } = await readSumsOfDays(source, { from, to });
    const grouped = new Map<string, Movements>();
    for (const sum of days) {
      if (sum.account === '') continue;
      const name = groupOf(sum, group);
      let movements = grouped.get(name);
      if (!movements) grouped.set(name, (movements = noMovements()));
      addMovement(movements, sum);
    }
    const sorted = [...grouped].toSorted(([left], [right]) => (left < right ? -1 : 1));
    const rows = sorted.map(([name, movements]) => ({
      group: name,
      transactions: movements.entries,
      ...movementRecord(movements, show),
      change: show(outstandingOf(movements)),
    }));
    return {
      report: { by: group, from, to, currency: source.store.currency.code, rows },
      rows,
      name: `activity-${from}-${to}`,
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
  cards: 3,
};

export const reportBreakage = report({
  id: 'reportBreakage',
  path: '/reports/breakage',
  summary: 'Report expired balances',
  description:
    'Returns the balances of expired cards by month: `closing` is `opening` + `expired` − `restored` − `disabled` + `adjusted`. `restored` is the balance of cards that were given a later expiry, `adjusted` the net of the transactions of expired cards. Expired balances stay a liability in these books: the law decides whether and when the store can keep them (escheat, limitation, consumer law), and the store’s accountant decides what to post.',
  query: daysOfReport,
  member: 'breakage',
  schema: breakageSchema,
  example: {
    from: '2026-06-01',
    to: '2026-06-30',
    currency: 'USD',
    opening: '30.00',
    closing: '40.00',
    months: [breakageExample],
  },
  exampleRow: breakageExample,
  columns: Object.keys(breakageExample),
  responseDescription: 'The expired balances.',
  async run(source, range) {
    assertRange(range);
    const show = amountsOf(source.store);
    const { before, days } = await readSumsOfDays(source, range);
    const { expired } = balancesOf(before);
    let { amount: balance, cards } = expired;
    const months = [...Map.groupBy(days, ({ day }) => day.slice(0, 7))].map(([month, sums]) => {
      const breakage = breakageOf(sums);
      const opening = balance;
      balance += breakage.expired - breakage.restored - breakage.disabled + breakage.adjusted;
      cards += breakage.cards;
      return {
        month,
        opening: show(opening),
        expired: show(breakage.expired),
        restored: show(breakage.restored),
        disabled: show(breakage.disabled),
        adjusted: show(breakage.adjusted),
        closing: show(balance),
        cards,
      };
    });
    return {
      report: {
        ...range,
        currency: source.store.currency.code,
        opening: show(expired.amount),
        closing: show(balance),
        months,
      },
      rows: months,
      name: `breakage-${range.from}-${range.to}`,
    };
  },
});
