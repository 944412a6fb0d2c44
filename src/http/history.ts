/** A card's history over HTTP: transactions and holds, newest first, page by page. */

import { Fault } from '../domain/fault.ts';
import type { PublicIds } from '../domain/public-id.ts';
import { holdRecordOf, transactionOf } from '../domain/record.ts';
import {
  listCardHolds,
  listCardTransfers,
  showTransfer,
  type Page,
  type PageRequest,
} from '../service/history.ts';
import type { Answer } from '../service/idempotency.ts';
import type { Exchange } from './exchange.ts';
import { idOf } from './reading.ts';

const limitDefault = 50;
const limitMax = 250;

/** `GET /gift_card/{gift_card_id}/transactions` */
export async function listTransactions(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller } = exchange;
  const { publicIds } = ctx.keys;
  const cardId = idOf(exchange, 'gift_card_id');
  const request = pageRequestOf(exchange, publicIds);
  const page = await storage.read(() => listCardTransfers({ storeId: caller.store.id, cardId }, request));
  const transactions = page.items.map((transfer) => transactionOf(publicIds, transfer));
  return listed(exchange, { ...page, items: transactions }, { transactions });
}

/** `GET /transactions/{transaction_id}` */
export async function getTransaction(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller } = exchange;
  const transferId = idOf(exchange, 'transaction_id');
  const transfer = await storage.read(() => showTransfer(caller.store.id, transferId));
  return {
    status: 200,
    headers: jsonHeaders,
    body: JSON.stringify({ transaction: transactionOf(ctx.keys.publicIds, transfer) }),
  };
}

/** `GET /gift_card/{gift_card_id}/holds` */
export async function listHolds(exchange: Exchange): Promise<Answer> {
  const { ctx, storage, caller } = exchange;
  const cardId = idOf(exchange, 'gift_card_id');
  const { publicIds } = ctx.keys;
  const request = pageRequestOf(exchange, publicIds);
  const page = await storage.read(() => listCardHolds({ storeId: caller.store.id, cardId }, request));
  const now = ctx.clock.earliest();
  const holds = page.items.map((hold) => holdRecordOf(publicIds, hold, now));
  return listed(exchange, { ...page, items: holds }, { holds });
}

export const jsonHeaders = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/**
 * Reads which page a list is asked for.
 * @param publicIds absent: `before` and `after` are internal ids.
 * @throws Fault `invalid-query`.
 */
export function pageRequestOf({ query }: Exchange, publicIds?: PublicIds): PageRequest {
  const given = new Map(query);
  const limit = limitOf(given);
  const place = (name: 'before' | 'after'): number | undefined => {
    const id = readInteger(given, name, Number.MAX_SAFE_INTEGER);
    if (id === undefined || !publicIds) return id;
    // A number that is no public id names nothing, as 0 does, which is no internal id.
    return publicIds.read(id) ?? 0;
  };
  const before = place('before');
  const after = place('after');
  if (before !== undefined && after !== undefined) {
    throw new Fault('invalid-query', { errors: { after: ['cannot be combined with before'] } });
  }
  return { limit, before: before ?? null, after: after ?? null };
}

/** How many a page may hold. @throws Fault `invalid-query`. */
export function limitOf(given: ReadonlyMap<string, string>): number {
  return readInteger(given, 'limit', limitMax) ?? limitDefault;
}

/** @throws Fault `invalid-query`. */
function readInteger(given: ReadonlyMap<string, string>, name: string, max: number): number | undefined {
  const text = given.get(name);
  if (text === undefined) return undefined;
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= max) return number;
  throw new Fault('invalid-query', { errors: { [name]: [`must be an integer from 1 to ${max}`] } });
}

/** A page, with RFC 8288 links to its neighbours: `next` is older, `previous` newer. */
export function listed(
  { request, query }: Exchange,
  { items, hasOlder, hasNewer }: Page<{ readonly id: number }>,
  body: object,
): Answer {
  const path = request.url.split('?', 1)[0] ?? '';
  const limit = new Map(query).get('limit') ?? String(limitDefault);
  const [first, last] = [items.at(0), items.at(-1)];
  const links = [
    ...(last && hasOlder ? [`<${path}?limit=${limit}&before=${last.id}>; rel="next"`] : []),
    ...(first && hasNewer ? [`<${path}?limit=${limit}&after=${first.id}>; rel="previous"`] : []),
  ];
  return {
    status: 200,
    headers: { ...jsonHeaders, ...(links.length > 0 && { link: links.join(', ') }) },
    body: JSON.stringify(body),
  };
}
