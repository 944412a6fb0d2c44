/** A payment provider as a server with TLS on this machine, which can lose requests and responses. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { isIP, type AddressInfo } from 'node:net';
import type { PublicNetwork } from '../../src/delivery/public-socket.ts';
import { issueAuthority, issueRsa } from './wallet-certificates.ts';

export type ProviderRequest = {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export type ProviderResponse = {
  readonly status: number;
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** `lost-before`: the request does not arrive. `lost-after`: it is carried out, and its response does not arrive. */
type ProviderFault = 'lost-before' | 'lost-after' | ProviderResponse | undefined;

export type ProviderServer = AsyncDisposable & {
  readonly port: number;
  /** The certificate of the authority that has issued the server's. */
  readonly authority: string;
  /** Reaches the server at its public host. */
  readonly network: PublicNetwork;
  readonly requests: ProviderRequest[];
  /** Decides about each request before it is carried out. */
  fault: (request: ProviderRequest) => ProviderFault | Promise<ProviderFault>;
};

const publicAddress = '93.184.215.14';
const dayMs = 86_400_000;

/** Starts a server for a host, whose requests a function carries out. */
export async function startProviderServer(
  host: string,
  handle: (request: ProviderRequest) => ProviderResponse | Promise<ProviderResponse>,
): Promise<ProviderServer> {
  const period = { from: Date.now() - dayMs, until: Date.now() + 3_650 * dayMs };
  const issuer = issueAuthority(period.from, period.until);
  const issued = (name: string) =>
    issueRsa({ subject: [{ name: 'commonName', value: name }], host: name, issuer, ...period });
  const [own, local] = [issued(host), issued('localhost')];
  const requests: ProviderRequest[] = [];

  async function respond(incoming: IncomingMessage, outgoing: ServerResponse, body: string): Promise<void> {
    const url = new URL(incoming.url ?? '/', `https://${host}`);
    const { method = '', headers } = incoming;
    const request = { method, path: url.pathname, query: url.searchParams, headers, body };
    requests.push(request);
    const fault = await server.fault(request);
    if (fault === 'lost-before') return void incoming.socket.destroy();
    const response = typeof fault === 'object' ? fault : await handle(request);
    if (fault === 'lost-after') return void incoming.socket.destroy();
    const text = typeof response.body === 'string' ? response.body : JSON.stringify(response.body);
    outgoing
      .writeHead(response.status, { 'content-type': 'application/json', ...response.headers })
      .end(text);
  }

  const listening = createServer({ cert: local.certificate, key: local.key }, (incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (part: string) => (body += part));
    incoming.on('end', () => {
      respond(incoming, outgoing, body).catch((error: unknown) => {
        outgoing.writeHead(500).end(String(error));
      });
    });
  });
  listening.addContext(host, { cert: own.certificate, key: own.key });
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const server: ProviderServer = {
    port,
    authority: issuer.certificate,
    network: {
      authority: issuer.certificate,
      resolve: async (name) => await Promise.resolve(name === host ? [publicAddress] : []),
      rerouteForTests: {
        address: (address) => (isIP(address) === 0 ? address : '127.0.0.1'),
        port: () => port,
      },
    },
    requests,
    fault: () => undefined,
    async [Symbol.asyncDispose]() {
      listening.closeAllConnections();
      listening.close();
      await Promise.resolve();
    },
  };
  return server;
}

type Stored = { readonly print: string; response: ProviderResponse | undefined };

/** The responses of requests with keys. `reused`: with other parameters. `busy`: the first one is in progress. */
export function idempotentResponses(lifeMs: number, now: () => number) {
  const stored = new Map<string, Stored & { readonly at: number }>();
  return {
    async respond(
      key: string | undefined,
      print: string,
      {
        carryOut,
        reused,
        busy,
      }: {
        readonly carryOut: () => ProviderResponse | Promise<ProviderResponse>;
        readonly reused: () => ProviderResponse;
        readonly busy: () => ProviderResponse;
      },
    ): Promise<ProviderResponse> {
      if (key === undefined) return await carryOut();
      const found = stored.get(key);
      if (found && now() - found.at < lifeMs) {
        if (found.print !== print) return reused();
        return found.response ?? busy();
      }
      const entry = { print, at: now(), response: undefined as ProviderResponse | undefined };
      stored.set(key, entry);
      entry.response = await carryOut();
      return entry.response;
    },
    /** A request that was rejected before it was carried out is not stored. */
    forget: (key: string) => stored.delete(key),
  };
}
