/**
 * Lists of a store's transfers and holds, newest first. A statement reads a stretch of the primary key, or of the index of
 * one filter, whose length is bounded. All filters are one expression that no planner can use to choose an index
 * (docs/decisions/lists.md).
 */

import type { Hold, HoldStatus } from '../domain/hold.ts';
import type { Transfer, TransferKind } from '../domain/ledger.ts';
import type { EntryPlaces } from '../../stores/domain/location.ts';
import { idMax, idsOf, type Range } from '../../../database/sql/id-range.ts';
import { all, first, part, Statement, toNumber, type Part, type Script } from '../../../database/sql/sql.ts';
import { Fragment, indexedBy } from '../../../database/sql/fragments.ts';
import { holdColumns, type HoldRow } from './hold.ts';
import { transferColumns, type TransferRow } from './transfer.ts';

/** The filters of both lists. Null: any. */
export type MovementFilter = {
  readonly reference: string | null;
  readonly orderReference: string | null;
  readonly externalId: string | null;
  readonly orderId: number | null;
  /** The location, or null for the rows at no location. */
  readonly places: EntryPlaces;
  readonly actor: string | null;
  /** Instants in ms. */
  readonly createdAt: Range<number> | null;
};

export type TransferFilter = MovementFilter & { readonly kind: TransferKind | null };

export type HoldFilter = MovementFilter & {
  /** An open hold that has expired at `now` (ms) is expired. */
  readonly status: HoldStatus | null;
  readonly now: number;
};

/** Filters with an index, which contains only the rows that have the value. The first usually finds the fewest rows. */
const indexed = {
  externalId: 'external_id',
  orderReference: 'order_reference',
  reference: 'reference',
  orderId: 'order_id',
} as const;

type IndexedFilter = keyof typeof indexed;

/** The filter whose index a list reads; null: the primary key. */
export function indexedFilterOf(filter: MovementFilter): IndexedFilter | null {
  const names = Object.keys(indexed) as IndexedFilter[];
  return names.find((name) => filter[name] !== null) ?? null;
}

type Table = 'transfers' | 'holds';

/** A stretch of a list: the rows with ids up to `max`, of which at most `rowsMax` are read. */
export type Stretch = { readonly max: number; readonly rowsMax: number; readonly limit: number };

export type ListStretch<T> = {
  /** The rows of the stretch that meet the filter, newest first, at most `limit`. */
  readonly found: readonly T[];
  /** The id of the last row of the stretch; null: it is the end of the list. */
  readonly end: number | null;
};

/** The rows `m` of a store with ids of a range. */
function rowsIn(
  table: Table,
  { storeId, filter }: { readonly storeId: number; readonly filter: MovementFilter },
  { min, max }: Range<number>,
): Part {
  const name = indexedFilterOf(filter);
  const from = new Fragment(() => `${table} m`);
  const ofKey = part`${from} where m.store_id = ${storeId} and m.id between ${min} and ${max}`;
  if (name === null) return ofKey;
  const column = new Fragment(() => `m.${indexed[name]}`);
  return part`${from} ${indexedBy(`${table}_by_${indexed[name]}`)}
    where m.store_id = ${storeId} and ${column} = ${filter[name]} and ${column} is not null
      and m.id between ${min} and ${max}`;
}

/** Engines cache statements by this array, so the statements of each table and filter have one of their own. */
const templates = new Map<string, readonly string[]>();

function statementOf<Row>(
  use: 'end' | 'rows',
  table: Table,
  { filter, text }: { readonly filter: MovementFilter; readonly text: Part },
): Statement<Row> {
  const key = `${use} ${table} ${indexedFilterOf(filter)}`;
  const template = templates.get(key) ?? ['', ''];
  templates.set(key, template);
  return new Statement<Row>(template, [text]);
}

/** 1 if a condition is absent, so that it is true for every row. */
function any(value: unknown): number {
  return Number(value === null);
}

/** Whether the row `m` meets the filters, and another condition. */
function isMet(filter: MovementFilter, also: Part): Part {
  const { reference, orderReference, externalId, orderId, places, actor, createdAt } = filter;
  const [place = null] = places ?? [];
  return part`case when
    (${any(reference)} = 1 or m.reference = ${reference ?? ''})
    and (${any(orderReference)} = 1 or m.order_reference = ${orderReference ?? ''})
    and (${any(externalId)} = 1 or m.external_id = ${externalId ?? ''})
    and (${any(orderId)} = 1 or m.order_id = ${orderId ?? 0})
    and (${any(places)} = 1 or m.location_id = ${place ?? 0} or (${any(place)} = 1 and m.location_id is null))
    and (${any(actor)} = 1 or m.actor = ${actor ?? ''})
    and (${any(createdAt)} = 1 or m.created_at between ${createdAt?.min ?? 0} and ${createdAt?.max ?? 0})
    and ${also}
  then 1 else 0 end = 1`;
}

/** The id at which a stretch ends; undefined: the list ends before. */
function* endOf(
  table: Table,
  listed: { readonly storeId: number; readonly filter: MovementFilter },
  range: Range<number>,
  rowsMax: number,
): Script<number | undefined> {
  const text = part`
    select m.id from ${rowsIn(table, listed, range)} order by m.id desc limit 1 offset ${rowsMax - 1}`;
  const row = yield* first(statementOf<{ id: bigint }>('end', table, { filter: listed.filter, text }));
  return row && toNumber(row.id);
}

/** Lists the transfers of a stretch. */
export function* listTransfersOf(
  storeId: number,
  filter: TransferFilter,
  { max, rowsMax, limit }: Stretch,
): Script<ListStretch<Transfer>> {
  const ids = idsOf(filter.createdAt);
  const range = { min: ids.min, max: Math.min(max, ids.max) };
  const end = yield* endOf('transfers', { storeId, filter }, range, rowsMax);
  const ofKind = part`(${any(filter.kind)} = 1 or m.kind = ${filter.kind ?? ''})`;
  const text = part`
    select ${transferColumns.of('m')}
    from ${rowsIn('transfers', { storeId, filter }, { ...range, min: end ?? range.min })}
      and ${isMet(filter, ofKind)}
    order by m.id desc limit ${limit}`;
  const rows = yield* all(statementOf<TransferRow>('rows', 'transfers', { filter, text }));
  return { found: rows.map(transferColumns.read), end: end ?? null };
}

/** Lists the holds of a stretch. */
export function* listHoldsOf(
  storeId: number,
  filter: HoldFilter,
  { max, rowsMax, limit }: Stretch,
): Script<ListStretch<Hold>> {
  const ids = idsOf(filter.createdAt);
  const range = { min: ids.min, max: Math.min(max, ids.max) };
  const end = yield* endOf('holds', { storeId, filter }, range, rowsMax);
  const { status, now } = filter;
  const ofStatus = part`(${any(status)} = 1
    or case when m.status = 'open' and m.expires_at <= ${now} then 'expired' else m.status end = ${status ?? ''})`;
  const text = part`
    select ${holdColumns.of('m')}, (
        select g.currency from gift_cards g where g.store_id = ${storeId} and g.id = m.card_id) as currency
    from ${rowsIn('holds', { storeId, filter }, { ...range, min: end ?? range.min })}
      and ${isMet(filter, ofStatus)}
    order by m.id desc limit ${limit}`;
  const rows = yield* all(statementOf<HoldRow>('rows', 'holds', { filter, text }));
  return { found: rows.map(holdColumns.read), end: end ?? null };
}

/** The highest id that a list can begin at. */
export const newest = idMax;
