/**
 * The port for HTTPS: accepts connections, completes their TLS handshakes, and passes them to the HTTP server, whose limits
 * then apply to them as to others.
 */

import { createServer as createListener, type Socket } from 'node:net';
import type { Server } from 'node:http';
import { createServer as createTls } from 'node:tls';
import type { Limits } from '../platform/limits.ts';
import { tlsVersionMin, type Certificate } from '../platform/certificates/certificate.ts';
import { addressKey } from './client-address.ts';
import type { CloseReason } from './connections.ts';
import { listenOn, type ListenPlace } from './listen-place.ts';

export type SecurePort = {
  /** The certificate of new connections. Those that are open keep theirs. */
  readonly use: (certificate: Pick<Certificate, 'chain' | 'key'>) => void;
  /** Returns the port. @throws Error of the system. */
  readonly listen: (place: ListenPlace) => Promise<number>;
  /** Accepts no more connections. Resolves when every connection has ended. */
  readonly close: () => Promise<void>;
};

/** @param server that receives the connections; it does not have to listen. */
export function createSecurePort(
  server: Server,
  {
    limits,
    isTrusted,
    onClosed,
  }: {
    readonly limits: Limits;
    readonly isTrusted: (peer: string | undefined) => boolean;
    readonly onClosed: (reason: CloseReason) => void;
  },
): SecurePort {
  const tls = createTls(
    { minVersion: tlsVersionMin, handshakeTimeout: limits.handshakeTimeoutMs, ALPNProtocols: ['http/1.1'] },
    (socket) => void server.emit('connection', socket),
  );
  const handshakes = guardHandshakes({ limits, isTrusted, onClosed });
  // As for connections of the HTTP server, a client can end its side before it has the response.
  const listener = createListener({ allowHalfOpen: true, noDelay: true }, (socket) => {
    if (handshakes.begin(socket)) tls.emit('connection', socket);
  });
  listener.maxConnections = limits.connectionsMax;
  // A handshake that takes too long is an error that does not end the connection by itself.
  tls.on('tlsClientError', (_error, socket) => void socket.destroy());
  tls.on('secureConnection', (socket) => handshakes.end(socket));

  return {
    use({ chain, key }) {
      tls.setSecureContext({ cert: chain, key, minVersion: tlsVersionMin });
    },
    listen: (place) => listenOn(listener, place),
    async close() {
      if (!listener.listening) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      listener.close(() => resolve());
      handshakes.destroyAll();
      await promise;
    },
  };
}

type Handshakes = {
  /** Whether the handshake of a connection can begin. If not, the connection is closed. */
  readonly begin: (socket: Socket) => boolean;
  /** @param socket the encrypted one, which is another object with the same ends. */
  readonly end: (socket: Socket) => void;
  readonly destroyAll: () => void;
};

/** Limits the connections that have not completed their handshake, of each peer and of all. */
function guardHandshakes({
  limits,
  isTrusted,
  onClosed,
}: {
  readonly limits: Limits;
  readonly isTrusted: (peer: string | undefined) => boolean;
  readonly onClosed: (reason: CloseReason) => void;
}): Handshakes {
  /** In the order in which they began, by the two ends of the connection. */
  const pending = new Map<string, { readonly socket: Socket; readonly peer: string | undefined }>();
  const perPeer = new Map<string, number>();
  const count = (peer: string | undefined, change: number): void => {
    if (peer === undefined) return;
    const left = (perPeer.get(peer) ?? 0) + change;
    if (left === 0) perPeer.delete(peer);
    else perPeer.set(peer, left);
  };
  const remove = (key: string): void => {
    const handshake = pending.get(key);
    if (handshake && pending.delete(key)) count(handshake.peer, -1);
  };
  return {
    begin(socket) {
      const peer = isTrusted(socket.remoteAddress) ? undefined : addressKey(socket.remoteAddress ?? '');
      if (peer !== undefined && (perPeer.get(peer) ?? 0) >= limits.handshakesPerPeerMax) {
        onClosed('peer limit');
        socket.destroy();
        return false;
      }
      const [longest] = pending.values();
      if (longest && pending.size >= limits.handshakesMax) {
        onClosed('room');
        longest.socket.destroy();
      }
      const key = endsOf(socket);
      pending.set(key, { socket, peer });
      count(peer, 1);
      socket.once('close', () => remove(key));
      return true;
    },
    end: (socket) => remove(endsOf(socket)),
    destroyAll() {
      for (const { socket } of pending.values()) socket.destroy();
    },
  };
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? 0} ${localAddress ?? ''}`;
}
