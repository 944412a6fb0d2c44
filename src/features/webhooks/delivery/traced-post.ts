/** The spans of an attempt to deliver an event: one for the message, and one for the request to the receiver. */

import type { ClaimedDelivery } from '../storage/delivery-queue.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import { isAccepted, type PostResult } from './post.ts';

/** Only the host of the URL is recorded, because its path can contain a secret. */
export function tracedPost(
  tracing: Tracing,
  { delivery, url }: { readonly delivery: ClaimedDelivery; readonly url: string },
  post: (headers: Readonly<Record<string, string>>) => Promise<PostResult>,
): Promise<PostResult> {
  const { hostname, port, protocol } = new URL(url);
  const request = {
    name: 'POST',
    attributes: {
      'http.request.method': 'POST',
      'server.address': hostname.replace(/^\[(.*)\]$/, '$1'),
      'server.port': port === '' ? defaultPortOf(protocol) : Number(port),
    },
    resultOf: (posted: PostResult) => ({ ...statusOf(posted), ...errorOf(posted) }),
  };
  const message = {
    queue: 'events' as const,
    stored: delivery.traceContext,
    attributes: {
      'largesse.event.type': delivery.event.type,
      'largesse.delivery.attempt': delivery.attempts + 1,
    },
    resultOf: errorOf,
  };
  return tracing.delivery(message, () => tracing.call(request, post));
}

function defaultPortOf(protocol: string): number {
  return protocol === 'https:' ? 443 : 80;
}

function statusOf(posted: PostResult) {
  return posted.kind === 'responded' ? { 'http.response.status_code': posted.status } : {};
}

function errorOf(posted: PostResult) {
  if (isAccepted(posted)) return {};
  return { 'error.type': posted.kind === 'responded' ? String(posted.status) : posted.reason };
}
