/**
 * The DNS lookup of connections: resolves a host once and passes only checked addresses to the socket, so that a name
 * server cannot return another address for a second lookup (DNS rebinding).
 */

import { Resolver } from 'node:dns/promises';
import { isIPv6, type LookupFunction } from 'node:net';
import { isPublic } from '../platform/public-address.ts';
import { publicErrorCode } from '../platform/error-code.ts';

/** Returns all addresses of a host. @throws Error if it has none or no name server responds. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The host has a forbidden address. The message does not contain it. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';

  constructor() {
    super('the host resolves to an address that is not on the public internet');
  }
}

/** The host cannot be resolved. */
export class Unresolved extends Error {
  override readonly name = 'Unresolved';
}

/** The number of addresses of a host that are tried. */
const addressesTriedMax = 8;

export type LookupOptions = {
  readonly resolve: Resolve;
  /** See `OutboundOptions`. */
  readonly rerouteForTests?: ((address: string) => string) | undefined;
};

/**
 * A lookup for sockets. One forbidden address makes the host forbidden: a public host has no such address, and a
 * receiver that is reached only sometimes is worse than an error. The socket is destroyed with ForbiddenAddress or
 * Unresolved.
 */
export function checkedLookup({ resolve, rerouteForTests = identity }: LookupOptions): LookupFunction {
  return (host, options, callback) => {
    const done = (addresses: readonly string[]): void => {
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const [first] = found;
      if (options.all === true) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    };
    resolveChecked(host, resolve).then(
      (addresses) => done(addresses.slice(0, addressesTriedMax).map(rerouteForTests)),
      (error: unknown) => callback(error instanceof Error ? error : new Unresolved(String(error)), ''),
    );
  };
}

const thisMachine = ['127.0.0.1', '::1'].map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));

/**
 * The lookup for `localhost` and its subdomains (RFC 6761): always this machine, without DNS. URLs with an IP address
 * need no lookup.
 */
export const loopbackLookup: LookupFunction = (_host, options, callback) => {
  process.nextTick(() => {
    if (options.all === true) callback(null, thisMachine);
    else callback(null, '127.0.0.1', 4);
  });
};

async function resolveChecked(host: string, resolve: Resolve): Promise<readonly string[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    throw new Unresolved(`the host cannot be resolved${publicErrorCode(error)}`, { cause: error });
  });
  if (addresses.length === 0) throw new Unresolved('the host has no address');
  if (!addresses.every(isPublic)) throw new ForbiddenAddress();
  return addresses;
}

function identity(address: string): string {
  return address;
}

const dnsTimeoutMs = 2_000;
const dnsTries = 2;

/**
 * Queries the name servers of the system for all IPv4 and IPv6 addresses: 2 s each, twice.
 *
 * `dns.lookup` would block one of the process's four threads while a name server does not respond, so a few failing
 * hosts would delay all others. Each lookup creates a resolver, because a resolver reads the system's name servers only
 * once. The hosts file and search domains are ignored; both lead into private networks.
 * @param servers name servers instead of the system's, `address:port`.
 */
export function systemResolve(servers?: readonly string[]): Resolve {
  return async (host) => {
    const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: dnsTries });
    if (servers) resolver.setServers(servers);
    const responses = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = responses.flatMap((response) =>
      response.status === 'fulfilled' ? response.value : [],
    );
    const failed = responses.find((response) => response.status === 'rejected');
    if (addresses.length === 0 && failed) throw failed.reason;
    return addresses;
  };
}
