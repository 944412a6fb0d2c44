/** The URL of a mail server: `smtp://user:password@host:587` or `smtps://user:password@host:465`. */

import { isLoopback } from './loopback.ts';
import { accepted, rejected, type Parsed } from './parsed.ts';
import { Secret } from './secret.ts';

/**
 * `smtps` uses TLS from the first byte. `smtp` requires STARTTLS with a verified certificate, except for a loopback host.
 * `?starttls=required` requires it for a loopback host as well, `optional` accepts a server without it or with an
 * unverified certificate, and `never` does not use it.
 */
export type SmtpServer = {
  readonly host: string;
  readonly port: number;
  readonly tls: 'from_start' | 'starttls_required' | 'starttls_optional' | 'never';
  readonly user: string | null;
  readonly password: Secret | null;
};

const form =
  'must be a URL such as smtp://user:password@mail.example:587 or smtps://user:password@mail.example:465';

/**
 * Parses the URL of a mail server. Errors do not quote it, because it can contain a password. Other parameters are
 * rejected: those of nodemailer can disable the verification of certificates or set a proxy.
 */
export function parseSmtpUrl(secret: Secret): Parsed<SmtpServer> {
  const url = URL.parse(secret.reveal());
  const isSecure = url?.protocol === 'smtps:';
  if (!url || (!isSecure && url.protocol !== 'smtp:') || url.hostname === '') return rejected(form);
  if (!['', '/'].includes(url.pathname) || url.hash !== '') return rejected('must not have a path');
  const { starttls, ...others } = Object.fromEntries(url.searchParams);
  if (Object.keys(others).length > 0 || url.searchParams.size > 1)
    return rejected('must not have a parameter other than ?starttls');
  if (isSecure && starttls !== undefined)
    return rejected('cannot have ?starttls with smtps, which uses TLS from the start');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const tls = isSecure ? 'from_start' : starttlsOf(starttls, host);
  if (!tls) return rejected('must have ?starttls=required, ?starttls=optional or ?starttls=never');
  const [user, password] = [decoded(url.username), decoded(url.password)];
  if (user === undefined || password === undefined)
    return rejected('must have its user and password percent-encoded');
  if ((user === '') !== (password === ''))
    return rejected('must have both a user and a password, or neither');
  return accepted({
    host,
    port: Number(url.port || (isSecure ? 465 : 587)),
    tls,
    user: user || null,
    password: password === '' ? null : new Secret(password),
  });
}

function starttlsOf(value: string | undefined, host: string): SmtpServer['tls'] | undefined {
  switch (value) {
    case undefined:
      return isLoopback(host) ? 'never' : 'starttls_required';
    case 'required':
      return 'starttls_required';
    case 'optional':
      return 'starttls_optional';
    case 'never':
      return 'never';
    default:
      return undefined;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
