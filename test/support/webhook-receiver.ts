/** A receiver of webhooks on this machine. */

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

type Got = {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: {
    readonly id: number;
    readonly type: string;
    readonly sequence: number;
    readonly data: { readonly gift_card?: { readonly id: number; readonly balance: string } };
  };
};

export type WebhookReceiver = AsyncDisposable & {
  readonly url: string;
  readonly got: readonly Got[];
  /** The response to later requests; `null` never responds. */
  response: {
    readonly status: number;
    readonly body?: string;
    readonly headers?: Record<string, string>;
    readonly delayMs?: number;
  } | null;
};

export async function receiveWebhooks(): Promise<WebhookReceiver> {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      got.push({ headers: request.headers, body, event: JSON.parse(body) as Got['event'] });
      const { response: reply } = receiver;
      const respond = (): void => {
        if (reply) response.writeHead(reply.status, reply.headers).end(reply.body);
      };
      if (reply?.delayMs === undefined) respond();
      else setTimeout(respond, reply.delayMs);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    got,
    response: { status: 204 },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return receiver;
}
