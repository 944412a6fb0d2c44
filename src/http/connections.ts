/** The connections of a server: their limits, and which ones are closed. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Limits } from '../platform/limits.ts';
import { addressKey } from './client-address.ts';
import { isReceived, drain } from './drain.ts';

/** The reason why a connection without an error is closed. */
type CloseReason = 'peer limit' | 'room';

export type OpenConnections = {
  /** Tracks a request that does not emit the server's `request` event. */
  follow(request: IncomingMessage, response: ServerResponse): void;
  /** Whether a response can be written to the bare socket: none is in progress or due. */
  canRespond(socket: Socket): boolean;
  /** Destroys the connections without a completely received request. */
  destroyUnfinished(): void;
};

type Connection = {
  /** Responses that are due or in progress. A set would allocate a table for each of them, and few are there at once. */
  readonly responses: ServerResponse[];
  /** The latest request; only this one can be incomplete. */
  request: IncomingMessage | undefined;
};

/** The limits of connections, and the report of those that are closed. */
export type ConnectionGuard = {
  readonly limits: Limits;
  /** Whether a peer is a proxy, whose connections are those of many clients. */
  readonly isTrusted: (peer: string | undefined) => boolean;
  readonly onClosed: (reason: CloseReason) => void;
};

/** The number of connections of each peer that is not a trusted proxy. */
export class PeerCounts {
  readonly #counts = new Map<string, number>();
  readonly #isTrusted: ConnectionGuard['isTrusted'];

  constructor({ isTrusted }: Pick<ConnectionGuard, 'isTrusted'>) {
    this.#isTrusted = isTrusted;
  }

  /** Counts a connection. @returns a function that ends it, called once; undefined: its peer has `max` already. */
  add({ remoteAddress }: Socket, max: number): (() => void) | undefined {
    if (this.#isTrusted(remoteAddress)) return () => {};
    const peer = addressKey(remoteAddress ?? '');
    const before = this.#counts.get(peer) ?? 0;
    if (before >= max) return undefined;
    this.#counts.set(peer, before + 1);
    return () => {
      const left = (this.#counts.get(peer) ?? 0) - 1;
      if (left <= 0) this.#counts.delete(peer);
      else this.#counts.set(peer, left);
    };
  }
}

/**
 * Limits the connections of a server.
 *
 * A peer that is not a trusted proxy can have `connectionsPerPeerMax` connections; more are closed at once. Near
 * `connectionsMax`, a new connection closes the one that has been idle for longest.
 *
 * A connection is idle until the headers of a request have arrived, so a partial header block does not keep it open. If
 * no connection is idle, the oldest one is closed whose responses are complete but not yet read by the client.
 */
export function guardConnections(server: Server, guard: ConnectionGuard): OpenConnections {
  const { limits, onClosed } = guard;
  const connections = new Map<Socket, Connection>();
  const peers = new PeerCounts(guard);
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  const softMax = limits.connectionsMax - limits.connectionsSpare;

  server.on('timeout', (socket: Socket) => {
    // The client has read everything so far, and the response is being computed.
    const isComputing = socket.writableLength === 0 && (connections.get(socket)?.responses.length ?? 0) > 0;
    if (isComputing) socket.setTimeout(limits.stallTimeoutMs);
    else socket.destroy();
  });

  const makeRoom = (newest: Socket): void => {
    const [longest] = idle;
    const victim = longest === newest ? findOldestUnread() : longest;
    if (!victim) return;
    onClosed('room');
    victim.destroy();
    forget(victim);
  };

  const findOldestUnread = (): Socket | undefined =>
    connections
      .entries()
      .find(
        ([, { responses }]) => responses.length > 0 && responses.every(({ writableEnded }) => writableEnded),
      )?.[0];

  const forget = (socket: Socket): void => {
    idle.delete(socket);
    connections.delete(socket);
  };

  server.maxConnections = limits.connectionsMax;
  server.on('connection', (socket: Socket) => {
    const uncount = peers.add(socket, limits.connectionsPerPeerMax);
    if (!uncount) {
      onClosed('peer limit');
      socket.destroy();
      return;
    }
    const connection: Connection = { responses: [], request: undefined };
    connections.set(socket, connection);
    idle.add(socket);
    socket.once('close', () => {
      forget(socket);
      uncount();
    });
    // Node.js calls this after a response with `Connection: close`.
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const { request } = connection;
      if (request && !isReceived(request)) drain(socket, limits, request);
      else destroySoon();
    };
    if (connections.size > softMax) makeRoom(socket);
  });

  const follow = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const connection = connections.get(socket);
    if (!connection) return;
    connection.request = request;
    connection.responses.push(response);
    idle.delete(socket);
    response.once('close', () => {
      connection.responses.splice(connection.responses.indexOf(response), 1);
      if (!isReceived(request)) drain(socket, limits, request);
      if (connection.responses.length === 0 && !socket.destroyed) idle.add(socket);
    });
  };
  server.prependListener('request', follow);

  return {
    follow,
    canRespond(socket) {
      const { responses, request } = connections.get(socket) ?? {};
      if (!responses || responses.length === 0) return true;
      const [response] = responses;
      const isOwn = request !== undefined && responses.length === 1 && !isReceived(request);
      return isOwn && response?.headersSent === false;
    },
    destroyUnfinished() {
      for (const [socket, { request }] of connections)
        if (idle.has(socket) || (request && !isReceived(request))) socket.destroy();
    },
  };
}
