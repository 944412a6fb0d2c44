/** The recorded changes of the terms that decide a card's bucket: its expiry and whether it is disabled. */

import type { CardKey } from './card.ts';
import { all, sql, toNumber, type Script } from './sql.ts';

/** A change of a card's terms: the values before it. An absent value was not changed. */
export type TermsChange = {
  /** Instant in ms. */
  readonly createdAt: number;
  /** If the change is a late entry. */
  readonly late: { readonly day: string | null } | null;
  readonly expiresOn?: string | null;
  readonly disabledAt?: number | null;
};

/** Returns the changes of a card's terms, the latest first. */
export function* listTermsChanges({ storeId, cardId }: CardKey): Script<readonly TermsChange[]> {
  const rows = yield* all(sql<{
    created_at: bigint;
    fields: string;
    is_late: bigint;
    late_day: string | null;
  }>`
    with recursive chain (id, previous_id, sequence) as (
      select c.id, c.previous_id, c.sequence from gift_cards g
      join card_changes c on c.store_id = ${storeId} and c.id = g.last_change_id
      where g.store_id = ${storeId} and g.id = ${cardId}
      union all
      select c.id, c.previous_id, c.sequence from chain l
      join card_changes c on c.store_id = ${storeId} and c.id = l.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      where c.sequence < l.sequence
    )
    select c.created_at, c.fields, cast(case when e.id is null then 0 else 1 end as bigint) as is_late, e.day as late_day
    from chain l join card_changes c on c.store_id = ${storeId} and c.id = l.id
    left join late_entries e on e.store_id = ${storeId} and e.id = c.id
    order by l.sequence desc`);
  return rows.flatMap((row) => {
    const before = termsBefore(row.fields);
    if (!before) return [];
    const late = row.is_late === 1n ? { day: row.late_day } : null;
    return [{ createdAt: toNumber(row.created_at), late, ...before }];
  });
}

/** The terms before a change; undefined if it did not change them. `verify` reports a row that cannot be read. */
function termsBefore(fields: string): Pick<TermsChange, 'expiresOn' | 'disabledAt'> | undefined {
  // Most changes are of notes and codes.
  if (!fields.includes('"expires_on"') && !fields.includes('"disabled_at"')) return undefined;
  const before: { expiresOn?: string | null; disabledAt?: number | null } = {};
  for (const [field, old] of JSON.parse(fields) as readonly (readonly [string, unknown, unknown])[]) {
    if (field === 'expires_on' && (old === null || typeof old === 'string')) before.expiresOn = old;
    if (field === 'disabled_at' && (old === null || typeof old === 'number')) before.disabledAt = old;
  }
  return before;
}

/** Returns the cards of a page of changes with ids above `after`, and where the next page starts. */
export function* listCardsWithChanges(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<{ readonly cards: readonly number[]; readonly next: number | undefined }> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint }>`
    select id, card_id from card_changes where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  const last = rows.at(-1);
  return {
    cards: rows.map((row) => toNumber(row.card_id)),
    next: last && rows.length === limit ? toNumber(last.id) : undefined,
  };
}
