/** The objects of the reports. */

import Type from 'typebox';

const amount = Type.String({ description: 'An amount with exactly the currency’s decimals.' });
const currency = Type.String();
const count = Type.Integer();

function closed<T extends Record<string, ReturnType<typeof Type.Integer> | ReturnType<typeof Type.String>>>(
  members: T,
) {
  return Type.Object(members, { additionalProperties: false });
}

const movementMembers = {
  issued: amount,
  topped_up: amount,
  redeemed: amount,
  refunded: amount,
  adjusted: amount,
};

export const liabilitySchema = closed({
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

const lineSchema = Type.Object(
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
  { additionalProperties: false },
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
    lines: Type.Array(lineSchema),
  },
  { additionalProperties: false },
);

const agingRow = closed({
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

export const activityGroups = ['day', 'month', 'actor'] as const;

export const agingSchema = Type.Object(
  { as_of: Type.String(), currency, outstanding: amount, months: Type.Array(agingRow) },
  { additionalProperties: false },
);

export const activitySchema = Type.Object(
  {
    by: Type.Enum([...activityGroups]),
    from: Type.String(),
    to: Type.String(),
    currency,
    rows: Type.Array(
      closed({
        group: Type.String({ description: 'The day, month or actor.' }),
        transactions: count,
        ...movementMembers,
        change: amount,
      }),
    ),
  },
  { additionalProperties: false },
);

export const breakageSchema = Type.Object(
  {
    from: Type.String(),
    to: Type.String(),
    currency,
    opening: amount,
    closing: amount,
    months: Type.Array(
      closed({
        month: Type.String(),
        opening: amount,
        expired: amount,
        restored: amount,
        disabled: amount,
        adjusted: amount,
        closing: amount,
        cards: Type.Integer({ description: 'The number of expired cards at the end.' }),
      }),
    ),
  },
  { additionalProperties: false },
);
