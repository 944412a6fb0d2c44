/** Apple's push service and an iPhone, as far as passes use them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { openArchive } from '../../src/platform/zip.ts';
import { makeScratchFolder } from './scratch.ts';
import type { TestResponse, TestService } from './service.ts';
import type { Issued } from './wallet-certificates.ts';

type Push = { readonly token: string; readonly topic: string };

/** The response to a push; `lost`: the connection ends without one. */
type PushReply = { readonly status: number; readonly reason?: string; readonly retryAfter?: string } | 'lost';

export type PushService = AsyncDisposable & {
  readonly port: number;
  readonly pushes: Push[];
  connections(): number;
  /** Default: 200. */
  reply: (push: Push) => PushReply;
};

/** Accepts clients with a certificate of the authority, whose topic is the name in it, and empty messages. */
export async function pushService(authority: Issued, own: Issued): Promise<PushService> {
  const server = createSecureServer({
    key: own.key,
    cert: own.certificate,
    ca: [authority.certificate],
    requestCert: true,
    rejectUnauthorized: true,
  });
  const pushes: Push[] = [];
  let connections = 0;
  const service = {
    pushes,
    connections: () => connections,
    reply: (_push: Push): PushReply => ({ status: 200 }),
  };
  server.on('session', (session) => {
    connections += 1;
    session.on('error', () => undefined);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => undefined);
    let body = '';
    stream.setEncoding('utf8').on('data', (text: string) => (body += text));
    stream.on('end', () => {
      const socket = stream.session?.socket as TLSSocket | undefined;
      const { UID: uid } = (socket?.getPeerCertificate().subject ?? {}) as { readonly UID?: string };
      const topic = String(headers['apns-topic']);
      assert.equal(headers[':method'], 'POST');
      const [, token = ''] = /^\/3\/device\/(\w+)$/.exec(String(headers[':path'])) ?? [];
      const respond = (status: number, reason = '', more = {}): void => {
        stream.respond({ ':status': status, ...more });
        stream.end(reason === '' ? '' : JSON.stringify({ reason }));
      };
      if (topic !== uid) return respond(400, 'TopicDisallowed');
      if (body !== '{}') return respond(400, 'PayloadInvalid');
      const push = { token, topic };
      const reply = service.reply(push);
      if (reply === 'lost') {
        stream.session?.destroy();
        return;
      }
      if (reply.status === 200) pushes.push(push);
      respond(reply.status, reply.reason, reply.retryAfter ? { 'retry-after': reply.retryAfter } : {});
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(service, {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await Promise.resolve();
    },
  });
}

export type PassContent = {
  readonly passTypeIdentifier: string;
  readonly teamIdentifier: string;
  readonly serialNumber: string;
  readonly webServiceURL: string;
  readonly authenticationToken: string;
  readonly organizationName: string;
  readonly backgroundColor: string;
  readonly voided?: boolean;
  readonly expirationDate?: string;
  readonly barcodes?: readonly { readonly message: string; readonly altText: string }[];
  readonly storeCard: {
    readonly primaryFields: readonly { readonly value: number; readonly currencyCode: string }[];
    readonly secondaryFields: readonly { readonly value: string }[];
  };
};

/** Opens a pass as a phone does: all files must be in the manifest, and OpenSSL verifies its signature. */
export async function openPass(bytes: Uint8Array, authority: Issued): Promise<PassContent> {
  const archive = await openArchive(bytes, { entriesMax: 100, bytesMax: 1_000_000, ratioMax: 100 });
  const read = async (name: string): Promise<Uint8Array> => {
    const content = await archive.read(name);
    assert.ok(content, name);
    return content;
  };
  const manifest = await read('manifest.json');
  const hashes = JSON.parse(Buffer.from(manifest).toString()) as Readonly<Record<string, string>>;
  for (const needed of [
    'pass.json',
    'icon.png',
    'icon@2x.png',
    'de.lproj/pass.strings',
    'zh-Hans.lproj/pass.strings',
  ])
    assert.ok(needed in hashes, needed);
  for (const [name, hash] of Object.entries(hashes))
    assert.equal(
      createHash('sha1')
        .update(await read(name))
        .digest('hex'),
      hash,
      name,
    );
  verifySignature(manifest, await read('signature'), authority);
  return JSON.parse(Buffer.from(await read('pass.json')).toString()) as PassContent;
}

function verifySignature(manifest: Uint8Array, signature: Uint8Array, { certificate }: Issued): void {
  const folder = makeScratchFolder('largesse-pass-');
  const file = (name: string, content: string | Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const args = [
    'smime',
    '-verify',
    '-binary',
    '-inform',
    'DER',
    '-purpose',
    'any',
    '-in',
    file('signature', signature),
  ];
  args.push(
    '-content',
    file('manifest', manifest),
    '-CAfile',
    file('ca.pem', certificate),
    '-out',
    '/dev/null',
  );
  execFileSync('openssl', args, { stdio: 'pipe' });
}

export type Phone = {
  readonly device: string;
  readonly pushToken: string;
  register(): Promise<TestResponse>;
  unregister(): Promise<TestResponse>;
  /** The serials that have changed since a tag, and the next tag; null: none has. */
  changed(tag?: string): Promise<{ readonly serials: readonly string[]; readonly tag: string } | null>;
  /** The pass as it is now; null: it has not changed since it was requested. */
  fetch(): Promise<PassContent | null>;
  request(
    method: string,
    path: string,
    options?: { readonly token?: string; readonly body?: string },
  ): Promise<TestResponse>;
};

/** A phone with a pass. */
export function phoneWith(
  service: Pick<TestService, 'request'>,
  pass: PassContent,
  { authority, name = 'a' }: { readonly authority: Issued; readonly name?: string },
): Phone {
  const device = createHash('md5').update(name).digest('hex');
  const pushToken = createHash('sha256').update(name).digest('hex');
  const url = new URL(pass.webServiceURL);
  assert.equal(url.protocol, 'https:');
  const { passTypeIdentifier: type, serialNumber: serial } = pass;
  let modified: string | null = null;
  const request: Phone['request'] = (method, path, { token = pass.authenticationToken, body } = {}) =>
    service.request(`${url.pathname}/v1${path}`, {
      method,
      headers: {
        host: url.host,
        authorization: `ApplePass ${token}`,
        ...(modified !== null && method === 'GET' && { 'if-modified-since': modified }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    });
  const registration = `/devices/${device}/registrations/${type}`;
  return {
    device,
    pushToken,
    request,
    register: () => request('POST', `${registration}/${serial}`, { body: JSON.stringify({ pushToken }) }),
    unregister: () => request('DELETE', `${registration}/${serial}`),
    async changed(tag) {
      const response = await request(
        'GET',
        `${registration}${tag === undefined ? '' : `?passesUpdatedSince=${tag}`}`,
      );
      if (response.status === 204) return null;
      assert.equal(response.status, 200, response.text);
      const { serialNumbers, lastUpdated } = response.json as {
        readonly serialNumbers: readonly string[];
        readonly lastUpdated: string;
      };
      return { serials: serialNumbers, tag: lastUpdated };
    },
    async fetch() {
      const response = await request('GET', `/passes/${type}/${serial}`);
      if (response.status === 304) return null;
      assert.equal(response.status, 200, response.text);
      assert.equal(response.headers.get('content-type'), 'application/vnd.apple.pkpass');
      modified = response.headers.get('last-modified');
      const next = await openPass(response.bytes ?? Buffer.alloc(0), authority);
      assert.equal(next.serialNumber, serial);
      assert.equal(next.authenticationToken, pass.authenticationToken);
      return next;
    },
  };
}
