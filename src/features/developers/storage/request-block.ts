/** Blocks of requests to the API. */

import { requestResults, type EncodedRequests, type RequestResult } from '../domain/api-request.ts';
import { instantOf } from '../../../platform/random.ts';
import { bytes, columns, integer, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** A block without its requests. */
export type BlockSummary = {
  readonly storeId: number;
  readonly id: number;
  /** The first and the last request (ms). */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly requests: number;
  /** Requests that were not recorded. */
  readonly dropped: number;
  readonly results: readonly RequestResult[];
};

const summary = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  started_at: integer('startedAt'),
  ended_at: integer('endedAt'),
  requests: integer('requests'),
  dropped: integer('dropped'),
  results: {
    field: 'results',
    read: (bits: bigint): readonly RequestResult[] =>
      requestResults.filter((_, place) => (Number(bits) & (1 << place)) !== 0),
    write: ({ results: found }: Pick<BlockSummary, 'results'>) =>
      found.reduce((bits, result) => bits | (1 << requestResults.indexOf(result)), 0),
  },
});

const content = columns({ kinds: text('kinds'), content: bytes('content') });

/** Inserts a block, or replaces what it contains. */
export function* saveRequestBlock(block: BlockSummary & EncodedRequests): Script<void> {
  yield* execute(sql`
    insert into request_blocks (${summary.names}, ${content.names})
    values (${summary.values(block)}, ${content.values(block)})
    on conflict (store_id, id) do update set ended_at = excluded.ended_at, requests = excluded.requests,
      dropped = excluded.dropped, results = excluded.results, kinds = excluded.kinds, content = excluded.content`);
}

/** Returns the newest blocks of a store, the last one that was begun first. */
export function* listRequestBlocks(storeId: number, limit: number): Script<readonly BlockSummary[]> {
  const rows = yield* all(sql<RowOf<typeof summary>>`
    select ${summary.names} from request_blocks where store_id = ${storeId} order by id desc limit ${limit}`);
  return rows.map((row) => summary.read(row));
}

/** Returns the requests of a block, and when it began. */
export function* findRequestBlock(
  storeId: number,
  id: number,
): Script<(EncodedRequests & { readonly startedAt: number }) | undefined> {
  type Row = RowOf<typeof content> & { readonly started_at: bigint };
  const row = yield* first(sql<Row>`
    select started_at, ${content.names} from request_blocks where store_id = ${storeId} and id = ${id}`);
  return row && { startedAt: toNumber(row.started_at), ...content.read(row) };
}

/** Returns the age (ms) of the oldest block of a store; null: there is none. */
export function* findOldestRequest(storeId: number): Script<number | null> {
  const row = yield* first(sql<{ id: bigint }>`
    select id from request_blocks where store_id = ${storeId} order by id limit 1`);
  return row ? instantOf(toNumber(row.id)) : null;
}

export type BlockLimits = {
  /** Blocks with smaller ids are too old. */
  readonly before: number;
  /** Older blocks are one too many. */
  readonly blocksMax: number;
};

/** Whether a store has blocks that are too old or too many. */
export function* hasExcessBlocks(storeId: number, { before, blocksMax }: BlockLimits): Script<boolean> {
  const rows = yield* all(sql`
    select 1 as one where exists (
        select 1 as one from request_blocks where store_id = ${storeId} and id < ${before})
      or exists (
        select 1 as one from request_blocks where store_id = ${storeId}
        order by id desc limit 1 offset ${blocksMax})`);
  return rows.length > 0;
}

/** Deletes up to `limit` blocks that are too old or too many, the oldest first. Returns their number. */
export function* eraseRequestBlocks(
  storeId: number,
  { before, blocksMax, limit }: BlockLimits & { readonly limit: number },
): Script<number> {
  const erased = yield* all(sql`
    delete from request_blocks where store_id = ${storeId} and id in (
      select id from request_blocks where store_id = ${storeId} and (
        id < ${before} or id <= (
          select id from request_blocks where store_id = ${storeId} order by id desc limit 1 offset ${blocksMax}))
      order by id limit ${limit})
    returning id`);
  return erased.length;
}
