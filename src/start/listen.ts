/** The address at which the service listens. */

import type { FastifyInstance } from 'fastify';
import type { ListenPlace } from '../http/listen-place.ts';
import type { Config } from './config.ts';
import { StartError } from './error.ts';

/** @throws StartError if the address cannot be listened on. */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const code = codeOf(error);
    const advice = advices.get(code);
    if (advice === undefined) throw error;
    throw new StartError(advice({ host, port }), { cause: error, isPermanent: code === 'EACCES' });
  }
}

/** Advice for an address that cannot be listened on, by the code of the system's error. */
const advices: ReadonlyMap<string, (address: Pick<Config, 'host' | 'port'>) => string> = new Map([
  ['EADDRINUSE', ({ host, port }) => `port ${port} of ${host} is in use: set PORT to another port`],
  ['EACCES', ({ port }) => `port ${port} needs more rights than this account has: set PORT to another port`],
  [
    'EADDRNOTAVAIL',
    ({ host }) => `${host} is not an address of this machine: set HOST to an address of this machine`,
  ],
  ['ENOTFOUND', ({ host }) => `${host} cannot be resolved to an address: set HOST to another host`],
]);

/** The error of a port for HTTPS that cannot be listened on. @param variable the setting of the port. */
export function securePortError(
  error: unknown,
  { place, variable }: { readonly place: ListenPlace; readonly variable: string },
): unknown {
  const code = codeOf(error);
  if ('fd' in place)
    return new StartError(`socket ${place.fd} of systemd cannot be used: ${code}`, { cause: error });
  if (code === 'EADDRINUSE')
    return new StartError(
      `port ${place.port} is in use, which HTTPS needs: stop the other program, usually a web server, or set ${variable}`,
      { cause: error },
    );
  if (code === 'EACCES')
    return new StartError(
      `port ${place.port} needs more rights than this account has: start the service with the sockets of systemd, as the Debian package does, or set ${variable} to a port to which the port is forwarded`,
      { cause: error, isPermanent: true },
    );
  return error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function listeningUrl(app: FastifyInstance, { host }: Config): string {
  const address = app.server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen on a port');
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}
