/** Erases ended emails. */

import { all, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

/** The primary key of an email. */
export type EmailPlace = { readonly storeId: number; readonly cardId: number; readonly id: number };

export const firstEmail: EmailPlace = { storeId: 0, cardId: 0, id: 0 };

type WalkedEmail = EmailPlace & {
  /** Null: it has not ended. */
  readonly endedAt: number | null;
  /** What a reminder is for. */
  readonly occasion: string | null;
};

/** Returns the next emails of all stores, in the order of their keys. */
export function* listEmailsFrom(after: EmailPlace, limit: number): Script<readonly WalkedEmail[]> {
  type Row = {
    store_id: bigint;
    card_id: bigint;
    id: bigint;
    ended_at: bigint | null;
    occasion: string | null;
  };
  const rows = yield* all(sql<Row>`
    select store_id, card_id, id, ended_at, occasion from email_deliveries
    where (store_id, card_id, id) > (${after.storeId}, ${after.cardId}, ${after.id})
    order by store_id, card_id, id limit ${limit}`);
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    cardId: toNumber(row.card_id),
    id: toNumber(row.id),
    endedAt: toNumberOrNull(row.ended_at),
    occasion: row.occasion,
  }));
}

/** Deletes an email that has ended. */
export function* eraseEmail({ storeId, cardId, id }: EmailPlace): Script<void> {
  yield* execute(sql`
    delete from email_deliveries
    where store_id = ${storeId} and card_id = ${cardId} and id = ${id} and next_at is null`);
}
