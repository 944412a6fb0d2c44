/**
 * Answers to requests whose body is not read to its end.
 *
 * Closing a connection on which bytes still arrive resets it, and the reset may take the answer away
 * from a client that has not read it yet (RFC 9112, 9.6). So the answer goes out whole, and the
 * connection is closed once the client has stopped sending.
 */

import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../config.ts';

/** The body of an answer, which ends only after the client has stopped sending. */
export function lingeringBody(request: IncomingMessage, body: string): Readable {
  return Readable.from(linger(request, body), { objectMode: false });
}

async function* linger(request: IncomingMessage, body: string): AsyncGenerator<string> {
  let lastAt = performance.now();
  const until = lastAt + limits.lingerMaxMs;
  request.on('data', () => {
    lastAt = performance.now();
  });
  request.resume();
  yield body;
  while (!request.complete && !request.destroyed) {
    const now = performance.now();
    const left = Math.min(lastAt + limits.lingerIdleMs, until) - now;
    if (left <= 0) return;
    await wait(Math.min(left, 20));
  }
}
