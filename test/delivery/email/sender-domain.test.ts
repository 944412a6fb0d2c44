/** The records of a sender's domain: SPF, DKIM and DMARC, with lookups without a response. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { isWithin } from '../../support/deadline.ts';
import { checkSenderDomain } from '../../../src/features/email-server/delivery/sender-domain.ts';

type Records = Readonly<Record<string, readonly string[] | null>>;

const google = 'smtp.gmail.com';
const domain = 'flowers.example';
const key = 'v=DKIM1; k=rsa; p=MIIBIjANBg';

/** The findings as texts. */
async function check(
  records: Records,
  host = google,
  sender = `gifts@${domain}`,
): Promise<readonly string[]> {
  const asked: string[] = [];
  const findings = await checkSenderDomain(
    async (name) => {
      asked.push(name);
      return name in records ? (records[name] ?? null) : [];
    },
    { sender, host },
  );
  assert.ok(asked.length <= 8, asked.join());
  return findings.map(({ about, level, finding, value }) => `${about} ${level} ${finding} ${value}`.trim());
}

test('a domain that allows its provider and signs is good', async () => {
  const records = {
    [domain]: ['google-site-verification=x', 'v=spf1 include:_spf.google.com ~all'],
    [`google._domainkey.${domain}`]: [key],
    [`_dmarc.${domain}`]: ['v=DMARC1; p=reject; rua=mailto:a@flowers.example'],
  };
  assert.deepEqual(await check(records), [
    'spf good good v=spf1 include:_spf.google.com ~all',
    'dkim good good google',
    'dmarc good good reject',
  ]);
});

test('nothing is there', async () => {
  assert.deepEqual(await check({}), [
    'spf bad missing v=spf1 include:_spf.google.com ~all',
    'dkim bad missing',
    `dmarc bad missing _dmarc.${domain}: v=DMARC1; p=none`,
  ]);
});

test('a lookup without a response is unknown, not missing', async () => {
  const records = { [domain]: null, [`google._domainkey.${domain}`]: null, [`_dmarc.${domain}`]: null };
  assert.deepEqual(await check(records), [
    'spf unknown noResponse',
    'dkim unknown noResponse',
    'dmarc unknown noResponse',
  ]);
});

test('a record without the provider is corrected before its end', async () => {
  const spf = async (record: string, host?: string) => (await check({ [domain]: [record] }, host))[0];
  const wanted = 'include:_spf.google.com';
  assert.equal(await spf('v=spf1 mx -all'), `spf bad withoutServer v=spf1 mx ${wanted} -all`);
  assert.equal(await spf('v=spf1 mx'), `spf bad withoutServer v=spf1 mx ${wanted}`);
  assert.equal(await spf('V=SPF1 MX INCLUDE:_SPF.GOOGLE.COM ?ALL'), 'spf good good V=SPF1 MX INCLUDE:_SPF.GOOGLE.COM ?ALL'); // prettier-ignore
  // Another domain that ends with the name does not count.
  assert.match((await spf('v=spf1 include:my_spf.google.com ~all')) ?? '', /^spf bad withoutServer/);
  assert.match((await spf('v=spf1 redirect=other.example')) ?? '', /^spf unknown notKnown/);
  assert.match((await spf('v=spf1 mx -all', 'smtp.unknown.example')) ?? '', /^spf unknown notKnown/);
  assert.equal(await spf('v=spf1 mx -all', 'smtp.postmarkapp.com'), 'spf good notNeeded Postmark');
  assert.equal((await check({}, 'smtp.unknown.example'))[0], 'spf bad missing');
  const two = await check({ [domain]: ['v=spf1 mx ~all', `v=spf1 ${wanted} ~all`] });
  assert.equal(two[0], 'spf bad several 2');
});

test('keys that were revoked, and policies that drop unsigned emails', async () => {
  const revoked = { [`google._domainkey.${domain}`]: ['v=DKIM1; p='], [domain]: ['v=spf1 mx ~all'] };
  assert.equal((await check(revoked))[1], 'dkim bad missing');
  const strict = await check({ ...revoked, [`_dmarc.${domain}`]: ['v=DMARC1;p=quarantine'] });
  assert.equal(strict[2], 'dmarc bad failing quarantine');
  assert.equal((await check({ [`_dmarc.${domain}`]: ['v=DMARC1; p=none'] }))[2], 'dmarc good watching none');
  assert.equal((await check({}, 'ssl0.ovh.net'))[1], 'dkim unknown notKnown');
});

test('an address of a mailbox for everyone needs its own server', async () => {
  assert.deepEqual(await check({}, 'smtp.postmarkapp.com', 'ada@gmail.com'), ['address bad free gmail.com']);
  assert.deepEqual(await check({}, google, 'ada@gmail.com'), ['address weak good gmail.com']);
  assert.deepEqual(await check({}, google, 'ada@web.de'), ['address bad free web.de']);
});

test('long and many records are cut, and take no time', async () => {
  const many = Array.from({ length: 5_000 }, (_, place) => `v=spf1 ${'a '.repeat(5_000)}${place}`);
  const startedAt = performance.now();
  assert.match((await check({ [domain]: many }))[0] ?? '', /^spf bad several 50$/);
  assert.match((await check({ [domain]: [`v=spf1 ${' '.repeat(1e6)}`] }))[0] ?? '', /^spf bad withoutServer/);
  assert.match(
    (await check({ [`_dmarc.${domain}`]: [`v=DMARC1;${' '.repeat(1e6)}p=none`] }))[2] ?? '',
    /^dmarc/,
  );
  assert.ok(isWithin(performance.now() - startedAt, 2_000));
});
