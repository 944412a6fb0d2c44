/** HTTPS=auto with Pebble: renewals under load, kills, wrong DNS records, rejected nonces, two processes, sockets of systemd. */

import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn, isWithin } from '../support/deadline.ts';
import {
  makeCertificateFolder,
  openCertificateFolder,
} from '../../src/features/https/platform/certificates/folder.ts';
import { CertificateKeeper } from '../../src/features/https/platform/certificates/keeper.ts';
import { challengePath } from '../../src/features/https/platform/certificates/issue.ts';
import { findAddresses } from '../../src/features/https/platform/certificates/reach.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { tryLockFile } from '../../src/database/sqlite/file-lock.ts';
import { dnsOption, startAuthority, type Authority } from '../support/authority.ts';
import { certificate } from '../support/certificate.ts';
import { freePorts, takesConnections } from '../support/postgres-port.ts';
import { runProgram, startProgram, type Program } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { getSecurely } from '../support/secure-client.ts';
import { commandLine } from '../support/program.ts';

const rounds = Number(process.env['CERTIFICATE_KILLS'] ?? 40);

type Installation = {
  readonly folder: string;
  readonly start: (environment?: Readonly<Record<string, string>>, wrapper?: readonly string[]) => Program;
  /** A stored file of the certificate; null: there is none. */
  readonly stored: (name: string) => Record<string, unknown> | null;
};

function install(authority: Authority): Installation {
  const folder = makeScratchFolder('largesse-installed-');
  after(() => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    start(environment, wrapper = []) {
      const [command, ...args] = [...wrapper, process.execPath, commandLine, 'serve'];
      return startProgram(command, args, {
        environment: {
          ...authority.environment,
          PORT: '0',
          LOG_LEVEL: 'info',
          NODE_OPTIONS: dnsOption(authority.dnsServer),
          ...environment,
        },
        folder,
      });
    },
    stored(name) {
      try {
        return JSON.parse(readFileSync(join(folder, 'data/largesse.tls', name), 'utf8')) as Record<string, unknown>;
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
        throw error;
      }
    },
  };
} // prettier-ignore

async function stop(program: Program): Promise<void> {
  program.kill('SIGTERM');
  assert.equal((await program.ended()).code, 0);
}

test('renewals under load fail no request and no handshake', async () => {
  await using authority = await startAuthority({ validSeconds: 24, rejectedNonces: 15 });
  const installed = install(authority);
  await using program = installed.start();
  await program.written(/the certificate was issued/);
  const ca = await authority.root();
  const url = `${authority.origin}/healthz`;
  const serials = new Set<string>();
  const hsts: string[] = [];
  const failures: unknown[] = [];
  let requests = 0;
  const until = performance.now() + 60_000;
  const client = async (agent: Agent | undefined, pauseMs: number): Promise<void> => {
    while (performance.now() < until) {
      try {
        const { status, serial, headers } = await getSecurely(url, { ca, ...(agent && { agent }) });
        assert.equal(status, 200);
        requests += 1;
        if (!agent) serials.add(serial);
        const value = headers['strict-transport-security'] ?? '';
        if (hsts.at(-1) !== value) hsts.push(value);
      } catch (error) {
        failures.push(error);
      }
      await wait(pauseMs);
    }
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0 });
  await Promise.all([client(undefined, 25), client(undefined, 40), client(kept, 20)]);
  kept.destroy();
  assert.deepEqual(failures, []);
  assert.ok(requests > 500 && serials.size >= 3, `${requests} requests, ${serials.size} certificates`);
  assert.ok(hsts.includes('max-age=86400') && hsts.at(-1) === 'max-age=31536000', hsts.join(', '));
  await stop(program);
});

test(`${rounds} kills leave one account, whole files and a certificate`, async () => {
  await using authority = await startAuthority();
  const installed = install(authority);
  const accounts = new Set<unknown>();
  const keys = new Set<unknown>();
  let issued = 0;
  for (let round = 0; round < rounds; round += 1) {
    await using program = installed.start();
    await program.written(/largesse serves/, 60_000);
    await wait(Math.random() * 700);
    program.kill('SIGKILL');
    await program.ended();
    const folder = join(installed.folder, 'data/largesse.tls');
    for (const file of readdirSync(folder)) {
      if (file.includes('.json') && !file.endsWith('.tmp')) installed.stored(file);
    }
    const account = installed.stored('account.json');
    if (account) keys.add(account['key']);
    for (const url of Object.values((account?.['accounts'] ?? {}) as Record<string, unknown>))
      accounts.add(url);
    if (!installed.stored(`${authority.domain}.json`)) continue;
    // Issue again, with the same account.
    issued += 1;
    rmSync(join(folder, `${authority.domain}.json`));
    rmSync(join(folder, `${authority.domain}.json.state`), { force: true });
  }
  await using last = installed.start();
  await last.written(/the certificate was issued/, 60_000);
  assert.equal(
    (await getSecurely(`${authority.origin}/healthz`, { ca: await authority.root() })).status,
    200,
  );
  await stop(last);
  assert.deepEqual([accounts.size, keys.size], [1, 1], `${issued} certificates`);
  assert.ok(issued > 0, 'no round was long enough for a certificate');
});

test('two processes on one folder order one certificate, whichever gets the request of the authority', async () => {
  await using authority = await startAuthority();
  const installed = install(authority);
  const [httpsPort, httpPort] = await freePorts();
  await using first = installed.start();
  await using second = installed.start({ HTTPS_PORT: String(httpsPort), HTTP_PORT: String(httpPort) });
  const ca = await authority.root();
  const serialAt = async (port: number): Promise<string | null> => {
    try {
      return (await getSecurely(`https://${authority.domain}:${port}/healthz`, { ca })).serial;
    } catch {
      return null;
    }
  };
  await Promise.all([first, second].map((program) => program.written(/largesse serves/, 60_000)));
  // If one ordered before the other listened, the authority has not reached it: it tries again after a minute.
  const deadline = deadlineIn(120_000);
  let serials: readonly (string | null)[] = [];
  while (!deadline.isOver()) {
    serials = await Promise.all([authority.httpsPort, httpsPort].map(serialAt));
    if (!serials.includes(null)) break;
    await wait(100);
  }
  assert.equal(serials[0], serials[1]);
  assert.ok(typeof serials[0] === 'string', `${first.output()}\n${second.output()}`);
  const outputs = first.output() + second.output();
  assert.equal(outputs.match(/the certificate was issued/g)?.length, 1);
  await stop(first);
  await stop(second);
});

test('systemd can open the ports', async () => {
  await using authority = await startAuthority();
  const installed = install(authority);
  const { httpPort, httpsPort } = authority;
  const wrapper = ['systemd-socket-activate', '-l', `127.0.0.1:${httpPort}`, '-l', `127.0.0.1:${httpsPort}`];
  for (const name of Object.keys(authority.environment)) wrapper.push('-E', name);
  wrapper.push('-E', 'PORT', '-E', 'NODE_OPTIONS', '-E', 'LOG_LEVEL');
  await using program = installed.start({ HTTPS_PORT: '2', HTTP_PORT: '2' }, wrapper);
  const deadline = deadlineIn(20_000);
  while (!(await takesConnections(httpPort))) {
    assert.ok(!deadline.isOver(), program.errors());
    await wait(50);
  }
  await program.written(/the certificate was issued/, 60_000);
  const { status } = await getSecurely(`${authority.origin}/healthz`, { ca: await authority.root() });
  assert.equal(status, 200);
  await stop(program);
}); // prettier-ignore

type Outcome = {
  readonly type: string;
  readonly why: string;
  readonly seconds: number;
  readonly requests: string;
};

/** The first outcome for a domain, with the port of the authority as that of the probe. */
async function outcomeOf(authority: Authority, domain = authority.domain): Promise<Outcome> {
  const path = makeScratchFolder('largesse-keeper-');
  makeCertificateFolder(path);
  const folder = openCertificateFolder(path, domain);
  const before = authority.output().length;
  const startedAt = performance.now();
  const nothing = (): void => undefined;
  const keeper = new CertificateKeeper({
    domain,
    directory: authority.environment['ACME_URL'] ?? '',
    authority: certificate,
    folder,
    findAddresses,
    probePort: authority.httpPort,
    tryLock: () => tryLockFile(folder.lockFile),
    clock: systemClock,
    random: systemRandom(systemClock),
    logger: { info: nothing, warn: nothing, error: nothing },
    adopted: nothing,
  });
  const server = createServer((request, response) => {
    void keeper.proofOf((request.url ?? '').slice(challengePath.length)).then((proof) => {
      response.statusCode = proof === null ? 404 : 200;
      response.end(proof ?? '');
    });
  }).listen(authority.httpPort, '127.0.0.1');
  await once(server, 'listening');
  await keeper.settled;
  await keeper[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
  rmSync(path, { recursive: true, force: true });
  const { failure } = keeper.state ?? {};
  return {
    type: failure?.type ?? 'none',
    why: failure?.why ?? '',
    seconds: (performance.now() - startedAt) / 1_000,
    requests: authority.output().slice(before),
  };
}

test('wrong DNS records are found before an attempt is spent, and others are explained', async () => {
  await using authority = await startAuthority();
  const servers = dns.getServers();
  dns.setServers([authority.dnsServer]);
  after(() => dns.setServers(servers));
  const spent = /POST \/(?:sign-me-up|order-plz)/;
  assert.equal((await outcomeOf(authority)).type, 'none', 'the records are right');

  const other = createServer((_request, response) => response.end('nginx')).listen(authority.httpPort, '127.0.0.2');
  await once(other, 'listening');
  await authority.setAddresses(authority.domain, ['127.0.0.2']);
  const another = await outcomeOf(authority);
  assert.equal(another.type, 'anotherServer');
  assert.match(another.why, /^cards\.flowers\.example leads to 127\.0\.0\.2, where another program responds, not this service\. Correct the DNS record/);
  assert.doesNotMatch(another.requests, spent);
  assert.ok(isWithin(another.seconds * 1_000, 2_000), `${another.seconds} s`);
  await authority.setAddresses(authority.domain, ['127.0.0.1', '127.0.0.2']);
  assert.equal((await outcomeOf(authority)).type, 'anotherServer', 'one of two addresses is wrong');
  other.close();

  await authority.setAddresses(authority.domain, ['127.0.0.3']);
  const dead = await outcomeOf(authority);
  assert.equal(dead.type, 'connection');
  assert.match(dead.why, /not reachable from the internet\. Open ports 80 and 443/);

  await authority.setAddresses(authority.domain, ['127.0.0.1']);
  await authority.manageDns('add-aaaa', { host: `${authority.domain}.`, addresses: ['::1'] });
  const stranger = createServer((_request, response) => response.end('nginx')).listen(authority.httpPort, '::1');
  await once(stranger, 'listening');
  assert.equal((await outcomeOf(authority)).type, 'anotherServer', 'AAAA leads elsewhere');
  stranger.close();
  await authority.manageDns('clear-aaaa', { host: `${authority.domain}.` });

  await authority.manageDns('set-default-ipv4', { ip: '' });
  const none = await outcomeOf(authority, 'nothing.flowers.example');
  assert.equal(none.type, 'noAddress');
  assert.doesNotMatch(none.requests, spent);

  dns.setServers(['127.0.0.1:1']);
  const silent = await outcomeOf(authority);
  assert.equal(silent.type, 'dnsUnavailable');
  assert.doesNotMatch(silent.requests, spent);
}); // prettier-ignore

/** In a network of its own, in which one address is reached from the internet and another from behind a router. */
const routes = `
  ip link set lo up
  ip address add 93.184.215.15/32 dev lo
  ip address add 93.184.215.16/32 dev lo
  ip address add 10.0.0.2/32 dev lo
  ip route replace local 93.184.215.16 dev lo table local src 10.0.0.2
  exec "$0" --input-type=module --eval "$1"`;

test('another program at a public address is certain, unless a router can be the cause', async () => {
  const reach = join(import.meta.dirname, '../../src/features/https/platform/certificates/reach.ts');
  const code = `
    import { once } from 'node:events';
    import { createServer } from 'node:http';
    import { probeAddresses } from ${JSON.stringify(reach)};
    const server = createServer((request, response) => response.end('a router')).listen(8080);
    await once(server, 'listening');
    const probe = { port: 8080, domain: 'x.example', path: '/', proof: 'proof', signal: AbortSignal.timeout(9_000) };
    for (const address of ['93.184.215.16', '93.184.215.15'])
      console.log(await probeAddresses([address], probe).catch((error) => error.message));
    server.close();`;
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const { code: exit, output, errors } = await runProgram('unshare', [...user, '--net', 'sh', '-euc', routes, process.execPath, code]);
  assert.equal(exit, 0, errors);
  assert.deepEqual(output.trimEnd().split('\n'), [
    'false',
    'x.example leads to 93.184.215.15, where another program responds, not this service.',
  ]);
}); // prettier-ignore

test('an authority that rejects most nonces still issues', async () => {
  await using authority = await startAuthority({ rejectedNonces: 40 });
  const installed = install(authority);
  await using program = installed.start();
  await program.written(/the certificate was issued/, 120_000);
  await stop(program);
});
