/** Erases ended emails. */

import { all, execute, sql, toNumber, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

/** The primary key of an email. */
export type EmailPlace = { readonly storeId: number; readonly cardId: number; readonly id: number };

export function firstEmailOf(storeId: number): EmailPlace {
  return { storeId, cardId: 0, id: 0 };
}

type WalkedEmail = EmailPlace & {
  /** Null: it has not ended. */
  readonly endedAt: number | null;
  /** The occasion of a reminder. */
  readonly occasion: string | null;
};

export function* hasEmails(storeId: number): Script<boolean> {
  const rows = yield* all(sql`select 1 as one from email_deliveries where store_id = ${storeId} limit 1`);
  return rows.length > 0;
}

/** Returns the next emails of a store, in the order of their keys. */
export function* listEmailsFrom(after: EmailPlace, limit: number): Script<readonly WalkedEmail[]> {
  type Row = { card_id: bigint; id: bigint; ended_at: bigint | null; occasion: string | null };
  const rows = yield* all(sql<Row>`
    select card_id, id, ended_at, occasion from email_deliveries
    where store_id = ${after.storeId} and (card_id, id) > (${after.cardId}, ${after.id})
    order by card_id, id limit ${limit}`);
  return rows.map((row) => ({
    storeId: after.storeId,
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
