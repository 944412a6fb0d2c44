/** Whether the domain leads to this machine: finds the usual mistakes before an attempt at the authority is spent. */

import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { isIP } from 'node:net';
import { AcmeProblem, shownText } from '../acme/problem.ts';
import { codeOf } from '../../../../platform/error-code.ts';
import { isLoopback } from '../../../../platform/loopback.ts';
import { isPublic } from '../../../../platform/public-address.ts';

const addressesMax = 8;
const bodyBytesMax = 1_024;
const requestMaxMs = 4_000;

/** The addresses of a domain, from its DNS servers and not from files of this machine. @throws AcmeProblem. */
export async function findAddresses(domain: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new dns.promises.Resolver({ timeout: 2_500, tries: 2 });
  // `setServers` of the process replaces the methods of the module.
  resolver.setServers(dns.getServers());
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const results = await Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)]);
  const addresses = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (addresses.length > 0) return addresses.slice(0, addressesMax);
  const hasReply = results.every(
    (result) => result.status === 'rejected' && ['ENOTFOUND', 'ENODATA'].includes(codeOf(result.reason)),
  );
  throw hasReply
    ? new AcmeProblem('noAddress', `${domain} has no address`)
    : new AcmeProblem('dnsUnavailable', `the DNS servers of ${domain} do not respond`);
}

export type Probe = {
  /** 80, except in tests. */
  readonly port: number;
  readonly domain: string;
  /** The path of a proof that this service publishes now. */
  readonly path: string;
  readonly proof: string;
  readonly signal: AbortSignal;
};

/**
 * Requests a proof at each address.
 *
 * Many routers do not lead a machine behind them back to itself, or show their own page instead. So silence proves
 * nothing, and another response only counts if no such router can be the cause.
 *
 * @returns whether an address leads to this machine.
 * @throws AcmeProblem if an address leads to another server.
 */
export async function probeAddresses(addresses: readonly string[], probe: Probe): Promise<boolean> {
  const found = await Promise.all(addresses.map((address) => requestProof(address, probe)));
  for (const [place, response] of found.entries()) {
    const address = addresses[place] ?? '';
    if (response !== 'another') continue;
    if (isIP(address) === 6 || isLoopback(address) || (await isReachedFromPublicAddress(address)))
      throw new AcmeProblem(
        'anotherServer',
        shownText(`${probe.domain} leads to ${address}, where another program responds, not this service.`),
      );
  }
  return found.includes('this');
}

type ProofResponse = 'this' | 'another' | 'none';

async function requestProof(
  address: string,
  { port, domain, path, proof, signal }: Probe,
): Promise<ProofResponse> {
  const { promise, resolve } = Promise.withResolvers<ProofResponse>();
  const sent = get({
    host: address,
    port,
    path,
    headers: { host: domain },
    agent: new Agent({ keepAlive: false }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestMaxMs)]),
  });
  sent.on('error', () => resolve('none'));
  sent.on('response', (response) => {
    let text = '';
    response.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      if (text.length <= bodyBytesMax) return;
      resolve('another');
      response.destroy();
    });
    response.on('error', () => resolve('none'));
    response.on('end', () => resolve(text === proof ? 'this' : 'another'));
  });
  return await promise;
}

/**
 * Whether this machine reaches an IPv4 address from an address of the internet, without a router that translates it.
 * Nothing is sent: connecting a UDP socket only chooses its route. A unit of systemd can forbid to list the interfaces.
 */
async function isReachedFromPublicAddress(address: string): Promise<boolean> {
  const socket = createSocket('udp4');
  try {
    socket.connect(80, address);
    await once(socket, 'connect');
    return isPublic(socket.address().address);
  } catch {
    // There is no route.
    return false;
  } finally {
    socket.close();
  }
}
