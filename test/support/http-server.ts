/** HTTP servers of tests, in place of those that the product sends requests to. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export type HttpServer = AsyncDisposable & { readonly url: string; readonly port: number };

/** Starts a server on this machine. Disposing it ends its connections, also those without a complete response. */
export async function startHttpServer(listener: RequestListener): Promise<HttpServer> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
