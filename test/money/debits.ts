/** The real debit, and debits that are wrong on purpose, with one signature. */

import type { readThenWriteDebit } from '../support/planted-debit.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { perform, type Desk, type Done } from './service-under-test.ts';

export type Debit = (desk: Desk, amount: bigint) => Script<Done>;

export const real: Debit = (desk, amount) =>
  perform(desk, { kind: 'debit', amount, partial: false, card: 0, isCurrent: null });

export const planted =
  (debit: typeof readThenWriteDebit): Debit =>
  ({ ctx, store, places: { cards } }, amount) =>
    debit(ctx, {
      storeId: store.id,
      cardId: cards[0] ?? 0,
      amount: { minor: amount, currency: store.currency },
    });
