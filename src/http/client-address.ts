/** The address of a client, and its key in limits. */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';

/** An IP address; IPv6 has 8 groups. */
type Address = {
  readonly family: 'ipv4' | 'ipv6';
  readonly text: string;
  /** Empty for IPv4. */
  readonly groups: readonly number[];
};

const groupsMax = 8;
/** The groups of a /64, the smallest network that one client is assigned. */
const groupsOfClient = 4;
/** The groups of a /48, the largest network that one customer of a provider usually gets. */
const groupsOfNetwork = 3;

/** Parses an IP address. The IPv4 address in `::ffff:192.0.2.1` is IPv4; a zone (`%eth0`) is ignored. */
function parseAddress(text: string): Address | undefined {
  const address = text.split('%', 1)[0] ?? '';
  const version = isIP(address);
  if (version === 0) return undefined;
  if (version === 4) return { family: 'ipv4', text: address, groups: [] };
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!isMapped) return { family: 'ipv6', text: address.toLowerCase(), groups };
  const bytes = groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]);
  return { family: 'ipv4', text: bytes.join('.'), groups: [] };
}

/** The 8 groups of a valid IPv6 address without a zone. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const left = parseGroups(head);
  if (tail === undefined) return left;
  const right = parseGroups(tail);
  return [...left, ...Array<number>(groupsMax - left.length - right.length).fill(0), ...right];
}

function parseGroups(text: string): readonly number[] {
  if (text === '') return [];
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/**
 * The key of an address in limits: an IPv4 address itself, an IPv6 address by its /64, because one client has the whole
 * network. All invalid addresses have the same key.
 */
export function addressKey(text: string): string {
  const address = parseAddress(text);
  if (!address) return 'unknown';
  return address.family === 'ipv4' ? address.text : `${firstGroups(address, groupsOfClient)}::/64`;
}

/** The key of an address's network in limits: the /24 of an IPv4 address, the /48 of an IPv6 address. */
export function networkKey(text: string): string {
  const address = parseAddress(text);
  if (!address) return 'unknown';
  return address.family === 'ipv4'
    ? `${address.text.slice(0, address.text.lastIndexOf('.'))}.0/24`
    : `${firstGroups(address, groupsOfNetwork)}::/48`;
}

function firstGroups({ groups }: Address, count: number): string {
  return groups
    .slice(0, count)
    .map((group) => group.toString(16))
    .join(':');
}

/** The key of a request's client in limits. */
export function clientKey({ clientAddress }: { readonly clientAddress: string }): string {
  return addressKey(clientAddress);
}

export type ClientAddresses = {
  /** Whether the peer of a connection is a trusted proxy. */
  readonly isTrusted: (peer: string | undefined) => boolean;
  /** The address of a request's client; empty if its connection was closed before its first request. */
  readonly of: (request: IncomingMessage) => string;
};

/**
 * Finds the addresses of clients from connections and trusted proxies.
 * @param trustedProxies addresses and networks, such as `10.0.0.0/8`, whose X-Forwarded-For is trusted.
 */
export function clientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = new BlockList();
  for (const network of trustedProxies) addNetwork(trusted, network);
  const isTrustedProxy = ({ text, family }: Address): boolean => trusted.check(text, family);
  /** The addresses of the open connections' peers, because parsing an IPv6 address takes 1 µs. */
  const peers = new WeakMap<Socket, Address>();
  const peerOf = (socket: Socket): Address | undefined => {
    const known = peers.get(socket);
    if (known) return known;
    const peer = parseAddress(socket.remoteAddress ?? '');
    if (peer) peers.set(socket, peer);
    return peer;
  };
  return {
    isTrusted(peer) {
      const address = parseAddress(peer ?? '');
      return address !== undefined && isTrustedProxy(address);
    },
    of({ socket, headers }) {
      let client = peerOf(socket);
      if (!client || trustedProxies.length === 0 || !isTrustedProxy(client)) return client?.text ?? '';
      // Each proxy appends its peer, so the last entry is the nearest. The first invalid entry ends the search, because
      // the client may have invented the entries before it.
      for (const entry of forwardedFor(headers['x-forwarded-for']).toReversed()) {
        const next = parseAddress(withoutPort(entry));
        if (!next) break;
        client = next;
        if (!isTrustedProxy(next)) break;
      }
      return client.text;
    },
  };
}

function addNetwork(list: BlockList, network: string): void {
  const [text = '', length] = network.split('/');
  const address = parseAddress(text);
  if (!address) throw new Error(`${network} is not a network`);
  const { family } = address;
  if (length === undefined) return list.addAddress(address.text, family);
  const isMapped = family === 'ipv4' && isIP(text) === 6;
  list.addSubnet(address.text, Number(length) - (isMapped ? 96 : 0), family);
}

function forwardedFor(header: string | readonly string[] | undefined): readonly string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',');
  return text.split(',').map((entry) => entry.trim());
}

/** Some proxies append the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, address] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(entry) ?? /^([\d.]+):\d{1,5}$/.exec(entry) ?? [];
  return address ?? entry;
}
