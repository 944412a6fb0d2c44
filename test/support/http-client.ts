/**
 * Sends the requests of tests. It takes a quarter of the processor time of `fetch`, adds no header except for
 * the type and the length of the body, and follows no redirect.
 */

import { Agent, request as openRequest, type IncomingMessage } from 'node:http';
import { buffer as readBuffer } from 'node:stream/consumers';

export type TestResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Absent: the response did not come from `send`. */
  readonly bytes?: Uint8Array;
  /** The body parsed as JSON; undefined if it is not JSON. */
  readonly json: unknown;
};

export type TestRequest = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly body?: string | Uint8Array;
  readonly token?: string;
  /** The connections that it uses; the default is those of all tests of this process. */
  readonly agent?: Agent;
};

const sharedAgent = new Agent({ keepAlive: true });

export async function send(
  url: string,
  { method = 'GET', json, body, token, headers: given, agent = sharedAgent }: TestRequest = {},
): Promise<TestResponse> {
  const headers = new Headers(given);
  const payload = json === undefined ? body : JSON.stringify(json);
  const type = json === undefined ? 'text/plain;charset=UTF-8' : 'application/json';
  if (typeof payload === 'string' && !headers.has('content-type')) headers.set('content-type', type);
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  const bytes = payload === undefined ? undefined : Buffer.from(payload);
  if (bytes || method === 'POST' || method === 'PUT')
    headers.set('content-length', String(bytes?.length ?? 0));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = openRequest(url, { method, agent, headers: Object.fromEntries(headers) }, resolve);
    request.on('error', reject);
    request.end(bytes);
  });
  const received = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct))
    for (const value of values ?? []) received.append(name, value);
  const content = await readBuffer(response);
  const text = decoder.decode(content);
  return { status: response.statusCode ?? 0, headers: received, text, bytes: content, json: parse(text) };
}

/** Without a byte order mark. */
const decoder = new TextDecoder();

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
