/** The objects of the reports. */

import Type from 'typebox';
import { activityGroups } from '../service/reports.ts';

const amount = Type.String({ description: 'An amount with exactly the currency’s decimals.' });
const currency = Type.String();
const count = Type.Integer();

function closed<T extends Record<string, ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>>(
  description: string,
  members: T,
) {
  return Type.Object(members, { additionalProperties: false, description });
}

const movementMembers = {
  issued: amount,
  topped_up: amount,
  redeemed: amount,
  refunded: amount,
  adjusted: amount,
};

const withoutVat = 'Without the VAT that was due at the sale: the balance of the account in the journal.';
const netMembers = {
  outstanding_vat: Type.String({
    description: 'The VAT in `outstanding` that was due at the sale of single-purpose cards.',
  }),
  outstanding_net: Type.String({
    description:
      '`outstanding` − `outstanding_vat`: the contract liability (deferred revenue), the sum of the liability accounts of the journal.',
  }),
};
const netByState = {
  active_net: Type.String({ description: withoutVat }),
  expired_net: Type.String({ description: withoutVat }),
  disabled_net: Type.String({ description: withoutVat }),
};

export const liabilitySchema = closed('The liability of a store to the holders of its cards.', {
  as_of: Type.String({ description: 'The moment of the report, as it was requested.' }),
  currency,
  ...movementMembers,
  outstanding: amount,
  ...netMembers,
  available: Type.String({
    description: 'The balances of cards that are neither disabled nor expired, minus `on_hold`.',
  }),
  on_hold: Type.String({ description: 'The amount that open holds reserve on these cards.' }),
  suspended: Type.String({ description: 'How much of `available` and `on_hold` is on suspended cards.' }),
  expired: amount,
  disabled: amount,
  ...netByState,
  cards: count,
  cards_active: count,
  cards_suspended: Type.Integer({ description: 'How many of `cards_active` are suspended.' }),
  cards_expired: count,
  cards_disabled: count,
});

const textOrNull = Type.Union([Type.String(), Type.Null()]);

const placeName = Type.Union([Type.String(), Type.Null()], {
  description: 'With `by=location`: the name of the location.',
});

const journalLineSchema = Type.Object(
  {
    day: Type.String(),
    kind: Type.String({
      description:
        'The kind of the transactions, `cancellation` for reversals of issues, or `expire`, `unexpire`, `disable` or `enable` for cards whose state changed.',
    }),
    account: Type.String({ description: 'The store’s name of the account.' }),
    debit: amount,
    credit: amount,
    vat_kind: textOrNull,
    vat_rate: textOrNull,
    vat_due: Type.Union([Type.Enum(['at_sale', 'at_redemption']), Type.Null()], {
      description:
        'When the tax on the line is due; null: the line is not the counterpart of a taxable supply.',
    }),
    net_amount: Type.String({ description: '`gross_amount` − `vat_amount`.' }),
    vat_amount: Type.Union([Type.String(), Type.Null()], {
      description:
        'The VAT in `gross_amount` that is due at the sale; negative on `sales` and `top_ups` if it is to be returned. Null: no rate is recorded.',
    }),
    gross_amount: Type.String({
      description:
        'The change of the balances behind the line, with VAT; negative if it lowers them. The accounts of sales and top-ups are debited or credited with it, `vat_payable` with `vat_amount`, and all others with `net_amount`.',
    }),
    location_id: Type.Union([Type.Integer(), Type.Null()], {
      description: 'With `by=location`: where the transactions took place; null: at no location.',
    }),
    location: placeName,
  },
  { additionalProperties: false, description: 'One side of an entry in the books.' },
);

export const journalSchema = Type.Object(
  {
    from: Type.String(),
    to: Type.String(),
    currency,
    opening: amount,
    change: amount,
    closing: Type.String({
      description: 'The balance of the liability accounts, without the VAT that was due at the sale.',
    }),
    closing_gross: Type.String({ description: 'The sum of the cards’ balances, with VAT.' }),
    debits: amount,
    credits: amount,
    lines: Type.Array(journalLineSchema),
  },
  { additionalProperties: false, description: 'The double-entry lines of a period.' },
);

const agingMonthSchema = closed('The liability for the cards of a month.', {
  issued: Type.String({ description: 'The month of issue.' }),
  outstanding: amount,
  ...netMembers,
  active: amount,
  expired: amount,
  disabled: amount,
  ...netByState,
  issued_to_date: Type.String({
    description: 'Issued and topped up until the moment of the report, without cancelled sales.',
  }),
  issued_to_date_net: Type.String({ description: 'Without the VAT that was due at the sale.' }),
  redeemed_to_date: Type.String({ description: 'Redeemed until the moment of the report, less refunds.' }),
  redeemed_to_date_net: Type.String({ description: 'Without the VAT that was due at the sale.' }),
  adjusted_to_date: Type.String({
    description: '`outstanding` is `issued_to_date` − `redeemed_to_date` + `adjusted_to_date`.',
  }),
  cards: count,
  cards_active: count,
  cards_expired: count,
  cards_disabled: count,
});

export const agingSchema = Type.Object(
  {
    as_of: Type.String(),
    currency,
    outstanding: amount,
    ...netMembers,
    months: Type.Array(agingMonthSchema),
  },
  { additionalProperties: false, description: 'The liability by the month of issue.' },
);

const activityRowSchema = Type.Object(
  {
    group: Type.Union([Type.String(), Type.Null()], {
      description: 'The day, month, actor or id of the location; null: the transactions at no location.',
    }),
    transactions: count,
    ...movementMembers,
    change: amount,
    location: placeName,
  },
  { additionalProperties: false, description: 'The transactions of a day, a month, an actor or a location.' },
);

export const activitySchema = Type.Object(
  {
    by: Type.Enum([...activityGroups]),
    from: Type.String(),
    to: Type.String(),
    currency,
    rows: Type.Array(activityRowSchema),
  },
  { additionalProperties: false, description: 'The transactions of a period, grouped.' },
);

const breakageMonthSchema = closed('The expired balances of a month.', {
  month: Type.String(),
  opening: amount,
  expired: amount,
  restored: amount,
  disabled: amount,
  adjusted: amount,
  closing: amount,
  expired_net: Type.String({ description: '`expired` without the VAT that was due at the sale.' }),
  closing_net: Type.String({ description: '`closing` without the VAT that was due at the sale.' }),
  cards: Type.Integer({ description: 'The number of expired cards at the end.' }),
});

export const breakageSchema = Type.Object(
  {
    from: Type.String(),
    to: Type.String(),
    currency,
    opening: amount,
    closing: amount,
    closing_net: amount,
    months: Type.Array(breakageMonthSchema),
  },
  { additionalProperties: false, description: 'The expired balances of a period by month.' },
);
