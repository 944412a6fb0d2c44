/** Requests that a proxy handed on: then the peer is not who asks. */

import type { IncomingHttpHeaders } from 'node:http';

const names = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/** Whether a request says of itself that a proxy handed it on. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return names.some((name) => headers[name] !== undefined);
}
