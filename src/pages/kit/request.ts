/** A request to a page: its cookies and form, and the checks that it comes from one of the service's own pages. */

import type { IncomingHttpHeaders } from 'node:http';
import { Fault } from '../../core/domain/fault.ts';
import type { SignedIn } from '../../core/staff/service/session.ts';
import type { PageLanguage } from './texts.ts';

export type ConsoleRequest = {
  readonly method: string;
  readonly language: PageLanguage;
  /** The header, which also has regions and languages that the pages do not have. */
  readonly acceptLanguage: string;
  readonly requestId: string;
  /** Aborted when the browser leaves before it has the response. */
  readonly signal: AbortSignal;
  /** The scheme, host and port in the browser's address bar. */
  readonly pageOrigin: URL;
  /** Values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** The fields of a form. A field that occurs twice has its last value. */
  readonly form: ReadonlyMap<string, string>;
  /** The file of a form, if its route accepts one; null: none was chosen. */
  readonly file: Uint8Array | null;
  /** Empty: none was chosen, or it has no name. */
  readonly fileName: string;
  /** The files of a form by the names of their fields. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Null: the visitor is not signed in. */
  readonly signedIn: SignedIn | null;
  /** Whether a program on this machine sent the request directly. */
  readonly isLocal: boolean;
  /** The key of the client's address in limits. */
  readonly client: string;
  /** The key of the client's network: of its /24 or /48. */
  readonly network: string;
  /** Whether the client has closed its connection. */
  readonly isGone: () => boolean;
  readonly userAgent: string;
  readonly cookies: ReadonlyMap<string, string>;
  /** The last event that a reconnecting client of a stream has received; empty: none. */
  readonly lastEventId: string;
};

/** The text of a field, without surrounding blanks; empty if it is missing. */
export function formText({ form }: Pick<ConsoleRequest, 'form'>, name: string): string {
  return (form.get(name) ?? '').trim();
}

/**
 * The typed values of the fields of a form that changes something. A field that the form does not have keeps its value.
 * @param present the values of the fields as they are stored.
 */
export function typedFields<Field extends string>(
  request: Pick<ConsoleRequest, 'form'>,
  names: readonly Field[],
  present: Readonly<Record<Field, string>>,
): Readonly<Record<Field, string>> {
  const entries = names.map((name) => [
    name,
    request.form.has(name) ? formText(request, name) : present[name],
  ]);
  return Object.fromEntries(entries) as Record<Field, string>;
}

/** The origin of the pages: the scheme, host and base path that browsers use. */
export type ConsoleOrigin = {
  /** `https://cards.flowers.example`; null: only this machine can use the pages, under any of its loopback names. */
  readonly url: URL | null;
  readonly basePath: string;
};

const loopbackHost = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Whether the Host of a request is that of the pages. */
export function isOwnHost({ host = '' }: IncomingHttpHeaders, { url }: ConsoleOrigin): boolean {
  return url ? host.toLowerCase() === url.host : loopbackHost.test(host);
}

/**
 * Rejects a request whose Host is not that of the pages. Another name that resolves to this address (DNS rebinding) is a
 * page of another site.
 * @throws Fault `not-found`.
 */
export function assertHost(headers: IncomingHttpHeaders, origin: ConsoleOrigin): void {
  if (!isOwnHost(headers, origin)) throw new Fault('not-found');
}

/**
 * Rejects a form that another site submitted. Browsers send Sec-Fetch-Site, and older ones Origin, with every POST.
 * @throws Fault `cross-site-request`.
 */
export function assertSameOrigin(headers: IncomingHttpHeaders, { url }: ConsoleOrigin): void {
  const { 'sec-fetch-site': site, origin, host = '' } = headers;
  if (site !== undefined) {
    if (site !== 'same-origin') throw new Fault('cross-site-request');
    return;
  }
  const own = url ? url.origin : `http://${host}`.toLowerCase();
  if (origin?.toLowerCase() !== own) throw new Fault('cross-site-request');
}

const cookieHeaderLengthMax = 4_096;
const cookiesMax = 50;

/** The cookies of a request. The first of two with the same name counts. A header that is too long has none. */
export function cookiesOf({ cookie = '' }: IncomingHttpHeaders): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  if (cookie.length > cookieHeaderLengthMax) return cookies;
  for (const part of cookie.split(';').slice(0, cookiesMax)) {
    const separator = part.indexOf('=');
    if (separator < 0) continue;
    const name = part.slice(0, separator).trim();
    if (!cookies.has(name)) cookies.set(name, part.slice(separator + 1).trim());
  }
  return cookies;
}
