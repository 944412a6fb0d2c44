/** Sends requests to services on the internet over connections to public addresses, with limits on time and responses. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { rootCertificates } from 'node:tls';
import { codeOf, publicErrorCode } from '../platform/error-code.ts';
import { ResponseTooLong, textOfResponse } from '../platform/response-text.ts';
import { version } from '../platform/version.ts';
import type { PublicNetwork } from './public-socket.ts';
import { checkedLookup, ForbiddenAddress, systemResolve, Unresolved } from './public-lookup.ts';
import { connectionLimits, openConnections } from './connections.ts';

const headerBytesMax = 16_384;

export type PublicHttpLimits = {
  /** For lookup, connection, TLS, request and response together. */
  readonly timeoutMs: number;
  readonly responseBytesMax: number;
};

const usualLimits: PublicHttpLimits = { timeoutMs: 10_000, responseBytesMax: 65_536 };

type PublicRequest<Host extends string> = {
  readonly host: Host;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: the request has no body. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type PublicResponse =
  | {
      readonly kind: 'responded';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }
  /** @param detail a sentence without a full stop. */
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'cancelled' };

export type PublicHttp<Host extends string> = Disposable & {
  /** Every failure is a result. */
  readonly send: (request: PublicRequest<Host>) => Promise<PublicResponse>;
};

/** A keep-alive connection was closed at the moment of its next use. */
class Stale extends Error {}

/** Opens a client for the hosts that its type names. */
export function openPublicHttp<Host extends string>(
  { resolve = systemResolve(), rerouteForTests: reroute, authority }: PublicNetwork,
  { timeoutMs, responseBytesMax }: PublicHttpLimits = usualLimits,
): PublicHttp<Host> {
  const ca = authority === undefined ? undefined : [...rootCertificates, authority].join('\n');
  const connections = openConnections({ ca, limits: connectionLimits });
  const lookup = checkedLookup({ resolve, rerouteForTests: reroute?.address });

  async function attempt(
    sent: PublicRequest<Host>,
    stop: AbortSignal,
    isNew: boolean,
  ): Promise<PublicResponse> {
    const outgoing = request({
      agent: isNew ? connections.onceOf(true) : connections.of(true),
      lookup,
      method: sent.method,
      host: sent.host,
      servername: sent.host,
      port: reroute ? reroute.port(443) : 443,
      path: sent.path,
      headers: {
        ...sent.headers,
        'user-agent': `Largesse/${version}`,
        'accept-encoding': 'identity',
        ...(sent.body !== undefined && { 'content-length': Buffer.byteLength(sent.body) }),
      },
      maxHeaderSize: headerBytesMax,
      signal: stop,
    });
    const response = await responseOf(outgoing, sent.body);
    return {
      kind: 'responded',
      status: response.statusCode ?? 0,
      retryAfter: response.headers['retry-after'],
      body: await textOfResponse(response, responseBytesMax),
    };
  }

  return {
    async send(sent) {
      const { signal } = sent;
      const late = AbortSignal.timeout(timeoutMs);
      const stop = signal ? AbortSignal.any([signal, late]) : late;
      try {
        return await attempt(sent, stop, false).catch(async (error: unknown) => {
          if (error instanceof Stale) return await attempt(sent, stop, true);
          throw error;
        });
      } catch (error) {
        if (signal?.aborted === true) return { kind: 'cancelled' };
        return { kind: 'failed', detail: late.aborted ? 'no response in time' : failureOf(error) };
      }
    },
    [Symbol.dispose]: () => connections.close(),
  };
}

function responseOf(outgoing: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing
    .on('response', resolve)
    .on('error', (error) => {
      const isStale = outgoing.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
      reject(isStale ? new Stale('', { cause: error }) : error);
    })
    .end(body);
  return promise;
}

function failureOf(error: unknown): string {
  if ([ForbiddenAddress, Unresolved, ResponseTooLong].some((kind) => error instanceof kind))
    return (error as Error).message;
  return `the connection failed${publicErrorCode(error)}`;
}

const wordsLengthMax = 300;

/** The words of another service as a detail can show them. */
export function shownWords(said: string): string {
  return said
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .slice(0, wordsLengthMax)
    .trim();
}
