/** Misbehaviors of receivers, with the reason of each failure. */

import type { Socket } from 'node:net';
import type { FailureReason } from '../../../src/features/webhooks/delivery/http-client.ts';
import type { OutboundOptions } from '../../../src/features/webhooks/delivery/post.ts';
import { expiredCertificate } from './certificates.ts';
import { response, type Received, type ReceiverOptions } from './receiver.ts';

/** Writes a text repeatedly until the connection ends. */
export function endlessly(socket: Socket, text: string, periodMs?: number): void {
  const writeMore = (): void => {
    if (socket.destroyed) return;
    const isTaken = socket.write(text);
    if (periodMs !== undefined) setTimeout(writeMore, periodMs);
    else if (isTaken) setImmediate(writeMore);
    else socket.once('drain', writeMore);
  };
  writeMore();
}

function begun(socket: Socket, text: string): Socket {
  socket.write(text);
  return socket;
}

type Case = {
  readonly behave: (received: Received) => void;
  readonly receiver?: ReceiverOptions;
  readonly options?: Partial<OutboundOptions>;
  readonly host?: string;
  readonly reason: FailureReason;
  readonly detail: RegExp;
};

export const head = 'HTTP/1.1 200 OK\r\n';
/** Reads and does not respond. */
export const quiet = (): void => undefined;
export const cases: Readonly<Record<string, Case>> = {
  'stalls before its response': { behave: quiet, reason: 'timeout', detail: /^no response in time$/ },
  'stalls within its headers': {
    behave: ({ socket }) => socket.write(`${head}content-`),
    reason: 'timeout',
    detail: /^no response in time$/,
  },
  'stalls after its headers': {
    behave: ({ socket }) => socket.write(`${head}content-length: 5\r\n\r\n`),
    reason: 'timeout',
    detail: /^responded with 200, but the response did not end in time$/,
  },
  'drips headers': {
    behave: ({ socket }) => endlessly(begun(socket, head), 'x: y\r\n', 10),
    reason: 'timeout',
    detail: /no response in time/,
  },
  'drips its body': {
    behave: ({ socket }) => endlessly(begun(socket, `${head}content-length: 60000\r\n\r\n`), 'x', 10),
    reason: 'timeout',
    detail: /did not end in time/,
  },
  'accepts the connection without TLS': {
    behave: quiet,
    receiver: { isSecure: false },
    reason: 'timeout',
    detail: /^no TLS in time$/,
  },
  'sends huge headers': {
    behave: ({ socket }) => socket.write(`${head}x: ${'y'.repeat(20_000)}\r\n\r\n`),
    reason: 'too-large',
    detail: /headers/,
  },
  'sends endless headers': {
    behave: ({ socket }) => endlessly(begun(socket, head), 'x: y\r\n'),
    reason: 'too-large',
    detail: /headers/,
  },
  'sends huge chunk extensions': {
    behave: ({ socket }) =>
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\na\r\n`),
    reason: 'too-large',
    detail: /headers/,
  },
  'does not respond with HTTP': {
    behave: ({ socket }) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'),
    reason: 'protocol',
    detail: /^the response is not HTTP \(HPE_/,
  },
  'responds with two lengths': {
    behave: ({ socket }) => socket.write(`${head}content-length: 1\r\ncontent-length: 2\r\n\r\nab`),
    reason: 'protocol',
    detail: /not HTTP/,
  },
  'responds with a length and chunks': {
    behave: ({ socket }) =>
      socket.write(`${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
    reason: 'protocol',
    detail: /not HTTP/,
  },
  'responds with 103 endlessly': {
    behave: ({ socket }) => endlessly(socket, 'HTTP/1.1 103 Early\r\nlink: <x>\r\n\r\n'),
    reason: 'protocol',
    detail: /1xx/,
  },
  'responds with 100 endlessly': {
    behave: ({ socket }) => endlessly(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
    reason: 'protocol',
    detail: /1xx/,
  },
  'changes the protocol': {
    behave: ({ socket }) =>
      socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    reason: 'protocol',
    detail: /change of protocol/,
  },
  'closes without a response': {
    behave: ({ socket }) => socket.end(),
    reason: 'closed',
    detail: /^closed the connection without a response/,
  },
  'resets without a response': {
    behave: ({ socket }) => socket.destroy(),
    reason: 'closed',
    detail: /^closed the connection without a response/,
  },
  'closes within its headers': {
    behave: ({ socket }) => socket.end(`${head}content-`),
    reason: 'closed',
    detail: /without a response/,
  },
  'closes within its body': {
    behave: ({ socket }) => socket.end(`${head}content-length: 50\r\n\r\nabc`),
    reason: 'closed',
    detail: /^responded with 200, but closed the connection before the end/,
  },
  'closes within a chunk': {
    behave: ({ socket }) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n50\r\nabc`),
    reason: 'closed',
    detail: /before the end/,
  },
  'closes at once': {
    behave: quiet,
    receiver: { onConnection: (socket) => socket.destroy() },
    reason: 'tls',
    detail: /^no TLS/,
  },
  'responds without TLS': {
    behave: quiet,
    receiver: { isSecure: false, onConnection: (socket) => socket.write(response(200)) },
    reason: 'tls',
    detail: /\(EPROTO\)/,
  },
  'has the certificate of another host': {
    behave: quiet,
    host: 'third.example.com',
    reason: 'tls',
    detail: /ERR_TLS_CERT_ALTNAME_INVALID/,
  },
  'has an untrusted certificate': {
    behave: quiet,
    options: { ca: expiredCertificate },
    reason: 'tls',
    detail: /\(UNABLE_TO_|SELF_SIGNED/,
  },
  'has a certificate that has expired': {
    behave: quiet,
    receiver: { tls: { cert: expiredCertificate } },
    reason: 'tls',
    detail: /\(CERT_HAS_EXPIRED\)/,
  },
  'supports only TLS 1.1': {
    behave: quiet,
    receiver: { tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } },
    reason: 'tls',
    detail: /\(EPROTO\)/,
  },
};
