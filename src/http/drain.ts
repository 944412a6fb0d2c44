/**
 * Closes connections on which the client may still be sending.
 *
 * If data arrives after a socket is closed, the connection is reset, and the client may lose a response that it has not
 * read (RFC 9112, 9.6). So the server ends its side, discards incoming data for a bounded time and number of bytes, and
 * then destroys the socket.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../platform/limits.ts';

type DrainLimits = Pick<Limits, 'drainIdleMs' | 'drainMaxMs' | 'drainBytesMax'>;

const draining = new WeakSet<Socket>();

/** Whether the connection is closing, after which no data is written to it. */
export function isDraining(socket: Socket): boolean {
  return draining.has(socket);
}

/** Whether the client has sent the whole request. */
export function isReceived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/**
 * Ends a connection after the data that is already written. It is destroyed when the client has closed it, has been
 * silent for `drainIdleMs`, or has reached another limit.
 * @param request the incomplete request on the connection, if there is one.
 */
export function drain(socket: Socket, limits: DrainLimits, request?: IncomingMessage): void {
  if (socket.destroyed || draining.has(socket)) return;
  draining.add(socket);
  const destroy = (): void => void socket.destroy();
  const deadline = setTimeout(destroy, limits.drainMaxMs);
  let silence: NodeJS.Timeout | undefined;
  let bytes = 0;
  socket.once('close', () => {
    clearTimeout(deadline);
    clearTimeout(silence);
  });
  socket.end(() => {
    if (socket.readableEnded) return destroy();
    socket.once('end', destroy);
    silence = setTimeout(destroy, limits.drainIdleMs);
  });
  // Detaches the socket from the HTTP parser, which would read further requests.
  const readFromSocket = (): void => {
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      silence?.refresh();
      if (bytes > limits.drainBytesMax) destroy();
    });
  };
  // The parser pauses the socket while a body is not consumed, and only the parser can resume it.
  request?.resume();
  socket.resume();
  setImmediate(() => {
    if (!socket.isPaused()) return readFromSocket();
    socket.once('resume', readFromSocket);
    socket.resume();
  });
}
