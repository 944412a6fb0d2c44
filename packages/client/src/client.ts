/** The client: every operation of the service as a method. */

import { streamOf, type StreamOptions } from './event-stream.ts';
import { methods, type Method } from './generated/methods.ts';
import type { Resources } from './generated/resources.ts';
import { listOf, nextQueryOf } from './list.ts';
import type { ClientOptions, ConditionalWriteOptions } from './options.ts';
import { openTransport, type Prepared, type Transport } from './transport.ts';

/** The operations by their resources: `client.cards.create`. */
export type Largesse = Resources;

/** The status and headers of a response. */
export interface ResponseInformation {
  status: number;
  requestId: string | null;
  /** The version of the record, for `ifMatch`. */
  etag: string | null;
  /** Whether the service had applied the write before, and returned the response of that time. */
  isReplayed: boolean;
  headers: Headers;
}

const informationOf = new WeakMap<object, ResponseInformation>();

/** The response of an object that a method has returned. @throws TypeError for any other object. */
export function responseOf(result: object): ResponseInformation {
  const information = informationOf.get(result);
  if (!information) throw new TypeError('the object is not the result of a request');
  return information;
}

/** @throws TypeError for an URL or token that cannot be one. */
export function createClient(options: ClientOptions): Largesse {
  const transport = openTransport(options);
  const resources: Record<string, Record<string, unknown>> = {};
  for (const [name, method] of Object.entries<Method>(methods)) {
    const [resource = '', member = ''] = name.split('.');
    resources[resource] = { ...resources[resource], [member]: methodOf(transport, method) };
  }
  // The types are generated from the same document as the table.
  return resources as unknown as Largesse;
}

/** An argument of a method: the ids of its path, its body or query, and its options. */
type Argument = string | number | object | undefined;

function methodOf(transport: Transport, method: Method): (...arguments_: readonly Argument[]) => unknown {
  const places = method.path.split(/(\{\w+\})/);
  const idsCount = Math.floor(places.length / 2);
  return (...arguments_) => {
    const ids = arguments_.slice(0, idsCount);
    const [input, options] = method.input ? arguments_.slice(idsCount) : [undefined, arguments_[idsCount]];
    const path = places
      .map((place, index) => (index % 2 === 0 ? place : pathPart(place, ids[(index - 1) / 2])))
      .join('');
    if (method.isStream) {
      const { after } = (input ?? {}) as { readonly after?: number | 'latest' };
      return streamOf(transport, after, (options ?? {}) as StreamOptions);
    }
    const request = requestOf(method, { path, input, options: (options ?? {}) as ConditionalWriteOptions });
    const { items } = method;
    if (items === undefined) return sendFor(transport, request).then(({ result }) => result);
    return listOf(
      async (query) => {
        const { result, response } = await sendFor(transport, { ...request, query });
        return { page: result as object, next: nextQueryOf(response) };
      },
      request.query,
      items,
    );
  };
}

/** @throws TypeError for an id that would lead to another path. */
function pathPart(place: string, id: Argument): string {
  if ((typeof id !== 'number' && typeof id !== 'string') || id === '' || /^\.{1,2}$/.test(String(id)))
    throw new TypeError(`${place.slice(1, -1)} must be an id`);
  return encodeURIComponent(id);
}

function requestOf(
  { method, path: template, input: kind, isWrite }: Method,
  {
    path,
    input,
    options,
  }: { readonly path: string; readonly input: Argument; readonly options: ConditionalWriteOptions },
): Prepared & { readonly query: URLSearchParams } {
  const { signal, requestId, visitor, idempotencyKey, dryRun, ifMatch } = options;
  const query = new URLSearchParams();
  if (kind === 'query')
    for (const [name, value] of Object.entries(input ?? {}))
      if (value !== undefined) query.append(name, String(value));
  if (dryRun) query.append('dry_run', 'true');
  return {
    method,
    template,
    path,
    query,
    signal,
    visitor,
    headers: {
      ...(requestId !== undefined && { 'x-request-id': requestId }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    },
    ...(kind === 'body' && input !== undefined && { body: JSON.stringify(input) }),
    ...(isWrite && { idempotencyKey: idempotencyKey ?? crypto.randomUUID() }),
  };
}

/** Sends a request. Its result is the JSON of the response, or the text of another form. */
async function sendFor(
  transport: Transport,
  request: Prepared,
): Promise<{ readonly result: unknown; readonly response: Response }> {
  const { response, text } = await transport.send(request);
  const { status, headers } = response;
  if (!/^application\/json\b/.test(headers.get('content-type') ?? '')) return { result: text, response };
  const result = JSON.parse(text) as object;
  informationOf.set(result, {
    status,
    requestId: headers.get('x-request-id'),
    etag: headers.get('etag'),
    isReplayed: headers.get('idempotent-replayed') === 'true',
    headers,
  });
  return { result, response };
}
