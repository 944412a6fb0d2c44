/** Requests of commands to the service, on this machine or through its proxy. */

import { errorText } from '../platform/system-error.ts';
import * as http from 'node:http';
import * as https from 'node:https';
import { textOfResponse } from '../platform/response-text.ts';
import type { Config } from '../start/config.ts';

export type JsonResponse = {
  readonly status: number;
  /** Undefined: the body is not JSON. */
  readonly json: unknown;
};

/** Limits of a request. A body that is longer is an error. */
type RequestLimits = {
  readonly timeoutMs: number;
  readonly bodyBytesMax?: number;
  /** A certificate authority (PEM) to trust instead of the public ones. */
  readonly ca?: string;
};

/** The URL at which a program on this machine reaches the service. An address for every interface becomes a loopback one. */
export function localUrl({ host, port }: Pick<Config, 'host' | 'port'>): string {
  const reached = new Map([
    ['0.0.0.0', '127.0.0.1'],
    ['::', '::1'],
  ]);
  const name = reached.get(host) ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/**
 * Sends a GET request without credentials, not through a proxy of the environment. Redirects are not followed.
 * @throws Error if there is no complete response within the limits. Its message reads after the URL.
 */
export async function getJson(
  url: string,
  { timeoutMs, bodyBytesMax = 65_536, ca }: RequestLimits,
): Promise<JsonResponse> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await respond(url, { signal, bodyBytesMax, ca });
  } catch (error) {
    if (signal.aborted) throw new Error(`no response within ${timeoutMs / 1_000} s`, { cause: error });
    throw new Error(reasonOf(error), { cause: error });
  }
}

function respond(
  url: string,
  {
    signal,
    bodyBytesMax,
    ca,
  }: { readonly signal: AbortSignal; readonly bodyBytesMax: number; readonly ca: string | undefined },
): Promise<JsonResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonResponse>();
  const options = { signal, headers: { accept: 'application/json' } };
  // An own agent, because the global one can use the proxy of the environment.
  const sent = url.startsWith('https:')
    ? https.request(url, {
        ...options,
        agent: new https.Agent({ keepAlive: false, ...(ca !== undefined && { ca }) }),
      })
    : http.request(url, { ...options, agent: new http.Agent({ keepAlive: false }) });
  sent.on('error', reject);
  sent.on('response', (response) => {
    textOfResponse(response, bodyBytesMax).then(
      (body) => resolve({ status: response.statusCode ?? 0, json: parsed(body) }),
      reject,
    );
  });
  sent.end();
  return promise;
}

/** The text of a field; undefined if there is none. */
export function textOfField(json: unknown, name: string): string | undefined {
  if (typeof json !== 'object' || json === null) return undefined;
  const value: unknown = new Map(Object.entries(json)).get(name);
  return typeof value === 'string' ? value : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A name with several addresses fails with one error for each of them. */
function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
  return errorText(first);
}
