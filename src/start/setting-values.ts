/** The notations of the settings' values. */

import type { RateLimit } from '../platform/limits.ts';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '../platform/secret.ts';
import { isLoopback } from '../platform/loopback.ts';
import { isIP } from 'node:net';

export type Setting<T> = {
  readonly variable: string;
  /** One sentence. Text in backquotes is code. */
  readonly description: string;
  /** The accepted values; reads after "must be". */
  readonly accepts: string;
  readonly default: T;
  /** The default as shown in the documentation. */
  readonly shownDefault: string;
  /** Returns undefined for a text that is not accepted. */
  readonly parse: (text: string) => T | undefined;
  /** Explains a rejected text in more detail than `accepts`, which it does if undefined; reads after the name of the variable. */
  readonly explain?: (text: string) => string | undefined;
  /** A secret is never shown, and only the scheme of a URL. Both can be read from a file that `<variable>_FILE` names. */
  readonly contains?: 'secret' | 'url';
  /** The setting without which this one has no effect, and the values with which it has one; null: with any. */
  readonly usedWith?: { readonly variable: string; readonly values: readonly string[] | null };
};

/** The ports to which browsers and `fetch` do not connect (https://fetch.spec.whatwg.org/#port-blocking). */
export const blockedPorts: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113,
  115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556,
  563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
  6668, 6669, 6679, 6697, 10080,
]); // prettier-ignore

export function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 && !blockedPorts.has(port) ? port : undefined;
}

/** Explains a port, or a URL with a port, that is blocked. */
export function explainPort(text: string): string | undefined {
  const port = Number(/^\d{1,5}$/.test(text) ? text : (URL.parse(text)?.port ?? ''));
  return blockedPorts.has(port) ? `must have another port than ${port}, which browsers block` : undefined;
}

function hasBlockedPort({ port }: URL): boolean {
  return blockedPorts.has(Number(port));
}

/** An `http` or `https` URL without user, password, query and fragment. */
export function parseServiceUrl(text: string): string | undefined {
  const url = URL.parse(text);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[@?#]/.test(text);
  return isPlain && !hasBlockedPort(url) ? url.href : undefined;
}

/** Null: off. */
export function parsePortOrOff(text: string): number | null | undefined {
  return text === 'off' ? null : parsePort(text);
}

/** An `https` URL without user and password. */
export function parseSecureUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' || text.includes('@') || url.hash !== '') return undefined;
  return hasBlockedPort(url) ? undefined : url.href;
}

export function parseHost(text: string): string | undefined {
  return isIP(text) !== 0 || /^[a-z0-9.-]+$/i.test(text) ? text : undefined;
}

export function parseBasePath(text: string): string | undefined {
  const path = text.replace(/\/$/, '');
  if (path === '') return '';
  const segments = path.split('/').slice(1);
  const isPath =
    path.startsWith('/') && segments.every((segment) => /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/.test(segment));
  return isPath ? path : undefined;
}

export function parseRateLimit(text: string): RateLimit | null | undefined {
  if (text === 'off') return null;
  const [, rate, burst] = /^(\d{1,6}(?:\.\d{1,3})?)(?:[/,:; ]+(\d{1,6}))?$/.exec(text) ?? [];
  const perSecond = Number(rate);
  if (!(perSecond > 0)) return undefined;
  const most = burst === undefined ? Math.max(1, Math.ceil(perSecond * 2)) : Number(burst);
  return most >= 1 ? { perSecond, burst: most } : undefined;
}

export function parseCount(most: number): (text: string) => number | undefined {
  return (text) => {
    const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    return count >= 1 && count <= most ? count : undefined;
  };
}

/** Null: forever. */
export function parseDays(least: number): (text: string) => number | null | undefined {
  return (text) => {
    if (text === 'forever') return null;
    const days = parseCount(36_500)(text);
    return days !== undefined && days >= least ? days : undefined;
  };
}

export function parseHours(least: number): (text: string) => number | undefined {
  return (text) => {
    const hours = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
    return hours >= least && hours <= 720 ? hours : undefined;
  };
}

export function parsePermission(text: string): boolean | undefined {
  return ['allow', 'reject'].includes(text) ? text === 'allow' : undefined;
}

export function parseSwitch(text: string): boolean | undefined {
  if (text === 'on') return true;
  return text === 'off' ? false : undefined;
}

/** An origin without user and password: `https`, or `http` to a loopback name. */
export function parseOrigin(text: string): URL | undefined {
  const url = URL.parse(text);
  if (!url || text.includes('@') || url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return undefined;
  if (hasBlockedPort(url)) return undefined;
  if (url.protocol === 'https:') return url;
  return url.protocol === 'http:' && isLoopback(url.hostname) ? url : undefined;
}

export function parseNetworks(text: string): readonly string[] | undefined {
  const networks = text.split(',').map((network) => network.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

export function parseFileUrl(text: string): DatabaseLocation | undefined {
  if (!text.startsWith('file:') || text.includes('?') || text.includes('#')) return undefined;
  try {
    const path = text.startsWith('file://') ? fileURLToPath(text) : text.slice('file:'.length);
    return path === '' || path.endsWith('/') ? undefined : { kind: 'file', file: resolve(path) };
  } catch {
    return undefined;
  }
}

/** Accepts several hosts separated by commas, as PostgreSQL's own clients do. */
export function parseServerUrl(text: string): DatabaseLocation | undefined {
  const [, user = '', hosts, path, query = ''] =
    /^postgres(?:ql)?:\/\/([^@/?#]*@)?([^@/?#]+)(\/[^/?#]+)(\?[^#]*)?$/.exec(text) ?? [];
  if (hosts === undefined || path === undefined) return undefined;
  const urls = hosts.split(',').map((host) => `postgres://${user}${host}${path}${query}`);
  if (!urls.every((url) => URL.canParse(url) && new URL(url).hostname !== '')) return undefined;
  return { kind: 'server', urls: urls.map((url) => new Secret(url)), shown: `postgres://${hosts}${path}` };
}

/** The location of the database: a file of the embedded engine, or a PostgreSQL server. */
export type DatabaseLocation =
  | { readonly kind: 'file'; /** Absolute. */ readonly file: string }
  | {
      readonly kind: 'server';
      /** One URL per host; any host can be the primary. */
      readonly urls: readonly Secret[];
      /** The URL without user and password. */
      readonly shown: string;
    };
