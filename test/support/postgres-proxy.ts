/**
 * A TCP proxy in front of a server: it counts, cuts, drops and alters the bytes between clients and the
 * server.
 */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { PostgresServer } from './postgres-server.ts';

export type Direction = 'sent' | 'responded';

export type Proxy = AsyncDisposable & {
  readonly port: number;
  /** The superuser's URL of a database through the proxy. */
  readonly url: (database?: string) => string;
  /** Bytes in each direction since the last `cutAfter`, or the start. */
  readonly bytes: Readonly<Record<Direction, number>>;
  /** Cuts the connection after this many more bytes in one direction. The rest is never delivered. */
  cutAfter(direction: Direction, bytes: number): void;
  readonly hasCut: boolean;
  /** Bytes that clients sent, as Latin-1, from the last `cutAfter` to the cut. */
  readonly sent: string;
  /**
   * Stops delivering in both directions without closing. New connections are accepted and get no response.
   */
  silence(): void;
  /** Delivers the bytes held back, and all later ones. */
  resume(): void;
  /** Alters the responses of the server. The length must not change. */
  alter: ((bytes: Buffer) => Buffer) | undefined;
  readonly connections: number;
};

/** @param server its port is read for each connection: another server can replace it. */
export async function startProxy(server: Pick<PostgresServer, 'port' | 'url'>): Promise<Proxy> {
  const bytes = { sent: 0, responded: 0 };
  const pairs = new Set<readonly [Socket, Socket]>();
  let cut: { readonly direction: Direction; readonly at: number } | undefined;
  let hasCut = false;
  let sent = '';
  let isSilent = false;
  const proxy: { alter: Proxy['alter'] } = { alter: undefined };

  const carry = (direction: Direction, from: Socket, to: Socket): void => {
    from.on('data', (chunk: Buffer) => {
      const before = bytes[direction];
      bytes[direction] += chunk.length;
      if (direction === 'sent' && cut) sent += chunk.toString('latin1');
      const altered = direction === 'responded' && proxy.alter ? proxy.alter(chunk) : chunk;
      if (cut?.direction !== direction || bytes[direction] < cut.at) return void to.write(altered);
      // At least one byte of a response is missing: a client with the whole response could send more into the
      // broken connection.
      const most = direction === 'responded' ? chunk.length - 1 : chunk.length;
      const rest = altered.subarray(0, Math.min(cut.at - before, most));
      cut = undefined;
      hasCut = true;
      // The other side gets the bytes before the cut, and then the end.
      to.end(rest);
      from.destroy();
    });
    from.on('close', () => to.destroySoon());
    // A connection that breaks ends on both sides.
    from.on('error', () => undefined);
  };

  const listener = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1');
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.once('close', () => pairs.delete(pair));
    carry('sent', client, upstream);
    carry('responded', upstream, client);
    if (isSilent) for (const socket of pair) socket.pause();
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;

  return {
    port,
    url(database) {
      const url = new URL(server.url(database));
      url.port = String(port);
      return url.href;
    },
    bytes,
    cutAfter(direction, more) {
      bytes.sent = 0;
      bytes.responded = 0;
      hasCut = false;
      sent = '';
      cut = { direction, at: more };
    },
    get hasCut() {
      return hasCut;
    },
    get sent() {
      return sent;
    },
    silence() {
      isSilent = true;
      for (const socket of [...pairs].flat()) socket.pause();
    },
    resume() {
      isSilent = false;
      for (const socket of [...pairs].flat()) socket.resume();
    },
    get alter() {
      return proxy.alter;
    },
    set alter(alter) {
      proxy.alter = alter;
    },
    get connections() {
      return pairs.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of [...pairs].flat()) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
