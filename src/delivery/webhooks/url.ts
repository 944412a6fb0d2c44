/**
 * Targets: the addresses of webhook endpoints, as a client gives them.
 *
 * A target names a host on the internet, reached over TLS. What the host resolves to is judged each time a
 * connection is opened (`lookup.ts`); here stands what can be told from the text alone. The text is judged after
 * the WHATWG URL parser has normalised it, because that is how it will be read when it is used: `0x7f.1`,
 * `2130706433` and `０177.0.0.1` are all 127.0.0.1 by then.
 */

import { isIP } from 'node:net';
import { accepted, refused, type Parsed } from '../../domain/parsed.ts';
import { classify } from './address.ts';

const targetLengthMax = 2_048;

export type Target = {
  /** The whole address, normalised: what is stored and posted to. */
  readonly url: string;
  /** False only for development's receivers on this machine. */
  readonly isSecure: boolean;
  /** A host name in lower case without a final dot, or the address of this machine, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Whether the host is this machine by its name or address alone, so that nothing is to be resolved. */
  readonly isLoopback: boolean;
};

export type TargetRules = {
  /** Development: `http` and `https` to `localhost`, 127.0.0.0/8 and ::1 are taken too. */
  readonly allowLoopback: boolean;
};

/** Names that only a private network can answer; RFC 6761, RFC 8375, RFC 9476, ICANN's `internal`, and habit. */
const privateSuffix =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|home\.arpa|onion|alt|invalid)$/;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const hostLengthMax = 253;
/** Ports below this one belong to other protocols, 80 and 443 apart. */
const freePortMin = 1_024;

/** Reads a webhook address. The refusal reads after the parameter's name. */
export function parseTarget(value: unknown, rules: TargetRules): Parsed<Target> {
  if (typeof value !== 'string') return refused('must be a string');
  const tooLong = refused(`must have at most ${targetLengthMax.toLocaleString('en')} characters`);
  if (value.length > targetLengthMax) return tooLong;
  if (/[\s\\\p{Cc}]/u.test(value) || !value.isWellFormed())
    return refused('must not contain spaces, control characters or backslashes');
  const [, scheme, authority = ''] = /^(https?):\/\/([^/?#]+)/i.exec(value) ?? [];
  if (scheme === undefined) return refused('must be an address that starts with https://');
  if (authority.includes('@')) return refused('must not contain a user name or password');
  if (value.includes('#')) return refused('must not contain a fragment (#)');
  const url = URL.parse(value);
  if (!url) return refused('must be a valid address');
  if (url.href.length > targetLengthMax) return tooLong;
  return judge(url, rules);
}

function judge(url: URL, rules: TargetRules): Parsed<Target> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isLoopback = isLoopbackHost(host);
  const refusal = isLoopback && rules.allowLoopback ? undefined : refusalOf(url, host);
  if (refusal !== undefined) return refused(refusal);
  const isSecure = url.protocol === 'https:';
  const usualPort = isSecure ? 443 : 80;
  const port = url.port === '' ? usualPort : Number(url.port);
  if (port !== usualPort && port < freePortMin)
    return refused(`must use port ${usualPort} or one from ${freePortMin} up`);
  if (isIP(host) !== 6) url.hostname = host;
  return accepted({ url: url.href, isSecure, host, port, path: `${url.pathname}${url.search}`, isLoopback });
}

function isLoopbackHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const classified = classify(host);
  return classified.kind === 'forbidden' && classified.reason === 'loopback';
}

/** Why a host that is not this machine in development is refused. */
function refusalOf(url: URL, host: string): string | undefined {
  if (url.protocol !== 'https:') return 'must use https';
  if (isIP(host) !== 0) return 'must name a host, not an IP address';
  if (host === '' || host.length > hostLengthMax || !host.split('.').every((part) => label.test(part)))
    return 'must have a valid host name';
  if (privateSuffix.test(host)) return 'must not be a host of a private network';
  if (!host.includes('.')) return 'must have a full host name, with its domain';
  return undefined;
}
