/** Requests as a client of the store sends them: with its token, and some of them signed by its storefront. */

import { createHmac } from 'node:crypto';
import { signingText, type QueryParameter } from '../src/domain/app-proxy.ts';
import type { Call } from './load.ts';

/** What a client knows of its store. */
export type Credentials = {
  readonly domain: string;
  readonly token: string;
  /** What the storefront's app proxy signs with. */
  readonly proxySecret: string;
};

export type Request = {
  readonly method: Call['method'];
  readonly path: string;
  readonly query?: readonly QueryParameter[];
  /** JSON in ASCII. */
  readonly body?: string;
  readonly idempotencyKey?: string;
  readonly isSigned: boolean;
};

/** How long the signed part of a query is used again, in ms: the service takes it for 90 s. */
const signatureLifetimeMs = 10_000;

/** Puts requests of a client into the words of HTTP/1.1. */
export function requestWriter(credentials: Credentials): (request: Request) => string {
  const head = `HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${credentials.token}\r\n`;
  const sign = signer(credentials);
  return ({ method, path, query = [], body, idempotencyKey, isSigned }) => {
    const text = isSigned ? sign(query) : queryText(query);
    const target = text === '' ? path : `${path}?${text}`;
    const key = idempotencyKey === undefined ? '' : `Idempotency-Key: ${idempotencyKey}\r\n`;
    if (body === undefined) return `${method} ${target} ${head}${key}\r\n`;
    const entity = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    return `${method} ${target} ${head}${key}${entity}`;
  };
}

function queryText(query: readonly QueryParameter[]): string {
  return query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
}

/** Signs queries as an app proxy does. The one of a request without parameters of its own is signed now and then. */
function signer({ domain, proxySecret }: Credentials): (query: readonly QueryParameter[]) => string {
  const sign = (query: readonly QueryParameter[]): string => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const parameters: readonly QueryParameter[] = [...query, ['shop', domain], ['timestamp', timestamp]];
    const signature = createHmac('sha256', proxySecret).update(signingText(parameters)).digest('hex');
    return queryText([...parameters, ['signature', signature]]);
  };
  let empty = '';
  let emptySignedAt = Number.NEGATIVE_INFINITY;
  return (query) => {
    if (query.length > 0) return sign(query);
    if (performance.now() - emptySignedAt > signatureLifetimeMs) {
      empty = sign([]);
      emptySignedAt = performance.now();
    }
    return empty;
  };
}
