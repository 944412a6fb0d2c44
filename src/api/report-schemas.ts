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

export const liabilitySchema = closed('What a store owes to the holders of its cards.', {
  as_of: Type.String({ description: 'The moment of the report, as it was requested.' }),
  currency,
  ...movementMembers,
  outstanding: amount,
  available: amount,
  on_hold: amount,
  expired: amount,
  disabled: amount,
  cards: count,
  cards_active: count,
  cards_expired: count,
  cards_disabled: count,
});

const textOrNull = Type.Union([Type.String(), Type.Null()]);

const journalLineSchema = Type.Object(
  {
    day: Type.String(),
    kind: Type.String({
      description:
        'The kind of the transactions, or `expire`, `unexpire`, `disable` or `enable` for cards whose state changed.',
    }),
    account: Type.String({ description: 'The store’s name of the account.' }),
    debit: amount,
    credit: amount,
    vat_kind: textOrNull,
    vat_rate: textOrNull,
    vat_due: Type.Union([Type.Enum(['at_sale', 'at_redemption']), Type.Null()], {
      description: 'When the tax on the line is due; null: the line is not taxable.',
    }),
    vat_amount: Type.Union([Type.String(), Type.Null()], {
      description:
        'The tax that the line contains, if it is due at the sale; negative if it is to be returned. The line’s amount is not reduced by it.',
    }),
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
    closing: amount,
    debits: amount,
    credits: amount,
    lines: Type.Array(journalLineSchema),
  },
  { additionalProperties: false, description: 'The double-entry lines of a period.' },
);

const agingMonthSchema = closed('The liability for the cards of a month.', {
  issued: Type.String({ description: 'The month of issue.' }),
  outstanding: amount,
  active: amount,
  expired: amount,
  disabled: amount,
  cards: count,
  cards_active: count,
  cards_expired: count,
  cards_disabled: count,
});

export const agingSchema = Type.Object(
  { as_of: Type.String(), currency, outstanding: amount, months: Type.Array(agingMonthSchema) },
  { additionalProperties: false, description: 'The liability by the month of issue.' },
);

const activityRowSchema = closed('The transactions of a day, a month or an actor.', {
  group: Type.String({ description: 'The day, month or actor.' }),
  transactions: count,
  ...movementMembers,
  change: amount,
});

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
  cards: Type.Integer({ description: 'The number of expired cards at the end.' }),
});

export const breakageSchema = Type.Object(
  {
    from: Type.String(),
    to: Type.String(),
    currency,
    opening: amount,
    closing: amount,
    months: Type.Array(breakageMonthSchema),
  },
  { additionalProperties: false, description: 'The expired balances of a period by month.' },
);
