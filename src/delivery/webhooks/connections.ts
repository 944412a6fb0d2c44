/**
 * The connections that are kept open between posts.
 *
 * An idle connection stays bound to the address that was checked when it was opened, and to one origin. It is given
 * up after a while all the same, so that a receiver that moves is found and a host that has become forbidden is
 * found out.
 */

import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';

export type ConnectionLimits = {
  /** Connections to one origin; more posts than these wait for one. */
  readonly perOriginMax: number;
  /** Idle connections to all origins; past it, the one that is idle for longest is closed. */
  readonly idleMax: number;
  /** How long a connection stays open without a post. */
  readonly idleTimeoutMs: number;
  /** How long a connection is used before its host is resolved and checked anew. */
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
  /** In the order in which they became idle. Those that closed while idle go when they are the oldest. */
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

  /** Node.js keeps the socket if this answers true, which its types do not say. */
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

export type Connections = {
  /** Connections that are kept. Those without TLS are for development's receivers on this machine only. */
  of(isSecure: boolean): HttpAgent;
  /** A new connection each time. */
  onceOf(isSecure: boolean): HttpAgent;
  /** Closes all kept connections, those in use included. */
  close(): void;
};

/** The connections of one process. `ca` adds nothing to the trusted certificates: it replaces them. */
export function openConnections({
  ca,
  limits,
}: {
  readonly ca: string | undefined;
  readonly limits: ConnectionLimits;
}): Connections {
  const tls: AgentOptions = {
    ca,
    // Said here, because otherwise an environment variable can turn it off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    // Without it an agent heeds no proxy from the environment, whatever NODE_USE_ENV_PROXY says.
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
