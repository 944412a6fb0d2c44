/** The recorded changes of the terms that reports depend on: a card's expiry, and whether it is disabled or suspended. */

import assert from 'node:assert/strict';
import { all, sql, toNumber, ValueList, type Script } from '../../../database/sql/sql.ts';
import { fragment, indexedBy, position } from '../../../database/sql/fragments.ts';

/** A change of a card's terms: the values before it. An absent value was not changed. */
export type TermsChange = {
  /** Instant in ms. */
  readonly createdAt: number;
  /** If the change is a late entry. */
  readonly late: { readonly day: string | null } | null;
  readonly expiresOn?: string | null;
  readonly disabledAt?: number | null;
  readonly suspendedAt?: number | null;
};

/** Cards whose changes are read in one statement. */
export const termsCardsMax = 50;

/** Returns the changes of the terms of at most `termsCardsMax` cards, the latest first. Cards without any are absent. */
export function* listTermsChanges(
  storeId: number,
  cardIds: readonly number[],
): Script<ReadonlyMap<number, readonly TermsChange[]>> {
  assert(cardIds.length <= termsCardsMax);
  // A statement has the same number of values each time. Id 0 does not exist.
  const list = new ValueList([
    ...cardIds,
    ...Array.from({ length: termsCardsMax - cardIds.length }, () => 0),
  ]);
  const rows = yield* all(sql<{
    chain_of: bigint;
    created_at: bigint;
    fields: string;
    is_late: bigint;
    late_day: string | null;
  }>`
    with recursive chain (chain_of, id, previous_id, sequence) as (
      select g.id, c.id, c.previous_id, c.sequence from gift_cards g
      cross join card_changes c
      where g.store_id = ${storeId} and g.id in (${list}) and c.store_id = ${storeId} and c.id = g.last_change_id
      union all
      select l.chain_of, c.id, c.previous_id, c.sequence from chain l
      cross join card_changes c where c.store_id = ${storeId} and c.id = l.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      and c.sequence < l.sequence
    )
    select l.chain_of, c.created_at, c.fields, cast(case when e.id is null then 0 else 1 end as bigint) as is_late, e.day as late_day
    from chain l cross join card_changes c
    left join late_entries e on e.store_id = ${storeId} and e.id = c.id
    where c.store_id = ${storeId} and c.id = l.id
    order by l.sequence desc`);
  const changes = new Map<number, TermsChange[]>();
  for (const row of rows) {
    const before = termsBefore(row.fields);
    if (!before) continue;
    const cardId = toNumber(row.chain_of);
    const late = row.is_late === 1n ? { day: row.late_day } : null;
    const ofCard = changes.get(cardId) ?? [];
    changes.set(cardId, ofCard);
    ofCard.push({ createdAt: toNumber(row.created_at), late, ...before });
  }
  return changes;
}

/** The terms before a change; undefined if it did not change them. `verify` reports a row that cannot be read. */
function termsBefore(
  fields: string,
): Pick<TermsChange, 'expiresOn' | 'disabledAt' | 'suspendedAt'> | undefined {
  // Most changes are of notes and codes.
  if (!/"(?:expires_on|disabled_at|suspended_at)"/.test(fields)) return undefined;
  const before: { expiresOn?: string | null; disabledAt?: number | null; suspendedAt?: number | null } = {};
  for (const [field, old] of JSON.parse(fields) as readonly (readonly [string, unknown, unknown])[]) {
    if (field === 'expires_on' && (old === null || typeof old === 'string')) before.expiresOn = old;
    if (field === 'disabled_at' && (old === null || typeof old === 'number')) before.disabledAt = old;
    if (field === 'suspended_at' && (old === null || typeof old === 'number')) before.suspendedAt = old;
  }
  return before;
}

/** A change after which a card no longer had a term, in the order of the term and the id of the change. */
export type FormerTerm = { readonly at: string; readonly id: number; readonly cardId: number };

type FormerRow = { readonly at: string; readonly id: bigint; readonly card_id: bigint };

function toFormerTerm({ at, id, card_id: cardId }: FormerRow): FormerTerm {
  return { at, id: toNumber(id), cardId: toNumber(cardId) };
}

type FormerTerms = {
  readonly after: Pick<FormerTerm, 'at' | 'id'>;
  readonly until: string;
  readonly limit: number;
};

// The schema has the same expressions and conditions in indexes.
const formerExpiry = fragment`substr(fields, ${position}(fields, '["expires_on","') + 15, 10)`;
const formerDisabling = fragment`substr(fields, ${position}(fields, '["disabled_at",') + 15, 13)`;

/** Returns changes of expiries by the last valid day before the change, after a place, up to before the day `until`. */
export function* listFormerExpiries(
  storeId: number,
  { after, until, limit }: FormerTerms,
): Script<readonly FormerTerm[]> {
  const rows = yield* all(sql<FormerRow>`
    select ${formerExpiry} as at, id, card_id from card_changes ${indexedBy('card_changes_by_former_expiry')}
    where store_id = ${storeId} and ${position}(fields, '["expires_on","') > 0
      and ${formerExpiry} >= ${after.at} and ${formerExpiry} < ${until}
      and (${formerExpiry} > ${after.at} or id > ${after.id})
    order by ${formerExpiry}, id limit ${limit}`);
  return rows.map(toFormerTerm);
}

/**
 * Returns the changes that re-enabled cards, by the instant (ms) of the disabling before the change. An instant has 13
 * digits until the year 2286, so its text has the same order.
 */
export function* listFormerDisablings(
  storeId: number,
  { after, until, limit }: FormerTerms,
): Script<readonly FormerTerm[]> {
  const rows = yield* all(sql<FormerRow>`
    select ${formerDisabling} as at, id, card_id from card_changes ${indexedBy('card_changes_by_former_disabling')}
    where store_id = ${storeId} and ${position}(fields, '["disabled_at",') > 0
      and ${position}(fields, '["disabled_at",null') = 0
      and ${formerDisabling} >= ${after.at} and ${formerDisabling} < ${until}
      and (${formerDisabling} > ${after.at} or id > ${after.id})
    order by ${formerDisabling}, id limit ${limit}`);
  return rows.map(toFormerTerm);
}

/** Returns the cards of a page of changes with ids above `after` and below `before`, and where the next page starts. */
export function* listCardsWithChanges(
  storeId: number,
  { after, before, limit }: { readonly after: number; readonly before: number; readonly limit: number },
): Script<{ readonly cards: readonly number[]; readonly next: number | undefined }> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint }>`
    select id, card_id from card_changes
    where store_id = ${storeId} and id > ${after} and id < ${before} order by id limit ${limit}`);
  const last = rows.at(-1);
  return {
    cards: rows.map((row) => toNumber(row.card_id)),
    next: last && rows.length === limit ? toNumber(last.id) : undefined,
  };
}

// The index `card_changes_of_resumptions` has the same conditions.

/** Returns the cards of changes that resumed cards, in the order of their ids, and when the suspensions had begun (ms). */
export function* listResumptions(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly { readonly id: number; readonly cardId: number; readonly suspendedAt: number }[]> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint; suspended_at: string }>`
    select id, card_id, substr(fields, ${position}(fields, '["suspended_at",') + 16, 13) as suspended_at
    from card_changes ${indexedBy('card_changes_of_resumptions')}
    where store_id = ${storeId} and id > ${after} and ${position}(fields, '["suspended_at",') > 0
      and ${position}(fields, '["suspended_at",null') = 0
    order by id limit ${limit}`);
  return rows.map(({ id, card_id: cardId, suspended_at: suspendedAt }) => ({
    id: toNumber(id),
    cardId: toNumber(cardId),
    suspendedAt: Number(suspendedAt),
  }));
}

/** Returns cards that are suspended, with ids above `after`, in the order of when they were suspended (ms), up to an instant. */
export function* listSuspendedCards(
  storeId: number,
  {
    after,
    until,
    limit,
  }: {
    readonly after: { readonly at: number; readonly id: number };
    readonly until: number;
    readonly limit: number;
  },
): Script<readonly { readonly at: number; readonly id: number }[]> {
  const rows = yield* all(sql<{ at: bigint; id: bigint }>`
    select suspended_at as at, id from gift_cards ${indexedBy('gift_cards_by_suspension')}
    where store_id = ${storeId} and suspended_at is not null and suspended_at >= ${after.at}
      and suspended_at <= ${until} and (suspended_at > ${after.at} or id > ${after.id})
    order by suspended_at, id limit ${limit}`);
  return rows.map(({ at, id }) => ({ at: toNumber(at), id: toNumber(id) }));
}
