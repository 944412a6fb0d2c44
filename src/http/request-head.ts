/** Checks the head of a request, before its route is known. */

import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { Fault } from '../core/domain/fault.ts';

/**
 * The path and query of a request target. The host of an absolute target replaces the Host header (RFC 9112, 3.2.2).
 */
export function originForm({ url = '/', headers }: IncomingMessage): string {
  if (url.startsWith('/')) return url;
  const [, authority, rest] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url) ?? [];
  if (authority === undefined) return url;
  headers.host = authority;
  return rest?.startsWith('/') ? rest : `/${rest ?? ''}`;
}

/** Keeps the client's request id if it is short and safe to log. */
export function validRequestId(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' && /^[A-Za-z0-9._:/+=@-]{1,128}$/.test(sent) ? sent : undefined;
}

/** Node.js uses the first value of some of these and joins the values of others, so an attacker could choose. */
const singleHeaders = [
  'host', 'authorization', 'x-access-token', 'x-gcf-access-token', 'content-type', 'content-encoding', 'idempotency-key',
]; // prettier-ignore

/** A bit for each of these headers. */
const singleHeaderBits: ReadonlyMap<string, number> = new Map(
  singleHeaders.map((name, place) => [name, 1 << place]),
);

/** Rejects requests that Node's parser accepts and that legitimate clients do not send. */
export function validateHeaders({ raw }: FastifyRequest, headersMax: number): Fault | undefined {
  const { rawHeaders, httpVersionMajor } = raw;
  if (httpVersionMajor < 1) return new Fault('invalid-request', { detail: 'HTTP/0.9 is not supported.' });
  if (raw.headers.host === undefined && raw.httpVersion !== '1.0') {
    return new Fault('invalid-request', { detail: 'The header Host is missing.' });
  }
  if (rawHeaders.length > headersMax * 2) return new Fault('headers-too-large');
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    const bit = singleHeaderBits.get(name) ?? 0;
    if ((seen & bit) !== 0)
      return new Fault('invalid-request', { detail: `The header ${name} is repeated.` });
    seen |= bit;
  }
  return undefined;
}
