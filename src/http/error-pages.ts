/** Errors at paths that are not the API's: a page for browsers, and the problem document for all other clients. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault, FaultCode } from '../core/domain/fault.ts';
import { prefersHtml } from './accept.ts';
import type { Route } from './route.ts';

/** Sends a page with the status of a fault. */
export type SendErrorPage = (
  request: FastifyRequest,
  reply: FastifyReply,
  error: {
    readonly fault: Fault;
    /** The error that the page shows. */
    readonly shown: FaultCode;
  },
) => Promise<FastifyReply>;

/** The errors of a browser that follows a link, and what the page shows. */
const shownErrors: Partial<Record<FaultCode, FaultCode>> = {
  'not-found': 'not-found',
  'method-not-allowed': 'method-not-allowed',
  'internal-error': 'internal-error',
  // A path that cannot be decoded.
  'invalid-request': 'not-found',
};

/**
 * Returns the error that a page shows, if the response to a request is one. It sets `Vary` where the response depends on
 * what the client accepts.
 */
export function errorPages(
  operations: readonly Pick<Route, 'path'>[],
  basePath: string,
): (request: FastifyRequest, reply: FastifyReply, code: FaultCode) => FaultCode | undefined {
  const ofApi = new Set(operations.map(({ path }) => firstSegment(path)));
  const isOfApi = (url: string): boolean =>
    ofApi.has(firstSegment(url)) ||
    (url.startsWith(`${basePath}/`) && ofApi.has(firstSegment(url.slice(basePath.length))));
  return ({ url, headers }, reply, code) => {
    const shown = shownErrors[code];
    if (shown === undefined || isOfApi(url)) return undefined;
    reply.header('vary', 'accept');
    return prefersHtml(headers.accept) ? shown : undefined;
  };
}

/** The part of a path between its first and second slash. */
function firstSegment(path: string): string {
  return /^\/([^/?#;]*)/.exec(path)?.[1] ?? '';
}
