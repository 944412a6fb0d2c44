/** The place at which a server listens. */

import type { Server } from 'node:net';

export type ListenPlace =
  /** A port on every address of this machine. */
  | { readonly port: number }
  /** A socket that the process was started with. */
  | { readonly fd: number };

/** Returns the port. @throws Error of the system. */
export async function listenOn(server: Server, place: ListenPlace): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(place, resolve);
  await promise;
  server.off('error', reject);
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return address.port;
}
