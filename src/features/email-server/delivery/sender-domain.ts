/**
 * Checks the records of a sender's domain: SPF (RFC 7208), DKIM (RFC 6376) by the keys that the provider uses, and
 * DMARC (RFC 7489). Without them, mailboxes put emails into spam or reject them.
 */

import { Resolver } from 'node:dns/promises';
import type { DomainFinding } from '../../emails/domain/server.ts';
import { providerOfHost, type EmailProvider } from '../domain/providers.ts';
import type { ResolveText } from '../../../delivery/public-socket.ts';
import { codeOf } from '../../../platform/error-code.ts';

const dnsTimeoutMs = 2_000;
const dnsTries = 2;
/** Records of a name, and characters of a record, that are read. */
const recordsMax = 50;
const recordLengthMax = 2_000;

const absent: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** Queries the name servers of the system: 2 s each, twice. */
export async function systemResolveText(name: string): Promise<readonly string[] | null> {
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: dnsTries });
  try {
    const records = await resolver.resolveTxt(name);
    return records.map((parts) => parts.join(''));
  } catch (error) {
    return absent.has(codeOf(error)) ? [] : null;
  }
}

/** Domains of mailboxes for everyone. Their emails are rejected if another server sends them. */
const freeDomain =
  /^(?:gmail|googlemail|outlook|hotmail|live|yahoo|ymail|gmx|web|t-online|freenet|icloud|me|mac|aol|proton|protonmail|orange|wanadoo|laposte|free|sfr)\.(?:[a-z]{2,3}|co\.[a-z]{2})$/;

/** The part of a server's name that is not the first part of the domain for which it sends. */
const brands: Readonly<Record<string, string>> = {
  googlemail: 'gmail',
  hotmail: 'outlook',
  live: 'outlook',
  ymail: 'yahoo',
  icloud: 'me',
  mac: 'me',
  proton: 'protonmail',
  wanadoo: 'orange',
};

/** Whether a server belongs to a domain of mailboxes for everyone. */
function isOwnServer(domain: string, host: string): boolean {
  const [label = ''] = domain.split('.');
  const brand = Object.hasOwn(brands, label) ? brands[label] : label;
  return host.split('.').some((part) => part === brand || (brand === 'outlook' && part === 'office365'));
}

/** All findings about a sender's address, by the server that sends for it. Lookups run at the same time. */
export async function checkSenderDomain(
  resolveText: ResolveText,
  { sender, host }: { readonly sender: string; readonly host: string },
): Promise<readonly DomainFinding[]> {
  const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase();
  if (freeDomain.test(domain))
    return isOwnServer(domain, host)
      ? [{ about: 'address', level: 'weak', finding: 'good', value: domain }]
      : [{ about: 'address', level: 'bad', finding: 'free', value: domain }];
  const provider = providerOfHost(host);
  const read = async (name: string): Promise<readonly string[] | null> => {
    const records = await resolveText(name);
    return records && records.slice(0, recordsMax).map((record) => record.slice(0, recordLengthMax));
  };
  const selectors = provider?.dkim ?? [];
  const [top, policies, ...keys] = await Promise.all([
    read(domain),
    read(`_dmarc.${domain}`),
    ...selectors.map((selector) => read(`${selector}._domainkey.${domain}`)),
  ]);
  const spf = spfOf(top, provider);
  const dkim = dkimOf(selectors, keys);
  return [spf, dkim, dmarcOf(policies, { spf, dkim, domain })];
}

function spfOf(records: readonly string[] | null, provider: EmailProvider | undefined): DomainFinding {
  const about = 'spf';
  if (!records) return { about, level: 'unknown', finding: 'noResponse', value: '' };
  const found = records.filter((record) => /^v=spf1(?: |$)/i.test(record));
  const [record] = found;
  if (found.length > 1) return { about, level: 'bad', finding: 'several', value: String(found.length) };
  if (provider?.spf === null) return { about, level: 'good', finding: 'notNeeded', value: provider.name };
  const wanted = provider?.spf ?? '';
  if (record === undefined)
    return { about, level: 'bad', finding: 'missing', value: provider ? `v=spf1 ${wanted} ~all` : '' };
  const terms = record.split(' ').filter((term) => term !== '');
  const names = terms.map((term) => term.toLowerCase());
  if (names.includes(wanted)) return { about, level: 'good', finding: 'good', value: record };
  // The record of another domain, or terms that can name the server, decide.
  if (!provider || names.some((term) => term.startsWith('redirect=')))
    return { about, level: 'unknown', finding: 'notKnown', value: record };
  const end = names.findIndex((term) => /^[?~+-]?all$/.test(term));
  const corrected = terms.toSpliced(end === -1 ? terms.length : end, 0, wanted).join(' ');
  return { about, level: 'bad', finding: 'withoutServer', value: corrected };
}

function dkimOf(selectors: readonly string[], keys: readonly (readonly string[] | null)[]): DomainFinding {
  const about = 'dkim';
  const found = selectors.filter((_, place) =>
    // A key without `p` was revoked.
    keys[place]?.some((record) => (tagOf(record, 'p') ?? '') !== ''),
  );
  if (found.length > 0) return { about, level: 'good', finding: 'good', value: found.join(', ') };
  if (selectors.length === 0) return { about, level: 'unknown', finding: 'notKnown', value: '' };
  return keys.includes(null)
    ? { about, level: 'unknown', finding: 'noResponse', value: '' }
    : { about, level: 'bad', finding: 'missing', value: '' };
}

/** The value of a tag in a list such as `v=DMARC1; p=none`; undefined: it has none. */
function tagOf(record: string, name: string): string | undefined {
  const tags = record.split(';').map((tag) => tag.split('=', 2).map((part) => part.trim()));
  return tags.find(([found]) => found?.toLowerCase() === name)?.[1];
}

function dmarcOf(
  records: readonly string[] | null,
  {
    spf,
    dkim,
    domain,
  }: { readonly spf: DomainFinding; readonly dkim: DomainFinding; readonly domain: string },
): DomainFinding {
  const about = 'dmarc';
  if (!records) return { about, level: 'unknown', finding: 'noResponse', value: '' };
  const record = records.find((each) => /^v=DMARC1\s*(?:;|$)/i.test(each));
  const value = tagOf(record ?? '', 'p')?.toLowerCase() ?? '';
  if (!['none', 'quarantine', 'reject'].includes(value))
    return { about, level: 'bad', finding: 'missing', value: `_dmarc.${domain}: v=DMARC1; p=none` };
  if (value === 'none') return { about, level: 'good', finding: 'watching', value };
  return spf.level === 'bad' && dkim.level === 'bad'
    ? { about, level: 'bad', finding: 'failing', value }
    : { about, level: 'good', finding: 'good', value };
}
