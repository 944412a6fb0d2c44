/**
 * Posting to the internet: every webhook goes out through here.
 *
 * The receiver is whoever a store names, so neither its address nor its answer is trusted: the host is resolved
 * once for each connection, every address of it must be public, and the connection goes to what was checked; no
 * redirect is followed, no proxy of the environment is used, nothing is decompressed, and time and size are bounded.
 */

import { version } from '../../version.ts';
import { connectionLimits, openConnections, type ConnectionLimits } from './connections.ts';
import {
  exchange,
  failed,
  type Answered,
  type ExchangeLimits,
  type Failed,
  type Outcome,
} from './http-client.ts';
import { checkedLookup, loopbackLookup, systemResolve, type Resolve } from './lookup.ts';
import { parseTarget } from './url.ts';

export type PostRequest = {
  /** The stored address. It is judged again: the rules may have become stricter since. */
  readonly url: string;
  /** By lower-case names. Host, length, connection and user agent are not the caller's to set. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether the post may go to this machine. Default: false. */
  readonly allowLoopback?: boolean;
  /** Calls the attempt off. */
  readonly signal?: AbortSignal;
};

/** `durationMs`: from the call to the result, a wait for a free connection included. */
export type PostResult = (Answered | Failed) & { readonly durationMs: number };

type OutboundLimits = ExchangeLimits &
  ConnectionLimits & {
    /** For the whole exchange: connection, TLS, request, answer. */
    readonly timeoutMs: number;
  };

const outboundLimits: OutboundLimits = Object.freeze({
  ...connectionLimits,
  timeoutMs: 10_000,
  /** Past it the connection is cut off. */
  bodyBytesMax: 65_536,
  headerBytesMax: 16_384,
});

export type OutboundOptions = {
  /** The system's name servers unless given. */
  readonly resolve?: Resolve;
  readonly limits?: Partial<OutboundLimits>;
  /** Certificates in PEM to trust instead of the usual ones. */
  readonly ca?: string;
  /**
   * Turns a checked address into the one that is connected to, so that a test can be the internet: it gives hosts
   * public addresses and receives on 127.0.0.1. The service never sets it, and no setting leads to it.
   */
  readonly rerouteForTests?: (address: string) => string;
};

export type Outbound = {
  /** Never rejects for what a receiver does. @throws TypeError if a header cannot be sent. */
  post(request: PostRequest): Promise<PostResult>;
  /** Closes all connections. Posts in flight fail; call them off first. */
  [Symbol.dispose](): void;
};

const userAgent = `Largesse/${version}`;

/** Opens the way out. Keep one for the whole process: it holds the connections that posts share. */
export function openOutbound(options: OutboundOptions = {}): Outbound {
  const { ca, rerouteForTests, resolve = systemResolve() } = options;
  const limits = { ...outboundLimits, ...options.limits };
  const connections = openConnections({ ca, limits });
  const checked = checkedLookup({ resolve, rerouteForTests });

  async function attempt(request: PostRequest, stop: AbortSignal): Promise<Outcome> {
    const { url, headers, body, allowLoopback = false } = request;
    const parsed = parseTarget(url, { allowLoopback });
    if (!parsed.ok) return failed('forbidden-target', `the address ${parsed.refusal}`);
    const target = parsed.value;
    const common = {
      target,
      headers: { ...headers, 'user-agent': userAgent, 'accept-encoding': 'identity' },
      body,
      lookup: target.isLoopback ? loopbackLookup : checked,
      limits,
      stop,
    };
    const outcome = await exchange({ ...common, agent: connections.of(target.isSecure) });
    if (outcome.kind !== 'stale') return outcome;
    return exchange({ ...common, agent: connections.onceOf(target.isSecure) });
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
          outcome.kind === 'stale' ? failed('closed', 'closed the connection without an answer') : outcome;
        return { ...result, durationMs: Math.round(performance.now() - startedAt) };
      } finally {
        clearTimeout(timer);
        request.signal?.removeEventListener('abort', cancel);
      }
    },
    [Symbol.dispose]: () => connections.close(),
  };
}
