/**
 * Connections to the mail servers that owners name. Their host is resolved once for each connection, all its addresses
 * must be public, and the connection goes to a checked address, as with webhooks.
 */

import { connect, isIP, type Socket } from 'node:net';
import { publicErrorCode } from '../platform/error-code.ts';
import { checkedLookup, ForbiddenAddress, systemResolve, Unresolved, type Resolve } from './public-lookup.ts';

/** The TXT records of a name; null: no name server responded. */
export type ResolveText = (name: string) => Promise<readonly string[] | null>;

export type PublicNetwork = {
  /** Default: the system's name servers. */
  readonly resolve?: Resolve;
  /** Returns the TXT records of a name. Default: of the system's name servers. */
  readonly resolveText?: ResolveText;
  /** A certificate authority (PEM), trusted in addition to the public ones. */
  readonly authority?: string;
  /**
   * Replaces a checked address and a port before the connection, so that tests can give hosts public addresses and
   * receive on 127.0.0.1. The service never sets it, and no setting does.
   */
  readonly rerouteForTests?: {
    readonly address: (address: string) => string;
    readonly port: (port: number) => number;
  };
};

/** The codes of nodemailer's errors that `outcomeOf` knows, and one for addresses that are not public. */
type SocketErrorCode = 'EDNS' | 'EFORBIDDEN' | 'ETIMEDOUT' | 'ECONNECTION';

/** An error as the library has it. Its message has no address. */
function socketError(code: SocketErrorCode, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function errorOf(error: Error): Error {
  if (error instanceof ForbiddenAddress) return socketError('EFORBIDDEN', error.message);
  if (error instanceof Unresolved) return socketError('EDNS', error.message);
  return socketError('ECONNECTION', `the connection failed${publicErrorCode(error)}`);
}

/** Connects to a public address of a host. @throws Error with a `SocketErrorCode`. */
export function connectPublic(
  { resolve = systemResolve(), rerouteForTests: reroute }: PublicNetwork,
  { host, port, timeoutMs }: { readonly host: string; readonly port: number; readonly timeoutMs: number },
): Promise<Socket> {
  const { promise, resolve: succeed, reject } = Promise.withResolvers<Socket>();
  // An address in the place of a name would not be looked up, and so not be checked.
  if (isIP(host) !== 0) {
    reject(errorOf(new ForbiddenAddress()));
    return promise;
  }
  const socket = connect({
    host,
    port: reroute ? reroute.port(port) : port,
    lookup: checkedLookup({ resolve, rerouteForTests: reroute?.address }),
    autoSelectFamily: true,
  });
  const late = setTimeout(
    () => socket.destroy(Object.assign(new Error(''), { code: 'ETIMEDOUT' })),
    timeoutMs,
  );
  const failed = (error: Error): void => {
    clearTimeout(late);
    reject(
      'code' in error && error.code === 'ETIMEDOUT'
        ? socketError('ETIMEDOUT', 'the server did not respond in time')
        : errorOf(error),
    );
  };
  socket.once('error', failed);
  socket.once('connect', () => {
    clearTimeout(late);
    socket.off('error', failed);
    succeed(socket);
  });
  return promise;
}
