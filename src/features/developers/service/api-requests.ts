/**
 * The requests to the API of a store in the last 24 hours. Each process collects them in memory and writes them every few
 * seconds, in blocks: the requests of the last seconds are lost if the process is killed. Requests that were written in
 * another block at the same time are sorted when they are read.
 */

import type { Context } from '../../../core/storage/context.ts';
import {
  decodeRequests,
  encodeRequests,
  requestResultOf,
  requestResults,
  type IndexedRequest,
  type RequestFilter,
} from '../domain/api-request.ts';
import type { ApiRequest } from '../../../core/requests/domain/api-request.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { idsAt } from '../../../platform/random.ts';
import {
  eraseRequestBlocks,
  findRequestBlock,
  hasExcessBlocks,
  listRequestBlocks,
  saveRequestBlock,
  type BlockSummary,
} from '../storage/request-block.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { isStoreClosed } from '../../../core/stores/storage/store.ts';

/** The time for which requests are listed. */
export const requestLogMs = 24 * 60 * 60 * 1_000;

/** Blocks of a store, of all processes. With more, the oldest are erased. */
const blocksMax = 2_000;
/** Requests of a block. A block with at least half as many is not replaced later. */
const blockRequestsMax = 200;
const blockMs = 15 * 60 * 1_000;
/** Stores whose newest block this process still replaces. */
const openBlocksMax = 256;
/** Requests of a store that wait because the database does not accept changes. Further ones are dropped. */
const waitingMax = 2_500;
/** Stores that are written together. */
const writtenTogether = 32;

/** The new requests of a store, and how many were dropped because there were too many. */
export type NewRequests = { readonly requests: readonly ApiRequest[]; readonly dropped: number };

/** A block that this process can still replace. */
type OpenBlock = {
  readonly id: number;
  readonly startedAt: number;
  readonly requests: ApiRequest[];
  dropped: number;
  isWritten: boolean;
};

export type RequestWriter = {
  /** Writes new requests, and those that could not be written before. */
  write(taken: ReadonlyMap<number, NewRequests>): Promise<void>;
  /** Returns the stores to which it has added blocks since the last call. */
  takeGrown(): ReadonlySet<number>;
};

type WriterSource = { readonly ctx: Context; readonly storage: Storage };

class OpenBlocks implements RequestWriter {
  readonly #source: WriterSource;
  readonly #open = new Map<number, OpenBlock[]>();
  #grown = new Set<number>();

  constructor(source: WriterSource) {
    this.#source = source;
  }

  async write(taken: ReadonlyMap<number, NewRequests>): Promise<void> {
    for (const [storeId, ofStore] of taken) this.#add(storeId, ofStore);
    const errors: unknown[] = [];
    const stores = [...this.#open];
    for (let at = 0; at < stores.length; at += writtenTogether) {
      const some = stores.slice(at, at + writtenTogether);
      const writes = await Promise.allSettled(some.map(([storeId, blocks]) => this.#save(storeId, blocks)));
      for (const write of writes) if (write.status === 'rejected') errors.push(write.reason);
    }
    for (const [storeId, blocks] of this.#open) {
      if (this.#open.size <= openBlocksMax) break;
      if (blocks.every(({ isWritten }) => isWritten)) this.#open.delete(storeId);
    }
    // A full disk or an unavailable server has its own lines in the log: these requests are written later.
    const unexpected = errors.filter((error) => !(error instanceof Fault));
    if (unexpected.length > 0) throw new AggregateError(unexpected, 'requests could not be written');
  }

  takeGrown(): ReadonlySet<number> {
    const grown = this.#grown;
    this.#grown = new Set();
    return grown;
  }

  #blockFor(blocks: OpenBlock[], at: number): OpenBlock {
    const last = blocks.at(-1);
    if (last && isOpen(last) && at >= endOf(last) && at - last.startedAt < blockMs) return last;
    const block = {
      id: this.#source.ctx.random.id(),
      startedAt: at,
      requests: [],
      dropped: 0,
      isWritten: false,
    };
    blocks.push(block);
    return block;
  }

  #add(storeId: number, { requests, dropped }: NewRequests): void {
    const blocks = this.#open.get(storeId) ?? [];
    // The stores with the newest requests are last.
    this.#open.delete(storeId);
    this.#open.set(storeId, blocks);
    let waiting = blocks.reduce((sum, each) => sum + (each.isWritten ? 0 : each.requests.length), 0);
    for (const request of requests) {
      const block = this.#blockFor(blocks, request.at);
      if (waiting < waitingMax) block.requests.push(request);
      else block.dropped += 1;
      block.isWritten = false;
      waiting += 1;
    }
    if (dropped === 0) return;
    const block = blocks.at(-1) ?? this.#blockFor(blocks, this.#source.ctx.clock.now());
    block.dropped += dropped;
    block.isWritten = false;
  }

  async #save(storeId: number, blocks: OpenBlock[]): Promise<void> {
    const unwritten = blocks.filter(({ isWritten }) => !isWritten);
    if (unwritten.length === 0) return;
    // The blocks are of this process only, so the transaction can be shared with others.
    try {
      await this.#source.storage.write(() => saveBlocks(storeId, unwritten), { storeId, cardId: null });
    } catch (error) {
      // Another installation has the store, or will have it.
      if (isStoreClosed(error)) this.#open.delete(storeId);
      throw error;
    }
    for (const block of unwritten) block.isWritten = true;
    this.#grown.add(storeId);
    const last = blocks.at(-1);
    if (last && last.requests.length < blockRequestsMax / 2) this.#open.set(storeId, [last]);
    else this.#open.delete(storeId);
  }
}

/** @returns what writes the requests of one process. While the database does not accept changes, they wait. */
export function requestWriter(source: WriterSource): RequestWriter {
  return new OpenBlocks(source);
}

function isOpen({ requests }: OpenBlock): boolean {
  return requests.length < blockRequestsMax;
}

function endOf({ startedAt, requests }: OpenBlock): number {
  return requests.at(-1)?.at ?? startedAt;
}

function* saveBlocks(storeId: number, blocks: readonly OpenBlock[]): Script<void> {
  for (const block of blocks) {
    const { id, startedAt, requests, dropped } = block;
    const found = new Set(requests.map(requestResultOf));
    yield* saveRequestBlock({
      storeId,
      id,
      startedAt,
      endedAt: endOf(block),
      requests: requests.length,
      dropped,
      results: requestResults.filter((result) => found.has(result)),
      ...encodeRequests(requests, startedAt),
    });
  }
}

/** The place of a stored request. */
export type RequestKey = { readonly block: number; readonly index: number };

export type ListedRequest = ApiRequest & RequestKey;

/** A place in the list: after the request, if it still exists. */
export type RequestPlace = RequestKey & { readonly at: number };

export type RequestPage = {
  readonly requests: readonly ListedRequest[];
  /** The place of older requests; null: there are none. */
  readonly next: RequestPlace | null;
  /** Requests of the last 24 hours that were not recorded. */
  readonly dropped: number;
  /** Since when all requests are listed (ms), if older ones were erased because there were too many; null: all are listed. */
  readonly completeFrom: number | null;
};

/** Blocks that are read together, and for one page. To find an id, more are read, because they are compared faster. */
const readTogether = 8;
const readMax = 96;
const readForIdMax = 400;

/** Whether a request comes after a place in the list, in which the newest is first. */
function isAfter(request: RequestPlace, { at, block, index }: RequestPlace): boolean {
  if (request.at !== at) return request.at < at;
  return request.block === block ? request.index < index : request.block < block;
}

/**
 * Returns the requests of a store in the last 24 hours that match a filter, the newest first.
 * @param before the place of the last request of the previous page; null: the first page.
 */
export function* listRequests(
  ctx: Context,
  storeId: number,
  {
    filter,
    before,
    limit,
  }: { readonly filter: RequestFilter; readonly before: RequestPlace | null; readonly limit: number },
): Script<RequestPage> {
  const since = ctx.clock.now() - requestLogMs;
  const blocks = (yield* listRequestBlocks(storeId, blocksMax)).filter(({ endedAt }) => endedAt >= since);
  const unread = blocks
    .filter((block) => canMatch(block, filter) && (before === null || block.startedAt <= before.at))
    .toSorted((left, right) => right.endedAt - left.endedAt);
  const found: ListedRequest[] = [];
  let read = 0;
  /** Blocks that were not read have no request after this time. */
  let end = unread[0]?.endedAt ?? Number.NEGATIVE_INFINITY;
  const max = filter.requestId === null ? readMax : readForIdMax;
  while (read < Math.min(unread.length, max) && found.filter(({ at }) => at > end).length <= limit) {
    const some = unread.slice(read, read + readTogether);
    read += some.length;
    end = unread[read]?.endedAt ?? Number.NEGATIVE_INFINITY;
    const contents = yield* parallel(...some.map(({ id }) => findRequestBlock(storeId, id)));
    for (const [place, encoded] of contents.entries()) {
      // It can have been erased since it was listed.
      const { id: block = 0 } = some[place] ?? {};
      const requests = encoded ? decodeRequests(encoded, encoded.startedAt, filter) : [];
      for (const request of requests) {
        const listed = { ...request, block };
        if (request.at >= since && (before === null || isAfter(listed, before))) found.push(listed);
      }
    }
  }
  // Blocks that were not read can have requests between the others.
  const sorted = found
    .filter(({ at }) => at > end)
    .toSorted((left, right) => (isAfter(right, left) ? -1 : 1));
  const requests = sorted.slice(0, limit);
  const isCut = sorted.length > limit;
  const last = requests.at(-1);
  const oldest = blocks.length === blocksMax ? blocks.at(-1) : undefined;
  return {
    requests,
    next: isCut && last ? last : placeAfter(end),
    dropped: blocks.reduce((sum, { dropped }) => sum + dropped, 0),
    completeFrom: oldest?.startedAt ?? null,
  };
}

function canMatch({ results: found }: BlockSummary, { result }: RequestFilter): boolean {
  return result === null || found.includes(result);
}

/** The place before all requests until an instant. */
function placeAfter(end: number): RequestPlace | null {
  if (end === Number.NEGATIVE_INFINITY) return null;
  return { at: end, block: Number.MAX_SAFE_INTEGER, index: Number.MAX_SAFE_INTEGER };
}

const anyRequest: RequestFilter = { result: null, caller: null, operation: null, requestId: null };

/** @throws Fault `not-found` if it was erased, or is older than 24 hours. */
export function* showRequest(
  ctx: Context,
  storeId: number,
  { block, index }: RequestKey,
): Script<ApiRequest> {
  const encoded = yield* findRequestBlock(storeId, block);
  const requests: readonly IndexedRequest[] = encoded
    ? decodeRequests(encoded, encoded.startedAt, anyRequest)
    : [];
  const found = requests.find((request) => request.index === index);
  if (!found || found.at < ctx.clock.now() - requestLogMs) throw new Fault('not-found');
  return found;
}

/** The time after which a block can be erased: it is at most `blockMs` long. */
export const requestsKeptMs = requestLogMs + blockMs;

export { findOldestRequest } from '../storage/request-block.ts';

/** Blocks that can be erased. */
function limitsOf({ clock }: Context) {
  return { before: Math.max(0, idsAt(clock.retainFrom(requestsKeptMs))), blocksMax };
}

/** Whether a store has requests that are too old or too many. */
export function* hasOldRequests(ctx: Context, storeId: number): Script<boolean> {
  return yield* hasExcessBlocks(storeId, limitsOf(ctx));
}

/** Erases up to `limit` blocks of requests that are too old or too many. @returns whether there can be more. */
export function* eraseRequests(ctx: Context, storeId: number, limit: number): Script<boolean> {
  return (yield* eraseRequestBlocks(storeId, { ...limitsOf(ctx), limit })) === limit;
}
