/** The failures of a certificate authority, and the sentences that say them to an owner. */

/** The authority has rejected a request, or its response makes no sense. The message is that of the authority. */
export class AcmeProblem extends Error {
  override readonly name = 'AcmeProblem';
  /** The type of the problem without its prefix (RFC 8555, 6.7), such as `rateLimited`, or a type of this service. */
  readonly type: string;
  /** The authority's `Retry-After` in ms; null: none. */
  readonly retryAfterMs: number | null;

  constructor(
    type: string,
    message: string,
    { retryAfterMs = null }: { readonly retryAfterMs?: number | null } = {},
  ) {
    super(message);
    this.type = type;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The longest text of an authority that is shown. */
const textMax = 300;

/** One line without control characters. */
export function shownText(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ').trim();
  return line.length <= textMax ? line : `${line.slice(0, textMax)}…`;
}

const unreachable = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
]);

type Explained = {
  /** The type of the problem, or the code of the system's error. */
  readonly type: string;
  /** Sentences for an owner: what is wrong, and what to do. */
  readonly why: string;
};

/** Explains why there is no certificate for a domain. */
export function explainProblem(error: unknown, domain: string): Explained {
  if (error instanceof AcmeProblem) return { type: error.type, why: whyOf(error, domain) };
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  if (unreachable.has(code) || code === 'TIMEOUT')
    return {
      type: code,
      why: 'The certificate authority cannot be reached. This machine must be able to connect to the internet on port 443. The service tries again by itself.',
    };
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED')
    return {
      type: code,
      why: 'The certificate of the authority itself is not valid now. The clock of this machine is probably wrong: set it, and synchronize it (NTP).',
    };
  if (/^(?:UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_|CERT_)/.test(code))
    return {
      type: code,
      why: `The connection to the certificate authority is not trusted (${code}). A program between this machine and the internet replaces certificates, or ACME_CA_FILE is missing.`,
    };
  return { type: code || 'error', why: `The certificate could not be obtained: ${shownText(message)}` };
}

/** The code of the first error in a chain of causes, or in a group of failed connections. */
function codeOf(error: unknown): string {
  let found: unknown = error;
  for (let depth = 0; depth < 4 && found instanceof Error; depth += 1) {
    if ('code' in found && typeof found.code === 'string') return found.code;
    found = found instanceof AggregateError ? (found.errors[0] as unknown) : found.cause;
  }
  return '';
}

function whyOf({ type, message, retryAfterMs }: AcmeProblem, domain: string): string {
  switch (type) {
    case 'noAddress':
    case 'dns':
      return `${domain} has no address yet. At your domain provider, add an A record from ${domain} to the address of this machine. A change can take an hour.`;
    case 'dnsUnavailable':
      return `The DNS servers of ${domain} do not respond. Check the name servers at your domain provider, and that this machine reaches the internet.`;
    case 'anotherServer':
      return `${message} Correct the DNS record, or stop the other program.`;
    case 'connection':
      return `${domain} is not reachable from the internet. Open ports 80 and 443 in the firewall, and forward them to this machine in the router.`;
    case 'unauthorized':
    case 'incorrectResponse':
    case 'tls':
      return `Another server responds at ${domain}. Its DNS record points to another machine, or a proxy such as Cloudflare is in front: then use the certificate of the proxy, and HTTPS=off.`;
    case 'caa':
      return `The CAA record of ${domain} does not allow this authority. Add one for it, such as: 0 issue "letsencrypt.org".`;
    case 'rateLimited':
      return `The authority has issued or rejected too many certificates for ${domain}. It accepts the next request ${retryAfterMs === null ? 'later' : `in ${waitText(retryAfterMs)}`}; nothing has to be done.`;
    case 'rejectedIdentifier':
    case 'unsupportedIdentifier':
      return `The authority does not issue certificates for ${domain}: ${shownText(message)}`;
    case 'externalAccountRequired':
      return 'This authority requires an account that was made on its website, which the service does not support. Set ACME_URL to another authority.';
    case 'userActionRequired':
      return `The authority requires an action of its customer: ${shownText(message)}`;
    case 'serverInternal':
    case 'timeout':
      return `The authority has a failure: ${shownText(message)} The service tries again by itself.`;
    default:
      return `The authority has rejected the request (${shownText(type)}): ${shownText(message)}`;
  }
}

function waitText(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 120) return `${minutes} minutes`;
  return `${Math.ceil(minutes / 60)} hours`;
}
