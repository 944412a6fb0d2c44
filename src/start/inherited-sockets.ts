/** Sockets that systemd has opened for the service. */

import { ConfigError } from './config.ts';
/** The sockets that systemd has opened (sd_listen_fds): port 80, then port 443. Null: none. */
type InheritedSockets = { readonly http: number; readonly https: number } | null;

/** @throws ConfigError if there are others. */
export function readInheritedSockets(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  pid = process.pid,
): InheritedSockets {
  const { LISTEN_PID, LISTEN_FDS } = environment;
  if (LISTEN_FDS === undefined || LISTEN_PID !== String(pid)) return null;
  if (LISTEN_FDS !== '2')
    throw new ConfigError([
      `systemd passes ${LISTEN_FDS} sockets, and the service needs two: port 80, then port 443, as in largesse.socket`,
    ]);
  return { http: 3, https: 4 };
}
