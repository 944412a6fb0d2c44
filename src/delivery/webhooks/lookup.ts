/**
 * The lookup that a connection is opened with: resolves a host once and hands the socket only addresses that were
 * judged, so that there is no second resolution for a name server to answer otherwise (DNS rebinding).
 */

import { Resolver } from 'node:dns/promises';
import { isIPv6, type LookupFunction } from 'node:net';
import { isPublic } from './address.ts';
import { toldCode } from './error-code.ts';

/** Every address of a host. @throws Error if it has none or no name server answers. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The host has an address that nothing may be sent to. The message never tells the address. */
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

/** Of a host's addresses, this many are tried. */
const addressesTriedMax = 8;

export type LookupOptions = {
  readonly resolve: Resolve;
  /** See `OutboundOptions`. */
  readonly rerouteForTests?: ((address: string) => string) | undefined;
};

/**
 * A lookup for sockets. One forbidden address refuses the host with all its addresses: a public host has none, and
 * a receiver that is reached or not by the luck of the draw is worse than a refusal.
 * The socket is destroyed with ForbiddenAddress or Unresolved.
 */
export function checkedLookup({ resolve, rerouteForTests = itself }: LookupOptions): LookupFunction {
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
 * The lookup for `localhost` and the names below it (RFC 6761): this machine, whatever a name server says of it.
 * Addresses written as such are not looked up at all.
 */
export const loopbackLookup: LookupFunction = (_host, options, callback) => {
  process.nextTick(() => {
    if (options.all === true) callback(null, thisMachine);
    else callback(null, '127.0.0.1', 4);
  });
};

async function resolveChecked(host: string, resolve: Resolve): Promise<readonly string[]> {
  const addresses = await resolve(host).catch((error: unknown) => {
    throw new Unresolved(`the host cannot be resolved${toldCode(error)}`, { cause: error });
  });
  if (addresses.length === 0) throw new Unresolved('the host has no address');
  if (!addresses.every(isPublic)) throw new ForbiddenAddress();
  return addresses;
}

function itself(address: string): string {
  return address;
}

const dnsTimeoutMs = 2_000;
const dnsTries = 2;

/**
 * Asks the name servers of the system for all IPv4 and IPv6 addresses.
 *
 * Not `dns.lookup`: that holds one of the process's four threads for as long as a dead name server is silent, so
 * that a few dead hosts would delay all others. A resolver is made each time because it reads the system's settings
 * when it is made: the laptop that has changed networks finds its new name servers. The hosts file and search
 * domains do not count; both lead into private networks.
 *
 * @param servers other name servers than the system's, `address:port`.
 */
export function systemResolve(servers?: readonly string[]): Resolve {
  return async (host) => {
    const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: dnsTries });
    if (servers) resolver.setServers(servers);
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0 && failed) throw failed.reason;
    return addresses;
  };
}
