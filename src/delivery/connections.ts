/**
 * The keep-alive connections of webhooks.
 *
 * A connection belongs to one origin and to the address that was checked when it opened. Its age is limited, so that
 * the host is resolved and checked again. The number of idle connections is also limited.
 */

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';

export type ConnectionLimits = {
  /** Connections to one origin; further requests wait for one of them. */
  readonly perOriginMax: number;
  /** Idle connections to all origins; the one that is idle for longest is closed first. */
  readonly idleMax: number;
  /** The longest time that a connection stays open without a request. */
  readonly idleTimeoutMs: number;
  /** The longest use of a connection before its host is resolved and checked again. */
  readonly ageMaxMs: number;
};

export const connectionLimits: ConnectionLimits = Object.freeze({
  perOriginMax: 16,
  idleMax: 256,
  idleTimeoutMs: 15_000,
  ageMaxMs: 60_000,
});

class CheckedAgent extends HttpsAgent {
  readonly #limits: ConnectionLimits;
  readonly #openedAt = new WeakMap<Duplex, number>();
  /** In the order in which they became idle. Connections that closed while idle are removed as the oldest. */
  readonly #idle = new Set<Duplex>();

  constructor(options: AgentOptions, limits: ConnectionLimits) {
    super({
      ...options,
      maxSockets: limits.perOriginMax,
      maxFreeSockets: limits.perOriginMax,
      timeout: limits.idleTimeoutMs,
    });
    this.#limits = limits;
  }

  override createConnection(
    ...parameters: Parameters<HttpsAgent['createConnection']>
  ): ReturnType<HttpsAgent['createConnection']> {
    const socket = super.createConnection(...parameters);
    if (socket) this.#openedAt.set(socket, performance.now());
    return socket;
  }

  /** Node.js keeps the socket if this returns true; its types say void. */
  override keepSocketAlive(socket: Duplex): boolean {
    const age = performance.now() - (this.#openedAt.get(socket) ?? -Infinity);
    if (age > this.#limits.ageMaxMs) return false;
    const isKept = (super.keepSocketAlive(socket) as unknown) === true;
    if (isKept) this.#idle.add(socket);
    while (this.#idle.size > this.#limits.idleMax) this.#closeOldest();
    return isKept;
  }

  override reuseSocket(...[socket, request]: Parameters<HttpsAgent['reuseSocket']>): void {
    this.#idle.delete(socket);
    super.reuseSocket(socket, request);
  }

  #closeOldest(): void {
    const [oldest] = this.#idle;
    if (!oldest) return;
    this.#idle.delete(oldest);
    oldest.destroy();
  }
}

export type WebhookConnections = {
  /** Keep-alive connections. Those without TLS are only for receivers on this machine in development. */
  of(isSecure: boolean): HttpAgent;
  /** A new connection for each request. */
  onceOf(isSecure: boolean): HttpAgent;
  /** Closes all connections, including those in use. */
  close(): void;
};

/** Opens connections. @param ca replaces the trusted certificates. */
export function openConnections({
  ca,
  limits,
}: {
  readonly ca: string | undefined;
  readonly limits: ConnectionLimits;
}): WebhookConnections {
  const tls: AgentOptions = {
    ca,
    // Explicit, because an environment variable can change the default.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    // Ignores the proxies of the environment, even with NODE_USE_ENV_PROXY.
    proxyEnv: undefined,
  };
  const secure = new CheckedAgent({ ...tls, keepAlive: true }, limits);
  const secureOnce = new HttpsAgent({ ...tls, keepAlive: false });
  const plain = new HttpAgent({
    keepAlive: true,
    maxSockets: limits.perOriginMax,
    timeout: limits.idleTimeoutMs,
    proxyEnv: undefined,
  });
  const plainOnce = new HttpAgent({ keepAlive: false, proxyEnv: undefined });
  return {
    of: (isSecure) => (isSecure ? secure : plain),
    onceOf: (isSecure) => (isSecure ? secureOnce : plainOnce),
    close() {
      for (const agent of [secure, secureOnce, plain, plainOnce]) agent.destroy();
    },
  };
}
