/** Sends requests to Google over connections to public addresses, with limits on their time and their responses. */

import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { rootCertificates } from 'node:tls';
import { codeOf, publicErrorCode } from '../../../platform/error-code.ts';
import { ResponseTooLong, textOfResponse } from '../../../platform/response-text.ts';
import { version } from '../../../platform/version.ts';
import type { PublicNetwork } from '../../email/public-socket.ts';
import { checkedLookup, ForbiddenAddress, systemResolve, Unresolved } from '../../public-lookup.ts';
import { connectionLimits, openConnections } from '../../webhooks/connections.ts';

/** For lookup, connection, TLS, request and response together. */
const timeoutMs = 10_000;
const responseBytesMax = 65_536;
const headerBytesMax = 16_384;

type GoogleRequest = {
  readonly host: 'oauth2.googleapis.com' | 'walletobjects.googleapis.com';
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal?: AbortSignal | undefined;
};

export type GoogleResponse =
  | {
      readonly kind: 'responded';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }
  /** @param detail a sentence without a full stop. */
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'cancelled' };

export type GoogleHttp = Disposable & {
  /** Every failure is a result. */
  readonly send: (request: GoogleRequest) => Promise<GoogleResponse>;
};

/** A keep-alive connection was closed at the moment of its next use. */
class Stale extends Error {}

export function openGoogleHttp({
  resolve = systemResolve(),
  rerouteForTests: reroute,
  authority,
}: PublicNetwork): GoogleHttp {
  const ca = authority === undefined ? undefined : [...rootCertificates, authority].join('\n');
  const connections = openConnections({ ca, limits: connectionLimits });
  const lookup = checkedLookup({ resolve, rerouteForTests: reroute?.address });

  async function attempt(sent: GoogleRequest, stop: AbortSignal, isNew: boolean): Promise<GoogleResponse> {
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
        'content-length': Buffer.byteLength(sent.body),
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

function responseOf(outgoing: ClientRequest, body: string): Promise<IncomingMessage> {
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
