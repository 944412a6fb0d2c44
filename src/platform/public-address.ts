/**
 * Classifies IP addresses as public or forbidden.
 *
 * Forbidden are all ranges of IANA's special-purpose registries
 * (https://www.iana.org/assignments/iana-ipv4-special-registry, https://www.iana.org/assignments/iana-ipv6-special-registry),
 * including the globally reachable ones (AS112, AMT, anycast addresses of protocols), where no customer has a server; and the
 * metadata services of clouds. Of IPv6, only 2000::/3 is allocated.
 */

import { BlockList, isIP, SocketAddress } from 'node:net';

export type ForbiddenReason =
  | 'not an address'
  | 'scoped'
  | 'unspecified'
  | 'this network'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link-local'
  | 'metadata'
  | 'protocol assignment'
  | 'documentation'
  | 'benchmarking'
  | 'anycast'
  | 'multicast'
  | 'broadcast'
  | 'reserved'
  | 'embedded IPv4'
  | 'tunnel'
  | 'discard'
  | 'overlay'
  | 'segment routing';

export type Classified =
  { readonly kind: 'public' } | { readonly kind: 'forbidden'; readonly reason: ForbiddenReason };

type Family = 'ipv4' | 'ipv6';
type Range = { readonly reason: ForbiddenReason; readonly list: BlockList };
type Row = readonly [reason: ForbiddenReason, ...networks: readonly string[]];

/** The first row that contains an address is its reason, so narrow ranges precede wide ones. */
const ipv4Rows: readonly Row[] = [
  // Metadata of clouds: the common address, container credentials, Alibaba, Oracle, and Azure, whose address is in a
  // range that is otherwise public.
  ['metadata', '169.254.169.254/32', '169.254.170.2/32', '169.254.170.23/32', '169.254.42.42/32'],
  ['metadata', '100.100.100.200/32', '192.0.0.192/32', '168.63.129.16/32'],
  ['unspecified', '0.0.0.0/32'],
  ['this network', '0.0.0.0/8'],
  ['loopback', '127.0.0.0/8'],
  ['private', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
  ['shared', '100.64.0.0/10'],
  ['link-local', '169.254.0.0/16'],
  ['protocol assignment', '192.0.0.0/24'],
  ['documentation', '192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
  ['anycast', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.175.48.0/24'],
  ['benchmarking', '198.18.0.0/15'],
  ['multicast', '224.0.0.0/4'],
  ['broadcast', '255.255.255.255/32'],
  ['reserved', '240.0.0.0/4'],
];

const ipv6Rows: readonly Row[] = [
  // Amazon, Google, Oracle, Scaleway.
  ['metadata', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128', 'fd00:42::42/128'],
  ['unspecified', '::/128'],
  ['loopback', '::1/128'],
  // Mapped, compatible, translated, and NAT64 for local use: they contain any IPv4 address.
  ['embedded IPv4', '::ffff:0:0/96', '::/96', '::ffff:0:0:0/96', '64:ff9b:1::/48'],
  // Teredo and 6to4 also contain an IPv4 address.
  ['tunnel', '2001::/32', '2002::/16'],
  ['benchmarking', '2001:2::/48'],
  ['documentation', '2001:db8::/32', '3fff::/20'],
  ['overlay', '2001:10::/28', '2001:20::/28', '2001:30::/28'],
  ['anycast', '2001:1::/32', '2001:3::/32', '2001:4:112::/48', '2620:4f:8000::/48'],
  ['protocol assignment', '2001::/23'],
  ['discard', '100::/64', '100:0:0:1::/64'],
  ['segment routing', '5f00::/16'],
  ['private', 'fc00::/7', 'fec0::/10'],
  ['link-local', 'fe80::/10'],
  ['multicast', 'ff00::/8'],
  // The experimental 6bone, returned in 2006.
  ['reserved', '3ffe::/16'],
];

/**
 * DNS64 gives every name without an IPv6 address one of these, so they are classified by the IPv4 address in their
 * last 32 bits (RFC 6052).
 */
const nat64 = '64:ff9b::';
const nat64Prefix = 96;

function rangesOf(rows: readonly Row[], family: Family): readonly Range[] {
  return rows.map(([reason, ...networks]) => {
    const list = new BlockList();
    for (const network of networks) {
      const [address = '', prefix = ''] = network.split('/');
      list.addSubnet(address, Number(prefix), family);
    }
    return { reason, list };
  });
}

function throughNat64([reason, ...networks]: Row): Row {
  const translated = networks.map((network) => {
    const [address = '', prefix = ''] = network.split('/');
    return `${nat64}${address}/${nat64Prefix + Number(prefix)}`;
  });
  return [reason, ...translated];
}

const ipv4Ranges = rangesOf(ipv4Rows, 'ipv4');
const ipv6Ranges = rangesOf([...ipv6Rows, ...ipv4Rows.map(throughNat64)], 'ipv6');
const ipv6Allocated = new BlockList();
ipv6Allocated.addSubnet('2000::', 3, 'ipv6');
ipv6Allocated.addSubnet(nat64, nat64Prefix, 'ipv6');

/** Classifies a text. A text that is not an IP address or has a zone (`fe80::1%eth0`) is forbidden. */
export function classify(text: string): Classified {
  const version = isIP(text);
  if (version === 0) return { kind: 'forbidden', reason: 'not an address' };
  if (text.includes('%')) return { kind: 'forbidden', reason: 'scoped' };
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const address = new SocketAddress({ address: text, family });
  const ranges = version === 4 ? ipv4Ranges : ipv6Ranges;
  const range = ranges.find(({ list }) => list.check(address));
  if (range) return { kind: 'forbidden', reason: range.reason };
  const isAllocated = version === 4 || ipv6Allocated.check(address);
  return isAllocated ? { kind: 'public' } : { kind: 'forbidden', reason: 'reserved' };
}

/** Whether a text is a public IP address. */
export function isPublic(address: string): boolean {
  return classify(address).kind === 'public';
}
