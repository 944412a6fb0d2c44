/**
 * Closing a connection on which the client may still be sending.
 *
 * Closing it while bytes arrive resets it, and the reset may take the response from a client that has not read it yet
 * (RFC 9112, 9.6). So the server ends its side, reads and discards what arrives for a bounded time and a bounded
 * number of bytes, and then destroys the socket.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../config.ts';

type LingerLimits = Pick<Limits, 'lingerIdleMs' | 'lingerMaxMs' | 'lingerBytesMax'>;

const lingering = new WeakSet<Socket>();

/** Whether the connection is being closed, so that nothing more is written to it. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/** Whether the client has sent the whole request. */
export function isReceived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/**
 * Ends a connection, after what is already written to it, and destroys it once the client has closed it, has been
 * silent for `lingerIdleMs`, or is over one of the other limits.
 * @param request the request that is not read to its end, if the connection has one.
 */
export function linger(socket: Socket, limits: LingerLimits, request?: IncomingMessage): void {
  if (socket.destroyed || lingering.has(socket)) return;
  lingering.add(socket);
  const destroy = (): void => void socket.destroy();
  const deadline = setTimeout(destroy, limits.lingerMaxMs);
  let silence: NodeJS.Timeout | undefined;
  let bytes = 0;
  socket.once('close', () => {
    clearTimeout(deadline);
    clearTimeout(silence);
  });
  socket.end(() => {
    if (socket.readableEnded) return destroy();
    socket.once('end', destroy);
    silence = setTimeout(destroy, limits.lingerIdleMs);
  });
  // Takes the socket from the HTTP parser, which would go on to read requests.
  const takeOver = (): void => {
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      silence?.refresh();
      if (bytes > limits.lingerBytesMax) destroy();
    });
  };
  // The parser pauses the socket where a body is not consumed, and only the parser can undo that.
  request?.resume();
  socket.resume();
  setImmediate(() => {
    if (!socket.isPaused()) return takeOver();
    socket.once('resume', takeOver);
    socket.resume();
  });
}
