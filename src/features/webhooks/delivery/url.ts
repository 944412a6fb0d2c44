/**
 * Parses the URLs of webhooks.
 *
 * A webhook URL names a host on the internet, over TLS. The addresses of the host are checked when a connection opens
 * (`lookup.ts`); this file checks the text. It checks the text that the WHATWG URL parser has normalized, because that
 * is the URL in use: `0x7f.1`, `2130706433` and `０177.0.0.1` are all 127.0.0.1.
 */

import { isIP } from 'node:net';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { classify } from '../../../platform/public-address.ts';

const urlLengthMax = 2_048;

export type WebhookUrl = {
  /** The normalized URL, which is stored and used. */
  readonly url: string;
  /** False only for receivers on this machine in development. */
  readonly isSecure: boolean;
  /** A host name in lower case without a final dot, or an address of this machine (IPv6 without brackets). */
  readonly host: string;
  readonly port: number;
  /** Path and query, percent-encoded. */
  readonly path: string;
  /** Whether the host is a name or address of this machine, which needs no DNS. */
  readonly isLoopback: boolean;
};

export type WebhookUrlRules = {
  /** Development: accepts `http` and `https` to `localhost`, 127.0.0.0/8 and ::1. */
  readonly allowLoopback: boolean;
};

/** Names that only private networks resolve: RFC 6761, RFC 8375, RFC 9476, ICANN's `internal`, and common ones. */
const privateSuffix =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|home\.arpa|onion|alt|invalid)$/;
const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const hostLengthMax = 253;
/** Lower ports belong to other protocols, except 80 and 443. */
const freePortMin = 1_024;

/** Parses a webhook URL of at most 2,048 characters. The error reads after the parameter's name. */
export function parseWebhookUrl(value: unknown, rules: WebhookUrlRules): Parsed<WebhookUrl> {
  if (typeof value !== 'string') return rejected('must be a string');
  const tooLong = rejected(`must have at most ${urlLengthMax.toLocaleString('en')} characters`);
  if (value.length > urlLengthMax) return tooLong;
  if (/[\s\\\p{Cc}]/u.test(value) || !value.isWellFormed())
    return rejected('must not contain spaces, control characters or backslashes');
  const [, scheme, authority = ''] = /^(https?):\/\/([^/?#]+)/i.exec(value) ?? [];
  if (scheme === undefined) return rejected('must be a URL that starts with https://');
  if (authority.includes('@')) return rejected('must not contain a user name or password');
  if (value.includes('#')) return rejected('must not contain a fragment (#)');
  const url = URL.parse(value);
  if (!url) return rejected('must be a valid URL');
  if (url.href.length > urlLengthMax) return tooLong;
  return validateUrl(url, rules);
}

function validateUrl(url: URL, rules: WebhookUrlRules): Parsed<WebhookUrl> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const isLoopback = isLoopbackHost(host);
  const message = isLoopback && rules.allowLoopback ? undefined : findUrlError(url, host);
  if (message !== undefined) return rejected(message);
  const isSecure = url.protocol === 'https:';
  const defaultPort = isSecure ? 443 : 80;
  const port = url.port === '' ? defaultPort : Number(url.port);
  if (port !== defaultPort && port < freePortMin)
    return rejected(`must use port ${defaultPort} or one from ${freePortMin} up`);
  if (isIP(host) !== 6) url.hostname = host;
  return accepted({ url: url.href, isSecure, host, port, path: `${url.pathname}${url.search}`, isLoopback });
}

function isLoopbackHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const classified = classify(host);
  return classified.kind === 'forbidden' && classified.reason === 'loopback';
}

/** The error of a URL that does not lead to the internet. */
function findUrlError(url: URL, host: string): string | undefined {
  return url.protocol === 'https:' ? hostError(host) : 'must use https';
}

/** The error of a host that is not on the internet; undefined: its name can be looked up there. */
export function hostError(host: string): string | undefined {
  if (isIP(host) !== 0) return 'must name a host, not an IP address';
  if (host === '' || host.length > hostLengthMax || !host.split('.').every((part) => label.test(part)))
    return 'must have a valid host name';
  if (privateSuffix.test(host)) return 'must not be a host of a private network';
  if (!host.includes('.')) return 'must have a full host name, with its domain';
  return undefined;
}
