/** Ports of this machine for servers that keep their port while they are stopped. */

import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

/** Below the ports of outgoing connections, which cannot occupy a stopped server's port. */
const ports = { from: 20_000, below: 32_000 } as const;

/** Whether a port of this machine accepts connections. */
export function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Returns a port of this machine that is free now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.below);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** Returns different ports of this machine that are free now: two calls of `freePort` can return the same one. */
export async function freePorts(): Promise<readonly [number, number, number, number, number, number]> {
  const found = new Set<number>();
  while (found.size < 6) found.add(await freePort());
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = found;
  return [a, b, c, d, e, f];
}
