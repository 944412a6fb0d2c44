/** Certificates of an authority: ids, times, sentences, files, and what happens after failures. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { parseRenewalWindow } from '../../src/features/https/platform/acme/client.ts';
import { renewalIdOf, signingRequestOf } from '../../src/features/https/platform/acme/der.ts';
import { AcmeProblem, explainProblem } from '../../src/features/https/platform/acme/problem.ts';
import {
  makeCertificateFolder,
  openCertificateFolder,
  type CertificateFolder,
  type StoredState,
} from '../../src/features/https/platform/certificates/folder.ts';
import {
  CertificateKeeper,
  type KeeperOptions,
} from '../../src/features/https/platform/certificates/keeper.ts';
import { nextWindowMs, renewalAt, retryMs } from '../../src/features/https/platform/certificates/renewal.ts';
import { assessCertificate } from '../../src/features/https/domain/failure.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { checkCertificate } from '../../src/features/https/cli/check-certificate.ts';
import { certificateText, progressText } from '../../src/start/message.ts';
import { tryLockFile } from '../../src/database/sqlite/file-lock.ts';
import { certificate } from '../support/certificate.ts';
import { issueCertificateFor } from '../support/issued-certificate.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { startStubAuthority, type StubAuthority } from '../support/stub-authority.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const domain = 'cards.flowers.example';
const place = makeScratchFolder('largesse-certificates-');
after(() => rmSync(place, { recursive: true, force: true }));

/** RFC 9773, appendix A. */
const vector = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
`;

test('the id of a certificate is that of RFC 9773', () => {
  assert.equal(renewalIdOf(vector), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  const without = issueCertificateFor([domain], { from: 0, until: day });
  assert.equal(renewalIdOf(without.chain), null, 'it does not name the key of its authority');
});

test('a signing request is one element with one name', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = signingRequestOf(domain, privateKey);
  assert.equal(request[0], 0x30);
  assert.equal(
    request.readUInt8(1) < 0x80 ? request.readUInt8(1) + 2 : request.readUInt8(2) + 3,
    request.length,
  );
  assert.equal(request.indexOf(domain), request.lastIndexOf(domain));
  const long = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example`;
  assert.ok(signingRequestOf(long, privateKey).includes(long));
});

test('a certificate is renewed in the window of the authority, or when a third is left', () => {
  const period = { from: 0, until: 90 * day, serial: '1' };
  assert.equal(renewalAt(period, null), 60 * day);
  const window = { start: 20 * day, end: 22 * day };
  const at = renewalAt(period, window);
  assert.ok(at >= window.start && at < window.end);
  assert.equal(renewalAt(period, window), at, 'the time does not change');
  assert.notEqual(renewalAt({ ...period, serial: '2' }, window), at);
  assert.equal(renewalAt(period, { start: 200 * day, end: 201 * day }), 81 * day, 'the window is wrong');
  assert.equal(assessCertificate(period, 67 * day), null);
  assert.equal(assessCertificate(period, 68 * day), 'warning');
});

test('a renewal window is read again when the authority says so, within limits', () => {
  const text = JSON.stringify({
    suggestedWindow: { start: '2026-01-02T04:00:00Z', end: '2026-01-03T04:00:00Z' },
    explanationURL: 'https://ca.example/why',
  });
  const window = parseRenewalWindow(text, 3 * hour);
  assert.deepEqual(window, {
    start: Date.UTC(2026, 0, 2, 4),
    end: Date.UTC(2026, 0, 3, 4),
    explanation: 'https://ca.example/why',
    retryAfterMs: 3 * hour,
  });
  assert.equal(nextWindowMs(window), 3 * hour);
  assert.equal(nextWindowMs({ ...window, retryAfterMs: 1 }), minute);
  assert.equal(nextWindowMs({ ...window, retryAfterMs: 99 * day }), day);
  assert.equal(nextWindowMs(null), 6 * hour);
  for (const wrong of [
    '',
    '[]',
    '{}',
    '{"suggestedWindow":{}}',
    '{"suggestedWindow":{"start":"x","end":"y"}}',
    '{"suggestedWindow":{"start":"2026-01-02T04:00:00Z","end":"2026-01-02T04:00:00Z"}}',
  ])
    assert.throws(() => parseRenewalWindow(wrong, null), AcmeProblem, wrong);
});

test('failed attempts are repeated after 1, 4, 16, 64 minutes and then every six hours', () => {
  const middle = [1, 2, 3, 4, 5, 50].map((failures) => retryMs(failures, { random: 0.5, retryAfterMs: null }) / minute);
  assert.deepEqual(middle, [1, 4, 16, 64, 256, 360]);
  assert.equal(retryMs(2, { random: 0, retryAfterMs: null }), 3.2 * minute);
  assert.ok(retryMs(2, { random: 0.999, retryAfterMs: null }) <= 4.8 * minute);
  assert.equal(retryMs(1, { random: 0.5, retryAfterMs: 90 * minute }), 90 * minute);
  assert.equal(retryMs(5, { random: 0.5, retryAfterMs: 0 }), minute);
  assert.equal(retryMs(1, { random: 0.5, retryAfterMs: 99 * day }), 7 * day);
}); // prettier-ignore

test('every failure is a sentence that says what to do', () => {
  const said = (error: unknown): string => explainProblem(error, domain).why;
  const problem = (type: string, message = 'text of the authority', retryAfterMs: number | null = null): AcmeProblem => new AcmeProblem(type, message, { retryAfterMs });
  const system = (code: string): Error => Object.assign(new Error(code), { code });
  const expected: readonly (readonly [unknown, RegExp])[] = [
    [problem('noAddress'), /^cards\.flowers\.example has no address yet\. At your domain provider, add an A record/],
    [problem('dns'), /add an A record/],
    [problem('dnsUnavailable'), /^The DNS servers of cards\.flowers\.example do not respond\./],
    [problem('anotherServer', 'x leads to 192.0.2.1, where another program responds.'), /192\.0\.2\.1.* Correct the DNS record/],
    [problem('connection'), /not reachable from the internet\. Open ports 80 and 443/],
    [problem('unauthorized'), /^Another server responds at .*HTTPS=off/],
    [problem('caa'), /0 issue "letsencrypt\.org"/],
    [problem('rateLimited', 'x', 5_400_000), /accepts the next request in 90 minutes; nothing has to be done/],
    [problem('rateLimited', 'x', 5 * day), /in 120 hours/],
    [problem('rateLimited'), /accepts the next request later/],
    [problem('rejectedIdentifier'), /does not issue certificates for cards\.flowers\.example: text of the authority/],
    [problem('externalAccountRequired'), /Set ACME_URL to another authority/],
    [problem('serverInternal'), /has a failure: text of the authority The service tries again by itself/],
    [problem('unknownType'), /rejected the request \(unknownType\): text of the authority/],
    [problem('serverInternal', `a\r\n\u001b[2J${'x'.repeat(999)}`), /^[^\p{Cc}]{1,400}$/u],
    [system('ECONNREFUSED'), /cannot be reached\. This machine must be able to connect to the internet on port 443/],
    [new AggregateError([system('ENETUNREACH')]), /cannot be reached/],
    [system('CERT_NOT_YET_VALID'), /clock of this machine is probably wrong/],
    [system('SELF_SIGNED_CERT_IN_CHAIN'), /not trusted \(SELF_SIGNED_CERT_IN_CHAIN\).*ACME_CA_FILE/],
    [new Error('disk full'), /could not be obtained: disk full/],
  ];
  for (const [error, pattern] of expected) assert.match(said(error), pattern);
}); // prettier-ignore

test('the progress names the steps that are done, and the one that failed', () => {
  const none = { failure: null, tookMs: null, isReached: true };
  const failure = { type: 'dns', why: 'x', isCounted: false };
  assert.equal(progressText({ ...none, step: 'dns' }), 'DNS …');
  assert.equal(progressText({ ...none, step: 'order' }), 'DNS ✓ · port 80 ✓ · certificate …');
  assert.equal(
    progressText({ ...none, step: 'order', tookMs: 640 }),
    'DNS ✓ · port 80 ✓ · certificate ✓ 0.6 s',
  );
  assert.equal(progressText({ ...none, step: 'port', failure }), 'DNS ✓ · port 80 ✗');
  const silent = { ...none, isReached: false } as const;
  assert.equal(progressText({ ...silent, step: 'order', failure }), 'DNS ✓ · port 80 ? · certificate ✗');
});

test('at a terminal, the first attempt is shown before the message', () => {
  const state = { kind: 'valid', step: 'order', isReached: true, at: 5, tookMs: 640, failures: 0, failure: null, nextAt: null } as const;
  assert.equal(certificateText(null, 5), '');
  assert.equal(certificateText(state, 6), '', 'it was made before');
  assert.equal(certificateText(state, 5), 'DNS ✓ · port 80 ✓ · certificate ✓ 0.6 s\n');
  const failure = { type: 'dns', why: 'Add a record.', isCounted: false };
  assert.equal(certificateText({ ...state, kind: 'failing', step: 'dns', tookMs: null, failure }, 5), 'DNS ✗\nAdd a record.\n');
}); // prettier-ignore

let folders = 0;

function newFolder(): { readonly path: string; readonly folder: CertificateFolder } {
  const path = join(place, String((folders += 1)), 'largesse.tls');
  makeCertificateFolder(path);
  return { path, folder: openCertificateFolder(path, domain) };
}

test('only the owner can access the folder and its files, and a damaged file is named', async () => {
  const { path, folder } = newFolder();
  assert.equal(statSync(path).mode & 0o777, 0o700);
  assert.equal(await folder.read('account'), null);
  const account = { key: 'k', accounts: {} };
  await folder.write('account', account);
  assert.deepEqual(await folder.read('account'), account);
  await folder.write('account', { ...account, key: 'l' });
  assert.deepEqual(readdirSync(path), ['account.json']);
  assert.equal(statSync(join(path, 'account.json')).mode & 0o777, 0o600);
  writeFileSync(join(path, 'account.json'), '{"key"');
  await assert.rejects(folder.read('account'), /account\.json is damaged: delete it/);
  const open = join(place, 'open');
  mkdirSync(open, { mode: 0o755 });
  makeCertificateFolder(open);
  assert.equal(statSync(open).mode & 0o777, 0o700);
});

test('one holder has the lock at a time', () => {
  const { folder } = newFolder();
  {
    using lock = tryLockFile(folder.lockFile);
    assert.ok(lock);
    assert.equal(statSync(folder.lockFile).mode & 0o777, 0o600);
    assert.equal(tryLockFile(folder.lockFile), null);
  }
  using again = tryLockFile(folder.lockFile);
  assert.ok(again);
});

type Kept = {
  readonly keeper: CertificateKeeper;
  readonly log: readonly string[];
  readonly serials: readonly string[];
};

function keep(authority: StubAuthority, folder: CertificateFolder, changed: Partial<KeeperOptions> = {}): Kept {
  const log: string[] = [];
  const serials: string[] = [];
  const line = (fields: unknown, text?: string): void => void log.push(text ?? String(fields));
  const keeper = new CertificateKeeper({
    domain,
    directory: authority.directory,
    authority: certificate,
    folder,
    findAddresses: () => Promise.resolve(['127.0.0.1']),
    probePort: null,
    tryLock: () => tryLockFile(folder.lockFile),
    clock: systemClock,
    random: { bytes: (length) => new Uint8Array(length).fill(128) },
    logger: { info: line, warn: line, error: line },
    adopted: ({ serial }) => void serials.push(serial),
    ...changed,
  });
  return { keeper, log, serials };
} // prettier-ignore

/** The state after the first outcome. */
async function outcome(kept: Kept): Promise<StoredState> {
  await kept.keeper.settled;
  const { state } = kept.keeper;
  await kept.keeper[Symbol.asyncDispose]();
  assert.ok(state);
  return state;
}

function secondsUntil(state: StoredState): number {
  return Math.round(((state.nextAt ?? 0) - state.at) / 1_000);
}

const limited = {
  status: 429,
  headers: { 'retry-after': '5400', 'content-type': 'application/problem+json' },
  body: {
    type: 'urn:ietf:params:acme:error:rateLimited',
    detail: 'too many certificates (5) already issued',
  },
} as const;

test('a limit of the authority is waited for, also after a restart', async () => {
  await using authority = await startStubAuthority();
  authority.replies.set('/order', limited);
  const { path, folder } = newFolder();
  const state = await outcome(keep(authority, folder));
  assert.deepEqual([state.kind, state.failure?.type, state.failures], ['failing', 'rateLimited', 1]);
  assert.equal(secondsUntil(state), 5_400);
  const sent = authority.requests.length;
  const restarted = keep(authority, folder);
  await wait(100);
  await restarted.keeper[Symbol.asyncDispose]();
  assert.equal(authority.requests.length, sent, 'nothing is requested before the time');
  const auto = { kind: 'auto', origin: `https://${domain}`, host: domain, domain, httpsPort: 443, httpPort: 80, directory: authority.directory, authorityFile: null, folder: path } as const;
  const [finding, ...others] = await checkCertificate(auto);
  assert.deepEqual(others, []);
  assert.match(finding?.message ?? '', /^the certificate could not be obtained, 1 times; the next attempt is at 20/);
  assert.match(finding?.remedy ?? '', /accepts the next request in 90 minutes/);
}); // prettier-ignore

test('a failure that the authority has not counted is repeated after a restart', async () => {
  await using authority = await startStubAuthority();
  authority.replies.set('/directory', { status: 503, body: 'down' });
  const { folder } = newFolder();
  const findAddresses = (): Promise<never> => Promise.reject(new AcmeProblem('noAddress', 'none'));
  const state = await outcome(keep(authority, folder, { findAddresses }));
  assert.deepEqual([state.step, state.failure?.type, state.failure?.isCounted], ['dns', 'noAddress', false]);
  assert.equal(secondsUntil(state), 60);
  assert.equal(authority.requests.length, 0, 'no attempt is spent');
  const next = await outcome(keep(authority, folder));
  assert.deepEqual([next.failure?.type, next.failures], ['serverInternal', 2]);
  assert.equal(secondsUntil(next), 240);
});

test('responses that make no sense are failures, and end within limits', async (t) => {
  await using authority = await startStubAuthority();
  for (const [name, reply] of [
    ['no JSON', { status: 200, body: '<html>' }],
    ['no object', { status: 200, body: '[1]' }],
    ['no fields', { status: 200, body: {} }],
    ['too long', { status: 200, body: `{"a":"${'x'.repeat(300_000)}"}` }],
    ['a redirect', { status: 301, headers: { location: 'https://other.example/' } }],
    ['plain HTTP', { status: 200, body: { newNonce: 'http://127.0.0.1/n', newAccount: 'x', newOrder: 'x' } }],
  ] as const)
    await t.test(name, async () => {
      authority.replies.set('/directory', reply);
      const state = await outcome(keep(authority, newFolder().folder));
      assert.equal(state.kind, 'failing');
    });
});

test('a rejected nonce is repeated a few times with the same account', async () => {
  await using authority = await startStubAuthority();
  const bad = { status: 400, body: { type: 'urn:ietf:params:acme:error:badNonce', detail: 'old' } };
  authority.replies.set('/order', [bad, bad, limited]);
  const { folder } = newFolder();
  assert.equal((await outcome(keep(authority, folder))).failure?.type, 'rateLimited');
  const orders = (): number => authority.requests.filter(({ path }) => path === '/order').length;
  assert.equal(orders(), 3);
  authority.replies.set('/order', bad);
  await folder.remove('state');
  assert.equal((await outcome(keep(authority, folder))).failure?.type, 'badNonce');
  assert.equal(orders(), 8);
  assert.equal(authority.requests.filter(({ path }) => path === '/account').length, 1, 'one account');
});

test('an account that the authority does not know is made again in the next attempt', async () => {
  await using authority = await startStubAuthority();
  const unknown = { status: 400, body: { type: 'urn:ietf:params:acme:error:accountDoesNotExist', detail: 'x' } };
  authority.replies.set('/order', [unknown, limited]);
  const { folder } = newFolder();
  await outcome(keep(authority, folder));
  const { key } = (await folder.read('account')) ?? {};
  await folder.remove('state');
  assert.equal((await outcome(keep(authority, folder))).failure?.type, 'rateLimited');
  const account = await folder.read('account');
  assert.equal(account?.key, key);
  assert.deepEqual(Object.keys(account?.accounts ?? {}), [authority.directory]);
  const made = authority.requests.filter(({ path }) => path === '/account');
  assert.deepEqual(made.map(({ payload }) => payload), [{ termsOfServiceAgreed: true }, { termsOfServiceAgreed: true }]);
}); // prettier-ignore

test('an authority that requires an external account is named, and none is made', async () => {
  await using authority = await startStubAuthority({ meta: { externalAccountRequired: true } });
  const state = await outcome(keep(authority, newFolder().folder));
  assert.equal(state.failure?.type, 'externalAccountRequired');
});

test('the stored certificate is used at once, and renewed when the window of the authority has come', async () => {
  await using authority = await startStubAuthority();
  const authorityKeyId = Buffer.from('aYhba4dGQEHhs3uEe6CuLN4ByNQ', 'base64url');
  const now = Date.now();
  const issued = issueCertificateFor([domain], { from: now - day, until: now + 89 * day, serial: 7, authorityKeyId });
  const { folder } = newFolder();
  await folder.write('certificate', { directory: authority.directory, ...issued, renewals: 0 });
  const idPath = '/renewal/aYhba4dGQEHhs3uEe6CuLN4ByNQ.Bw';
  const time = (ms: number): string => new Date(ms).toISOString();
  authority.replies.set(idPath, { status: 200, body: { suggestedWindow: { start: time(now + 50 * day), end: time(now + 51 * day) } } });
  const kept = keep(authority, folder);
  await kept.keeper.settled;
  await wait(100);
  await kept.keeper[Symbol.asyncDispose]();
  assert.deepEqual(kept.serials, ['07']);
  assert.deepEqual(authority.requests.map(({ path }) => path), ['/directory', idPath]);

  // The authority revokes certificates: the window is in the past.
  authority.requests.length = 0;
  const explanationURL = 'https://ca.example/incident';
  authority.replies.set(idPath, { status: 200, body: { suggestedWindow: { start: time(now - 2 * day), end: time(now - day) }, explanationURL } });
  const known = { status: 409, body: { type: 'urn:ietf:params:acme:error:alreadyReplaced', detail: 'x' } };
  authority.replies.set('/order', [known, limited]);
  const renewing = keep(authority, folder);
  while (renewing.keeper.state?.kind !== 'failing') await wait(10);
  await renewing.keeper[Symbol.asyncDispose]();
  assert.ok(renewing.log.some((line) => line.includes('explains when the certificate is renewed')));
  const identifiers = [{ type: 'dns', value: domain }];
  assert.deepEqual(
    authority.requests.filter(({ path }) => path === '/order').map(({ payload }) => payload),
    [{ identifiers, replaces: 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.Bw' }, { identifiers }],
    'an authority that has replaced it already accepts a new order',
  );

  // Without renewal information, a third of the lifetime decides.
  authority.requests.length = 0;
  authority.replies.set(idPath, { status: 500 });
  await folder.remove('state');
  const without = keep(authority, folder);
  await without.keeper.settled;
  await wait(100);
  await without.keeper[Symbol.asyncDispose]();
  assert.deepEqual(authority.requests.map(({ path }) => path), ['/directory', idPath]);
}); // prettier-ignore

test('a certificate of another authority, or for another name, is replaced', async () => {
  await using authority = await startStubAuthority();
  authority.replies.set('/order', limited);
  const now = Date.now();
  for (const stored of [
    { directory: 'https://staging.example/', ...issueCertificateFor([domain], { from: now - day, until: now + day }) },
    { directory: authority.directory, ...issueCertificateFor(['other.example'], { from: now - day, until: now + day }) },
    { directory: authority.directory, ...issueCertificateFor([domain], { from: now - 2 * day, until: now - day }) },
    { directory: authority.directory, key: 'x', chain: 'x' },
  ]) {
    const { folder } = newFolder();
    await folder.write('certificate', { ...stored, renewals: 0 });
    const kept = keep(authority, folder);
    while (kept.keeper.state?.kind !== 'failing') await wait(10);
    await kept.keeper[Symbol.asyncDispose]();
    assert.equal(kept.keeper.state.failure?.type, 'rateLimited');
  }
}); // prettier-ignore

test('after the failure of another process, this one waits as long', async () => {
  await using authority = await startStubAuthority();
  authority.replies.set('/order', limited);
  const { folder } = newFolder();
  const lock = tryLockFile(folder.lockFile);
  const kept = keep(authority, folder);
  await wait(100);
  const other = keep(authority, folder, { tryLock: () => ({ [Symbol.dispose]: () => undefined }) });
  assert.equal((await outcome(other)).failure?.type, 'rateLimited');
  const sent = authority.requests.length;
  lock?.[Symbol.dispose]();
  while (kept.keeper.state?.kind !== 'failing') await wait(20);
  await kept.keeper[Symbol.asyncDispose]();
  assert.equal(authority.requests.length, sent);
  assert.equal(kept.keeper.state.failures, 1);
});

test('while another process obtains the certificate, this one waits and then uses it', async () => {
  await using authority = await startStubAuthority();
  const { folder } = newFolder();
  const lock = tryLockFile(folder.lockFile);
  const kept = keep(authority, folder);
  await wait(100);
  const now = Date.now();
  const issued = issueCertificateFor([domain], { from: now - day, until: now + 89 * day, serial: 9 });
  await folder.write('certificate', { directory: authority.directory, ...issued, renewals: 0 });
  lock?.[Symbol.dispose]();
  await kept.keeper.settled;
  await kept.keeper[Symbol.asyncDispose]();
  assert.deepEqual(kept.serials, ['09']);
  assert.deepEqual(authority.requests, []);
  assert.equal(createPrivateKey(issued.key).asymmetricKeyType, 'ec');
});
