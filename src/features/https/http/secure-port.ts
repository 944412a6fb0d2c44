/**
 * The port for HTTPS: accepts connections, completes their TLS handshakes, and passes them to the HTTP server, whose limits
 * then apply to them as to others.
 */

import { createServer as createListener, type Socket } from 'node:net';
import type { Server } from 'node:http';
import { createServer as createTls } from 'node:tls';
import { tlsVersionMin, type Certificate } from '../platform/certificates/certificate.ts';
import { PeerCounts, type ConnectionGuard } from '../../../http/connections.ts';
import { listenOn, type ListenPlace } from '../../../http/listen-place.ts';

export type SecurePort = {
  /** The certificate of new connections. Those that are open keep theirs. */
  readonly use: (certificate: Pick<Certificate, 'chain' | 'key'>) => void;
  /** Returns the port. @throws Error of the system. */
  readonly listen: (place: ListenPlace) => Promise<number>;
  /** Accepts no more connections. Resolves when every connection has ended. */
  readonly close: () => Promise<void>;
};

/** @param server that receives the connections; it does not have to listen. */
export function createSecurePort(server: Server, guard: ConnectionGuard): SecurePort {
  const { limits } = guard;
  const tls = createTls(
    { minVersion: tlsVersionMin, handshakeTimeout: limits.handshakeTimeoutMs, ALPNProtocols: ['http/1.1'] },
    (socket) => void server.emit('connection', socket),
  );
  const handshakes = guardHandshakes(guard);
  // A client can end its side before it has the response, as on a connection of the HTTP server.
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
function guardHandshakes(guard: ConnectionGuard): Handshakes {
  const { limits, onClosed } = guard;
  const peers = new PeerCounts(guard);
  /** In the order in which they began, by the two ends of the connection. */
  const pending = new Map<string, { readonly socket: Socket; readonly uncount: () => void }>();
  const remove = (key: string): void => {
    pending.get(key)?.uncount();
    pending.delete(key);
  };
  return {
    begin(socket) {
      const uncount = peers.add(socket, limits.handshakesPerPeerMax);
      if (!uncount) {
        onClosed('peer limit');
        socket.destroy();
        return false;
      }
      const [longest] = pending;
      if (longest && pending.size >= limits.handshakesMax) {
        const [key, handshake] = longest;
        onClosed('room');
        handshake.socket.destroy();
        // Its end is reported later, and the next connection must not find it again.
        remove(key);
      }
      const key = endsOf(socket);
      pending.set(key, { socket, uncount });
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
