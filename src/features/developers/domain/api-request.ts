/**
 * Requests to the API, as developers see them, and the blocks in which they are stored. A request has no path, query, body
 * or header except its id. A block lists what requests have in common once; the rest of each one is 26 bytes.
 */

import type { ApiCaller, ApiRequest } from '../../../core/requests/domain/api-request.ts';

export const requestResults = ['success', 'rejected', 'failed'] as const;

export type RequestResult = (typeof requestResults)[number];

export function requestResultOf({ status }: Pick<ApiRequest, 'status'>): RequestResult {
  if (status < 400) return 'success';
  return status < 500 ? 'rejected' : 'failed';
}

export type RequestFilter = {
  readonly result: RequestResult | null;
  readonly caller: ApiCaller | null;
  readonly operation: Pick<ApiRequest, 'method' | 'route'> | null;
  readonly requestId: string | null;
};

type Kind = Pick<ApiRequest, 'method' | 'route' | 'status' | 'problem' | 'caller' | 'hasKey'>;

/** The common values of the requests of a block, as stored. */
type Common = {
  readonly kinds: readonly Kind[];
  /** Request ids that are not UUIDs, by the index of the request. */
  readonly ids: Readonly<Record<string, string>>;
};

export type EncodedRequests = { readonly kinds: string; readonly content: Uint8Array };

/** A request with its index in its block. */
export type IndexedRequest = ApiRequest & { readonly index: number };

const recordLength = 26;
const idOffset = 10;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A client chooses its request ids: one that could be the code of a card or an address is not stored. */
export function storedRequestId(id: string): string | null {
  const isLikeCode = /^[0-9a-z]{8,20}$/i.test(id.replaceAll('-', ''));
  return isLikeCode || id.includes('@') ? null : id;
}

/** Encodes the requests of a block. @param startedAt the time of the first one (ms). */
export function encodeRequests(requests: readonly ApiRequest[], startedAt: number): EncodedRequests {
  const content = new Uint8Array(requests.length * recordLength);
  const view = new DataView(content.buffer);
  const kinds: Kind[] = [];
  const places = new Map<string, number>();
  const ids: Record<string, string> = {};
  for (const [index, request] of requests.entries()) {
    const { at, durationMs, method, route, status, problem, caller, hasKey, requestId } = request;
    const name = `${method} ${route} ${status} ${problem} ${caller} ${hasKey}`;
    let place = places.get(name);
    if (place === undefined) {
      place = kinds.push({ method, route, status, problem, caller, hasKey }) - 1;
      places.set(name, place);
    }
    const offset = index * recordLength;
    view.setUint32(offset, at - startedAt);
    view.setFloat32(offset + 4, durationMs);
    view.setUint16(offset + 8, place);
    if (requestId === null) continue;
    if (uuid.test(requestId)) {
      writeUuid(view, offset + idOffset, requestId);
      continue;
    }
    const id = storedRequestId(requestId);
    if (id !== null) ids[index] = id;
  }
  const common: Common = { kinds, ids };
  return { kinds: JSON.stringify(common), content };
}

/** The requests of a block that match a filter, the newest first. */
export function decodeRequests(
  { kinds: json, content }: EncodedRequests,
  startedAt: number,
  filter: RequestFilter,
): readonly IndexedRequest[] {
  // `encodeRequests` has written it.
  const { kinds, ids } = JSON.parse(json) as Common;
  const matching = kinds.map((kind) => matches(kind, filter));
  if (!matching.includes(true)) return [];
  const view = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const { requestId: wanted } = filter;
  // Most requests have another first word, which is faster to compare than the text.
  const firstWord = wanted !== null && uuid.test(wanted) ? Number.parseInt(wanted.slice(0, 8), 16) : null;
  const found: IndexedRequest[] = [];
  for (let index = content.length / recordLength - 1; index >= 0; index -= 1) {
    const offset = index * recordLength;
    const place = view.getUint16(offset + 8);
    const kind = kinds[place];
    if (!kind || !matching[place]) continue;
    if (firstWord !== null && view.getUint32(offset + idOffset) !== firstWord) continue;
    const requestId = ids[index] ?? uuidOf(content.subarray(offset + idOffset, offset + recordLength));
    if (wanted !== null && requestId !== wanted) continue;
    const at = startedAt + view.getUint32(offset);
    found.push({ ...kind, index, at, durationMs: view.getFloat32(offset + 4), requestId });
  }
  return found;
}

function matches(kind: Kind, { result, caller, operation }: RequestFilter): boolean {
  return (
    (result === null || requestResultOf(kind) === result) &&
    (caller === null || kind.caller === caller) &&
    (operation === null || (kind.method === operation.method && kind.route === operation.route))
  );
}

/** Four words: this takes half as long as `Uint8Array.fromHex`. */
function writeUuid(view: DataView, offset: number, id: string): void {
  view.setUint32(offset, Number.parseInt(id.slice(0, 8), 16));
  view.setUint32(offset + 4, Number.parseInt(id.slice(9, 13) + id.slice(14, 18), 16));
  view.setUint32(offset + 8, Number.parseInt(id.slice(19, 23) + id.slice(24, 28), 16));
  view.setUint32(offset + 12, Number.parseInt(id.slice(28), 16));
}

/** Null: only zeros. */
function uuidOf(bytes: Uint8Array): string | null {
  if (bytes.every((byte) => byte === 0)) return null;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
