/** Requests of commands to the service that runs on this machine. */

import { Agent, request } from 'node:http';
import type { Config } from '../config.ts';

export type LocalResponse = {
  readonly status: number;
  /** Undefined: the body is not JSON. */
  readonly json: unknown;
};

/** A longer body is not from the service. */
const bodyBytesMax = 65_536;

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
 * Sends a GET request without credentials, not through a proxy.
 * @throws Error if there is no complete response within the limit. Its message reads after the URL.
 */
export async function getLocally(
  url: string,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<LocalResponse> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await respond(url, signal);
  } catch (error) {
    if (signal.aborted) throw new Error(`no response within ${timeoutMs / 1_000} s`, { cause: error });
    throw new Error(reasonOf(error), { cause: error });
  }
}

function respond(url: string, signal: AbortSignal): Promise<LocalResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<LocalResponse>();
  // An own agent, because the global one can use the proxy of the environment.
  const sent = request(url, {
    agent: new Agent({ keepAlive: false }),
    signal,
    headers: { accept: 'application/json' },
  });
  sent.on('error', reject);
  sent.on('response', (response) => {
    const parts: Buffer[] = [];
    let length = 0;
    response.on('error', reject);
    response.on('data', (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > bodyBytesMax) response.destroy(new Error('the response is too long'));
    });
    response.on('end', () => {
      const body = Buffer.concat(parts).toString();
      resolve({ status: response.statusCode ?? 0, json: parsed(body) });
    });
  });
  sent.end();
  return promise;
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
  return first instanceof Error ? first.message : String(first);
}
