/**
 * The port for HTTP in front of HTTPS: serves the proofs that the certificate authority requests, and redirects browsers.
 * It serves no page of the service and accepts no form, because everyone on the way can read and change what it sends.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { sandboxNotice } from '../../../core/domain/sandbox.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { challengePath } from '../platform/certificates/issue.ts';
import { guardConnections, type ConnectionGuard } from '../../../http/connections.ts';
import { listenOn, type ListenPlace } from '../../../http/listen-place.ts';
import { commonHeadersOf, type CommonHeaders } from '../../../http/problem.ts';

export type PlainPortOptions = ConnectionGuard & {
  /** The origin that browsers are redirected to. */
  readonly origin: string;
  /** Whether there is a certificate with which browsers accept the origin. */
  readonly isSecure: () => boolean;
  /** The reason why there is none yet, in sentences; null: it is being obtained. */
  readonly problem: () => string | null;
  /** The proof for a token that the authority requests; null: there is none. */
  readonly proofOf: (token: string) => Promise<string | null>;
  readonly isSandbox: boolean;
};

export type PlainPort = {
  /** Returns the port. @throws Error of the system. */
  readonly listen: (place: ListenPlace) => Promise<number>;
  readonly close: () => Promise<void>;
};

/** A browser reloads the page until the certificate is there. */
const reloadSeconds = 5;
const tokenForm = /^[\w-]{1,128}$/;

function headersOf(isSandbox: boolean): CommonHeaders {
  return { ...commonHeadersOf(isSandbox), 'cache-control': 'no-store', connection: 'close' };
}

export function createPlainPort(options: PlainPortOptions): PlainPort {
  const { limits } = options;
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.headersTimeoutMs,
      maxHeaderSize: limits.headerBytesMax,
      connectionsCheckingInterval: limits.connectionsCheckPeriodMs,
      requireHostHeader: false,
    },
    (request, response) => void respond(options, request, response),
  );
  server.setTimeout(limits.stallTimeoutMs);
  guardConnections(server, options);
  return {
    listen: (place) => listenOn(server, place),
    async close() {
      if (!server.listening) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      await promise;
    },
  };
}

async function respond(
  { origin, isSecure, problem, proofOf, isSandbox }: PlainPortOptions,
  { method, url = '/' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const headers = headersOf(isSandbox);
  const isRead = method === 'GET' || method === 'HEAD';
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  if (isRead && path.startsWith(challengePath)) {
    const token = path.slice(challengePath.length);
    const proof = tokenForm.test(token) ? await proofOf(token) : null;
    response.writeHead(proof === null ? 404 : 200, { ...headers, 'content-type': 'text/plain' });
    response.end(proof ?? '');
    return;
  }
  if (!isRead) {
    response.writeHead(403, { ...headers, 'content-type': 'text/plain' });
    response.end('This service accepts requests only over HTTPS.\n');
    return;
  }
  if (isSecure()) {
    response.writeHead(308, { ...headers, location: `${origin}${path.startsWith('/') ? path : `/${path}`}` });
    response.end();
    return;
  }
  response.writeHead(503, {
    ...headers,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'retry-after': String(reloadSeconds),
    refresh: String(reloadSeconds),
  });
  response.end(String(waitingPage(origin, { problem: problem(), isSandbox })));
}

function waitingPage(
  origin: string,
  { problem, isSandbox }: { readonly problem: string | null; readonly isSandbox: boolean },
): Markup {
  const { host } = new URL(origin);
  const title = problem === null ? `${host} will be ready soon` : `${host} has no certificate yet`;
  return markup`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body{font:1.125rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}</style>
${
  isSandbox
    ? markup`<p>${sandboxNotice('en')}</p>
`
    : undefined
}<h1>${title}</h1>
<p>${problem ?? 'The service obtains the certificate with which your browser can connect securely. This takes a few seconds.'}</p>
<p>This page reloads by itself, and leads to the service when the certificate is there.</p>
</html>
`;
}
