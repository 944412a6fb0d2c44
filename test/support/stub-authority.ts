/** A stub of a certificate authority, for responses that a real one gives rarely: limits, failures, renewal windows. */

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { certificate, certificateKey } from './certificate.ts';

type StubReply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or a text. */
  readonly body?: object | string;
};

export type StubAuthority = AsyncDisposable & {
  readonly directory: string;
  /** The paths of the requests, with the payloads of the signed ones. */
  readonly requests: { readonly path: string; readonly payload: unknown }[];
  /** The replies by path; a list has one for each request, and the last one repeats. */
  readonly replies: Map<string, StubReply | StubReply[]>;
};

/** It has a directory, nonces and an account; other paths respond with 404 until they have a reply. */
export async function startStubAuthority(directoryFields: object = {}): Promise<StubAuthority> {
  const requests: { readonly path: string; readonly payload: unknown }[] = [];
  const replies = new Map<string, StubReply | StubReply[]>();
  let nonces = 0;
  const server = createServer({ cert: certificate, key: certificateKey }, (request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString()));
    request.on('end', () => {
      const path = request.url ?? '';
      requests.push({ path, payload: payloadOf(text) });
      const found = replies.get(path);
      const list = Array.isArray(found) ? found : [found];
      const reply = list.length > 1 ? list.shift() : list[0];
      send(response, { nonce: String((nonces += 1)), reply: reply ?? { status: 404 } });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  const at = (path: string): string => `${origin}/${path}`;
  const fields = { newNonce: at('nonce'), newAccount: at('account'), newOrder: at('order'), renewalInfo: at('renewal') };
  replies.set('/directory', { status: 200, body: { ...fields, ...directoryFields } });
  replies.set('/nonce', { status: 200 });
  replies.set('/account', { status: 201, headers: { location: at('account/1') }, body: { status: 'valid' } });
  return {
    directory: at('directory'),
    requests,
    replies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
} // prettier-ignore

function payloadOf(text: string): unknown {
  if (text === '') return null;
  const { payload } = JSON.parse(text) as { readonly payload: string };
  return payload === '' ? '' : JSON.parse(Buffer.from(payload, 'base64url').toString());
}

function send(
  response: ServerResponse,
  { nonce, reply }: { readonly nonce: string; readonly reply: StubReply },
): void {
  response.writeHead(reply.status, { 'replay-nonce': nonce, ...reply.headers });
  response.end(typeof reply.body === 'object' ? JSON.stringify(reply.body) : reply.body);
}
