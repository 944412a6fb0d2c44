/** A gateway in front of a service that loses requests or responses, as a network does. */

import { createServer, request as openRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The fate of a request: it is lost before or after the service has handled it, or neither. */
type Loss = 'before' | 'after' | 'none';

export type LosingGateway = AsyncDisposable & {
  readonly url: string;
  /** Forwards to another URL from now on. */
  target: string;
  /** Decides about each request. A promise delays it. */
  lose: (request: IncomingMessage) => Loss | Promise<Loss>;
  /** Runs after a response was lost. */
  lost: () => void | Promise<void>;
};

export async function openLosingGateway(target: string): Promise<LosingGateway> {
  const server = createServer((request, response) => void handle(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gateway: LosingGateway = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    lose: () => 'none',
    lost: () => {},
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const loss = await gateway.lose(request);
    try {
      if (loss === 'before') throw new Error('lost');
      const forwarded = openRequest(`${gateway.target}${request.url ?? ''}`, {
        method: request.method,
        headers: request.headers,
        agent: false,
      });
      forwarded.end(body);
      const [received] = (await once(forwarded, 'response')) as [IncomingMessage];
      const bytes = await buffer(received);
      if (loss === 'after') throw new Error('lost');
      response.writeHead(received.statusCode ?? 500, received.headers);
      response.end(bytes);
    } catch {
      if (loss !== 'none') await gateway.lost();
      response.destroy();
    }
  }
  return gateway;
}
