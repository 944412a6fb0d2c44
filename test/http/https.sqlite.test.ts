/** HTTPS that the service serves itself, with a certificate in files. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { checkCertificate } from '../../src/features/https/cli/check-certificate.ts';
import { readConfig, type HttpsConfig } from '../../src/start/config.ts';
import { StartError } from '../../src/start/error.ts';
import { start } from '../../src/start/main.ts';
import { until } from '../support/delivering.ts';
import { runCommand } from '../support/command-line.ts';
import { issueCertificateFor, type IssuedCertificate } from '../support/issued-certificate.ts';
import { freePorts } from '../support/postgres-port.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { getSecurely, type SecureResponse } from '../support/secure-client.ts';
import { startService } from '../support/service.ts';

const folder = makeScratchFolder('largesse-https-');
const day = 24 * 60 * 60_000;
const start0 = Math.floor(Date.now() / 1_000) * 1_000;
const valid = { from: start0 - day, until: start0 + 89 * day };
const certFile = join(folder, 'cert.pem');
const keyFile = join(folder, 'key.pem');
const [httpsPort, httpPort] = await freePorts();
const origin = `https://localhost:${httpsPort}`;
const environment = {
  PUBLIC_URL: origin,
  HTTPS: 'files',
  TLS_CERT_FILE: certFile,
  TLS_KEY_FILE: keyFile,
  HTTPS_PORT: String(httpsPort),
  HTTP_PORT: String(httpPort),
};

function put({ chain, key }: IssuedCertificate): void {
  writeFileSync(certFile, chain);
  writeFileSync(keyFile, key);
  chmodSync(keyFile, 0o600);
}

const first = issueCertificateFor(['localhost'], { ...valid, serial: 1 });
put(first);
const limits = {
  certificateFilesPeriodMs: 50,
  handshakeTimeoutMs: 400,
  handshakesMax: 12,
  handshakesPerPeerMax: 6,
  connectionsPerPeerMax: 8,
  stopReceiveTimeoutMs: 200,
};
const service = await startService({ stores: [{ domain: 'flowers.example' }], environment, limits });
after(() => service[Symbol.asyncDispose]());
const token = await service.token('flowers.example');

function get(
  path: string,
  request: Partial<Parameters<typeof getSecurely>[1]> = {},
): Promise<SecureResponse> {
  return getSecurely(`${origin}${path}`, { ca: first.chain, ...request });
}

async function metric(name: string): Promise<number> {
  const { text } = await get('/metrics', { ca: (await current()).chain });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

let present: IssuedCertificate = first;
const current = (): Promise<IssuedCertificate> => Promise.resolve(present);

test('a request over HTTPS is like one over HTTP, and its client is the peer', async () => {
  const created = await get('/gift_card', {
    method: 'POST',
    headers: { 'x-access-token': token, 'content-type': 'application/json' },
    body: JSON.stringify({ initial_value: 25 }),
  });
  assert.equal(created.status, 201);
  assert.equal(created.protocol, 'TLSv1.3');
  const { text } = await get('/openapi.json');
  const { externalDocs } = JSON.parse(text) as { readonly externalDocs: { readonly url: string } };
  assert.equal(externalDocs.url, `${origin}/docs`);
  assert.match(service.log(), /"route":"\/gift_card","status":201,.*"client":"127\.0\.0\.1"/);
});

test('TLS before 1.2 is rejected', async () => {
  const socket = connectTls({ host: '127.0.0.1', port: httpsPort, maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ca: first.chain, servername: 'localhost', ciphers: 'DEFAULT@SECLEVEL=0' }); // prettier-ignore
  const [error] = (await once(socket, 'error')) as [Error];
  assert.match(error.message, /version|alert|protocol/i);
});

test('browsers remember HTTPS for a day, only from a response over HTTPS', async () => {
  for (const path of ['/healthz', '/sign-in', '/nothing', '/docs'])
    assert.equal((await get(path)).headers['strict-transport-security'], 'max-age=86400', path);
  const { headers } = await service.request('/healthz');
  assert.equal(headers.get('strict-transport-security'), null);
});

test('cookies are only for HTTPS, and the pages have one host', async () => {
  const { headers } = await get('/till/pin');
  const [cookie = '', ...others] = headers['set-cookie'] ?? [];
  assert.deepEqual(others, []);
  assert.match(cookie, /^__Host-largesse-till=; Path=\/; HttpOnly; SameSite=Lax; Max-Age=0; Secure$/);
  const other = await get('/till/pin', { headers: { host: 'other.example' } });
  assert.equal(other.status, 404);
});

test('a remote request with a loopback Host is not a local one', async () => {
  const response = await get('/gift_card/1', { headers: { host: 'localhost' } });
  assert.equal(response.status, 401);
  assert.equal((await get('/dev/mails')).status, 404);
});

type Plain = { readonly status: number; readonly location: string | null; readonly text: string };

async function plain(path: string, method = 'GET'): Promise<Plain> {
  const response = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method, redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location'), text: await response.text() };
}

test('the port for HTTP redirects reads, and rejects everything else', async () => {
  for (const [path, to] of [
    ['/till?a=b', '/till?a=b'],
    ['//other.example/x', '//other.example/x'],
    ['/', '/'],
    ['/setup/lgf_x', '/setup/lgf_x'],
  ] as const) {
    for (const method of ['GET', 'HEAD'])
      assert.deepEqual(await plain(path, method), { status: 308, location: `${origin}${to}`, text: '' });
    for (const method of ['POST', 'PUT', 'DELETE'])
      assert.deepEqual(await plain(path, method), {
        status: 403,
        location: null,
        text: 'This service accepts requests only over HTTPS.\n',
      });
  }
  assert.equal((await plain('/.well-known/acme-challenge/abc')).status, 404);
  const raw = await exchangeRaw('GET http://other.example/x HTTP/1.1\r\nHost: other.example\r\n\r\n');
  assert.match(raw, new RegExp(`\r\nlocation: ${origin}/x\r\n`));
  assert.match(
    await exchangeRaw(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`),
    /^HTTP\/1\.1 431 /,
  );
});

async function exchangeRaw(text: string): Promise<string> {
  const socket = connectPlain(httpPort, '127.0.0.1');
  let received = '';
  socket.on('data', (part: Buffer) => (received += part.toString('latin1')));
  socket.end(text);
  await once(socket, 'close');
  return received;
}

/** Opens bare connections to the port for HTTPS, without a handshake. */
async function openBare(count: number, from: string): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () =>
    connectPlain({ port: httpsPort, host: '127.0.0.1', localAddress: from }).on('error', () => undefined),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await wait(30);
  return sockets;
}

const areOpen = (sockets: readonly Socket[]): number =>
  sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length;

function listens(socket: Socket): Socket {
  return socket.resume();
}

test('unfinished handshakes are limited by peer and in total, and end', async () => {
  const one = (await openBare(10, '127.0.0.2')).map(listens);
  await until(() => areOpen(one) === limits.handshakesPerPeerMax);
  assert.equal((await get('/healthz')).status, 200, 'another client is served');
  const others = [
    ...(await openBare(6, '127.0.0.3')).map(listens),
    ...(await openBare(6, '127.0.0.4')).map(listens),
  ];
  // The oldest are closed.
  await until(() => areOpen(one) === 0);
  assert.equal((await get('/healthz')).status, 200);
  await until(() => areOpen(others) === 0);
});

test('the limit of connections of a client holds under TLS', async () => {
  const sockets: TLSSocket[] = [];
  for (let place = 0; place < limits.connectionsPerPeerMax + 2; place += 1) {
    const raw = connectPlain({ host: '127.0.0.1', port: httpsPort, localAddress: '127.0.0.5' });
    const socket = connectTls({ socket: raw, ca: first.chain, servername: 'localhost' });
    sockets.push(socket.on('error', () => undefined).resume());
    await Promise.race([once(socket, 'secureConnect'), once(socket, 'close')]);
  }
  await until(() => areOpen(sockets) === limits.connectionsPerPeerMax);
  assert.equal((await get('/healthz')).status, 200, 'another client is served');
  for (const socket of sockets) socket.destroy();
}); // prettier-ignore

test('a client that ends its side early gets its response', async () => {
  const socket = connectTls({ host: '127.0.0.1', port: httpsPort, ca: first.chain, servername: 'localhost' });
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  socket.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
  await once(socket, 'close');
  assert.match(text, /^HTTP\/1\.1 200 [^]*\{"status":"ok"\}$/);
});

test('replaced files are used for new connections, open ones continue, and half a replacement is not used', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0 });
  const before = await get('/healthz', { agent });
  const second = issueCertificateFor(['cards.flowers.example', 'localhost'], { ...valid, until: valid.until + day, serial: 2 });
  writeFileSync(certFile, second.chain);
  await until(() => service.log().includes('the private key is not that of the certificate'));
  assert.equal((await get('/healthz')).serial, before.serial, 'the key is still that of the first one');
  writeFileSync(keyFile, second.key);
  await until(() => service.log().includes('the certificate was replaced'));
  present = second;
  assert.equal((await get('/healthz', { agent })).status, 200, 'the open connection');
  agent.destroy();
  const next = await get('/healthz', { ca: second.chain });
  assert.notEqual(next.serial, before.serial);
  assert.equal(next.headers['strict-transport-security'], 'max-age=31536000', 'a replacement has worked');
  await assert.rejects(get('/healthz'), 'the first certificate is not used');
  assert.equal(await metric('largesse_certificate_end_timestamp_seconds'), (valid.until + day) / 1_000);
  assert.equal(await metric('largesse_certificate_start_timestamp_seconds'), valid.from / 1_000);

  writeFileSync(certFile, 'nothing');
  await until(() => service.log().includes('no certificate in PEM'));
  assert.equal((await get('/healthz', { ca: second.chain })).status, 200);
  put(second);
}); // prettier-ignore

/** The error of a start with a certificate; undefined: it starts. */
async function startError(
  written: () => void,
  changed: Readonly<Record<string, string>> = {},
): Promise<string> {
  written();
  const config = readConfig({
    ...service.environment,
    PORT: '0',
    HTTPS_PORT: '0',
    HTTP_PORT: 'off',
    LOG_LEVEL: 'silent',
    ...changed,
  });
  try {
    await using _service = await start(config);
    return '';
  } catch (error) {
    assert.ok(error instanceof StartError && error.isPermanent, String(error));
    return error.message.replaceAll(folder, '…');
  } finally {
    put(present);
  }
}

test('a certificate that cannot be used ends the start with one sentence', async () => {
  const pair = 'TLS_CERT_FILE …/cert.pem and TLS_KEY_FILE …/key.pem:';
  const other = issueCertificateFor(['shop.example', 'www.shop.example'], valid);
  assert.equal(await startError(() => put(other)), `${pair} the certificate is for shop.example, www.shop.example, not for localhost`);
  assert.equal(await startError(() => writeFileSync(keyFile, other.key)), `${pair} the private key is not that of the certificate`);
  assert.equal(await startError(() => writeFileSync(keyFile, 'x')), `${pair} the file has no private key in PEM without a password`);
  assert.equal(await startError(() => writeFileSync(certFile, '')), `${pair} the file has no certificate in PEM`);
  assert.match(await startError(() => undefined, { TLS_KEY_FILE: join(folder, 'none.pem') }), /^TLS_KEY_FILE cannot be read, because …\/none\.pem does not exist: correct/);
  const expired = issueCertificateFor(['localhost'], { from: start0 - 2 * day, until: start0 - day });
  assert.equal(await startError(() => put(expired)), '', 'the port for this machine is served');
}); // prettier-ignore

test('a port in use ends the start with a sentence that names its setting', async () => {
  const config = readConfig({ ...service.environment, PORT: '0', LOG_LEVEL: 'silent' });
  await assert.rejects(start(config), {
    name: 'StartError',
    message: `port ${httpPort} is in use, which HTTPS needs: stop the other program, usually a web server, or set HTTP_PORT`,
  });
  const other = readConfig({ ...service.environment, PORT: '0', HTTP_PORT: 'off', LOG_LEVEL: 'silent' });
  await assert.rejects(start(other), { message: new RegExp(`^port ${httpsPort} is in use.*HTTPS_PORT$`) });
});

async function found(written: () => void, now = Date.now()): Promise<string> {
  written();
  const { https } = readConfig(service.environment);
  const findings = await checkCertificate(https, now);
  put(present);
  return findings.map(({ status, message }) => `${status}: ${message.replaceAll(folder, '…')}`).join('\n');
}

test('doctor names the end of the certificate, and what is wrong with it', async () => {
  const end = new Date(valid.until + day).toISOString();
  const none = (): void => undefined;
  assert.equal(await found(none), `ok: valid until ${end}`);
  assert.equal(await found(none, valid.until - 20 * day), `warning: valid until ${end}, which is less than a quarter of its lifetime`);
  assert.equal(await found(none, valid.until + 2 * day), `error: the certificate has expired, on ${end}`);
  assert.match(await found(none, valid.from - day), /^error: the certificate is not valid before .*: the clock of this machine may be wrong$/);
  assert.match(await found(() => writeFileSync(certFile, '')), /^error: TLS_CERT_FILE …\/cert\.pem and .*no certificate/);
  const off: HttpsConfig = { kind: 'off' };
  assert.deepEqual(await checkCertificate(off), []);
  chmodSync(keyFile, 0o644);
  const { output } = await runCommand(['doctor'], { environment: { ...service.environment, PORT: new URL(service.url).port } });
  chmodSync(keyFile, 0o600);
  assert.match(output, /^✓ certificate: valid until /m);
  assert.match(output, /^! public url: this machine does not reach https:\/\/localhost:\d+\/healthz/m, 'no public authority issued it');
  assert.doesNotMatch(output, /TRUSTED_PROXIES is empty/);
}); // prettier-ignore

test('a stop waits for a request over HTTPS, and closes the ports', async () => {
  const [secure, other] = await freePorts();
  const settings = { ...environment, HTTPS_PORT: String(secure), HTTP_PORT: String(other), PUBLIC_URL: `https://localhost:${secure}` }; // prettier-ignore
  const stopping = await startService({ stores: [{ domain: 'flowers.example' }], environment: settings });
  const shop = await stopping.token('flowers.example');
  const socket = connectTls({ host: '127.0.0.1', port: secure, ca: present.chain, servername: 'localhost' });
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString()));
  const body = '{"initial_value":5}';
  socket.write(
    `POST /gift_card HTTP/1.1\r\nHost: localhost\r\nX-Access-Token: ${shop}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  const idle = new Agent({ keepAlive: true });
  await getSecurely(`https://localhost:${secure}/healthz`, { ca: present.chain, agent: idle });
  await wait(100);
  const stopped = stopping[Symbol.asyncDispose]();
  await wait(50);
  socket.write(body.slice(5));
  await stopped;
  assert.match(text, /^HTTP\/1\.1 201 /);
  const closed = connectPlain(secure, '127.0.0.1');
  const [error] = (await once(closed, 'error')) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNREFUSED');
});
