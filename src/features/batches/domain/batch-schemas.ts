/** Schemas of batches and of stocks of printed cards. */

import Type, { type Static } from 'typebox';
import { batchNameLengthMax, batchStates } from './batch.ts';
import { stockNameLengthMax, stockStates, validMonthsMax } from '../../../core/stocks/domain/stock.ts';
import {
  closedObject,
  nullable,
  id,
  decimal,
  timestamp,
  giftCardRecord,
  value,
} from '../../../core/cards/domain/schemas.ts';

export const batchSchema = closedObject(
  {
    id,
    name: nullable(
      Type.String({ maxLength: batchNameLengthMax }),
      'The caller’s name of the batch.',
      'Spring campaign',
    ),
    state: Type.Enum([...batchStates], {
      description:
        '`running`: its gift cards are being issued. `complete`: all of them were issued, except `failed`.',
    }),
    count: Type.Integer({ minimum: 1, description: 'The number of gift cards.' }),
    issued: Type.Integer({ minimum: 0, description: 'Gift cards that were issued so far.' }),
    failed: Type.Integer({
      minimum: 0,
      description:
        'Gift cards that could not be issued, because a parameter became invalid after the request, such as a code that another request used first.',
    }),
    currency: Type.String({ description: 'The store’s currency.' }),
    total: decimal({ description: 'The sum of the values of all gift cards.' }),
    issued_total: decimal({ description: 'The sum of the values of those that were issued so far.' }),
    created_at: timestamp(),
    completed_at: nullable(timestamp()),
    codes_until: nullable(
      timestamp(),
      'Until when the codes can be read. null: the batch is running, and they can be read; or they were erased; or all gift cards were emailed.',
    ),
  },
  'Gift cards that are issued with one request.',
);

export type BatchRecord = Readonly<Static<typeof batchSchema>>;

export const batchFailureSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the gift card in the batch, from 0.' }),
    field: nullable(Type.String(), 'The parameter that the error concerns.', 'code'),
    message: Type.String({ description: 'Reads after the name of the parameter.' }),
  },
  'Why a gift card of a batch was not issued.',
);

export const batchCardSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the gift card in the batch, from 0.' }),
    ...giftCardRecord,
    code: nullable(
      Type.String({ pattern: '^[0-9a-z]{8,20}$' }),
      'The full code. null: the gift card was emailed, `codes_until` has passed, or the caller lacks `write_gift_cards`.',
      'q2m8xk4w9c0d7f3k',
    ),
  },
  'A gift card of a batch.',
);

export type BatchCardRecord = Readonly<Static<typeof batchCardSchema>>;

export const stockSchema = closedObject(
  {
    id,
    name: nullable(
      Type.String({ maxLength: stockNameLengthMax }),
      'The caller’s name of the stock.',
      'Cards at the counter',
    ),
    state: Type.Enum([...stockStates], {
      description:
        '`running`: its codes are being added. `complete`: all of them were added, except `failed`.',
    }),
    count: Type.Integer({ minimum: 1, description: 'The number of codes.' }),
    printed: Type.Integer({
      minimum: 0,
      description: 'Codes that were added so far: the sum of the next three.',
    }),
    sold: Type.Integer({ minimum: 0, description: 'Codes that were activated.' }),
    left: Type.Integer({ minimum: 0, description: 'Codes that can be activated.' }),
    voided: Type.Integer({ minimum: 0, description: 'Codes that were voided.' }),
    failed: Type.Integer({
      minimum: 0,
      description: 'Codes that could not be added, because the store used them after the request.',
    }),
    currency: Type.String({ description: 'The store’s currency.' }),
    fixed_value: value('The value of each gift card. null: it is open.'),
    minimum_value: value('The lowest value of a gift card. null: the value is fixed.'),
    maximum_value: value('The highest value of a gift card. null: the value is fixed.'),
    valid_months: nullable(
      Type.Integer({ minimum: 1, maximum: validMonthsMax }),
      'How many months a gift card is valid after its activation. null: it never expires.',
      36,
    ),
    created_at: timestamp(),
    completed_at: nullable(timestamp()),
    codes_until: nullable(
      timestamp(),
      'Until when the codes can be downloaded. null: they are being added, and can be downloaded; or they were erased.',
    ),
  },
  'Printed codes without money.',
);

export type StockRecord = Readonly<Static<typeof stockSchema>>;

export const stockFailureSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the code in the stock, from 0.' }),
    message: Type.String({ description: 'Reads after the name of the parameter.' }),
  },
  'Why a code was not added to its stock.',
);

export const stockCodeSchema = closedObject(
  {
    index: Type.Integer({ minimum: 0, description: 'The place of the code in the stock, from 0.' }),
    code: Type.String({
      pattern: '^[0-9a-z]{8,20}$',
      description: 'The code.',
      examples: ['q2m8xk4w9c0d7f3k'],
    }),
  },
  'A code that is left.',
);

export type StockCodeRecord = Readonly<Static<typeof stockCodeSchema>>;
