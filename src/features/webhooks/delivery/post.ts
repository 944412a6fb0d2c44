/**
 * Sends webhooks to the internet.
 *
 * Stores choose the receivers, so neither their URLs nor their responses are trusted. The host is resolved once per
 * connection, all its addresses must be public, and the connection goes to a checked address. Redirects are not
 * followed, proxies of the environment are ignored, nothing is decompressed, and the following is bounded: the time of
 * a request, the bytes of headers and body, the connections per origin, and idle connections. The worker bounds the
 * requests at the same time.
 */

import { version } from '../../../platform/version.ts';
import { connectionLimits, openConnections, type ConnectionLimits } from '../../../delivery/connections.ts';
import {
  failed,
  sendRequest,
  type WebhookResponse,
  type Failed,
  type HttpOutcome,
  type ResponseLimits,
} from './http-client.ts';
import {
  checkedLookup,
  loopbackLookup,
  systemResolve,
  type Resolve,
} from '../../../delivery/public-lookup.ts';
import { parseWebhookUrl } from './url.ts';

export type PostRequest = {
  /** The stored URL. It is validated again, because the rules may be stricter now. */
  readonly url: string;
  /** With lower-case names; without host, length, connection and user agent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether the request can go to this machine. Default: false. */
  readonly allowLoopback?: boolean;
  /** Aborts the attempt. */
  readonly signal?: AbortSignal;
};

/** `durationMs` includes the wait for a connection. */
export type PostResult = (WebhookResponse | Failed) & { readonly durationMs: number };

/** Whether the receiver has accepted the event. */
export function isAccepted(posted: PostResult): boolean {
  return posted.kind === 'responded' && posted.status >= 200 && posted.status < 300;
}

type OutboundLimits = ResponseLimits &
  ConnectionLimits & {
    /** For lookup, connection, TLS, request and response together. */
    readonly timeoutMs: number;
  };

const outboundLimits: OutboundLimits = Object.freeze({
  ...connectionLimits,
  timeoutMs: 10_000,
  /** A longer body is cut off with the connection. */
  bodyBytesMax: 65_536,
  headerBytesMax: 16_384,
});

export type OutboundOptions = {
  /** Default: the system's name servers. */
  readonly resolve?: Resolve;
  readonly limits?: Partial<OutboundLimits>;
  /** Trusted certificates (PEM) instead of the default ones. */
  readonly ca?: string;
  /**
   * Replaces a checked address before the connection, so that tests can give hosts public addresses and receive on
   * 127.0.0.1. The service never sets it, and no setting does.
   */
  readonly rerouteForTests?: (address: string) => string;
};

export type Outbound = {
  /** Every failure of a receiver is a result. @throws TypeError if a header is invalid. */
  post(request: PostRequest): Promise<PostResult>;
  /** Closes all connections. Requests in progress fail; abort them first. */
  [Symbol.dispose](): void;
};

const userAgent = `Largesse/${version}`;

/** Create one per process: requests share its connections. */
export function openOutbound(options: OutboundOptions = {}): Outbound {
  const { ca, rerouteForTests, resolve = systemResolve() } = options;
  const limits = { ...outboundLimits, ...options.limits };
  const connections = openConnections({ ca, limits });
  const checked = checkedLookup({ resolve, rerouteForTests });

  async function attempt(request: PostRequest, stop: AbortSignal): Promise<HttpOutcome> {
    const { url, headers, body, allowLoopback = false } = request;
    const parsed = parseWebhookUrl(url, { allowLoopback });
    if (!parsed.ok) return failed('forbidden-target', `the URL ${parsed.error}`);
    const target = parsed.value;
    const common = {
      url: target,
      headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': 'identity' },
      body,
      lookup: target.isLoopback ? loopbackLookup : checked,
      limits,
      stop,
    };
    const outcome = await sendRequest({ ...common, agent: connections.of(target.isSecure) });
    if (outcome.kind !== 'stale') return outcome;
    return sendRequest({ ...common, agent: connections.onceOf(target.isSecure) });
  }

  return {
    async post(request) {
      const startedAt = performance.now();
      const stop = new AbortController();
      const timer = setTimeout(() => stop.abort('timeout'), limits.timeoutMs);
      const cancel = (): void => stop.abort('cancelled');
      request.signal?.addEventListener('abort', cancel, { once: true });
      if (request.signal?.aborted === true) cancel();
      try {
        const outcome = await attempt(request, stop.signal);
        // A new connection is never stale.
        const result =
          outcome.kind === 'stale' ? failed('closed', 'closed the connection without a response') : outcome;
        return { ...result, durationMs: Math.round(performance.now() - startedAt) };
      } finally {
        clearTimeout(timer);
        request.signal?.removeEventListener('abort', cancel);
      }
    },
    [Symbol.dispose]: () => connections.close(),
  };
}
