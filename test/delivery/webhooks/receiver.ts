/** Receivers on this machine with any behavior, and an outbound client that uses this machine as the internet. */

import { createServer as createPlainServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type TlsOptions } from 'node:tls';
import {
  openOutbound,
  type Outbound,
  type OutboundOptions,
} from '../../../src/features/webhooks/delivery/post.ts';
import { authority, certificate, certificateKey } from './certificates.ts';

/** A public address that the client replaces by 127.0.0.1. Nothing is sent to it. */
export const publicAddress = '93.184.215.14';

export type Received = {
  /** The bytes of the request: request line, headers, body. */
  readonly text: string;
  readonly socket: Socket;
  /** The number of this request on its connection, from 1. */
  readonly nth: number;
};

export type Receiver = AsyncDisposable & {
  readonly port: number;
  /** `https://receiver.example.com:<port>/hook` */
  readonly url: string;
  readonly received: readonly Received[];
  /** Connections opened so far. */
  readonly connections: () => number;
};

export type ReceiverOptions = {
  /** False: without TLS. */
  readonly isSecure?: boolean;
  readonly tls?: TlsOptions;
  /** Called with each connection, before anything is read. */
  readonly onConnection?: (socket: Socket) => void;
};

/** A receiver that calls `behave` with each request, which writes any response to the socket. */
export async function receive(
  behave: (received: Received) => void,
  { isSecure = true, tls = {}, onConnection }: ReceiverOptions = {},
): Promise<Receiver> {
  const received: Received[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const talk = (socket: Socket): void => {
    let text = '';
    let nth = 0;
    socket.on('error', () => socket.destroy());
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      const [head = '', length = '0'] =
        /^[\s\S]*?\r\ncontent-length: (\d+)[\s\S]*?\r\n\r\n/i.exec(text) ?? [];
      if (head === '' || text.length < head.length + Number(length)) return;
      nth += 1;
      const one: Received = { text, socket, nth };
      text = '';
      received.push(one);
      behave(one);
    });
  };
  const server: Server = isSecure
    ? createSecureServer({ cert: certificate, key: certificateKey, ...tls }, talk)
    : createPlainServer(talk);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    onConnection?.(socket);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${isSecure ? 'https://receiver.example.com' : 'http://127.0.0.1'}:${port}/hook`,
    received,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

/** A complete response. */
export function response(status: number, body = '', headers = ''): string {
  return `HTTP/1.1 ${status} Said\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Responds to every request with a status and a body. */
export function responding(status: number, body = '', headers = ''): (received: Received) => void {
  return ({ socket }) => socket.write(response(status, body, headers));
}

/** A client for which every host has the public address, replaced by this machine. */
export function outboundHere(options: Partial<OutboundOptions> = {}): Outbound {
  return openOutbound({
    ca: authority,
    resolve: () => Promise.resolve([publicAddress]),
    rerouteForTests: () => '127.0.0.1',
    ...options,
  });
}
