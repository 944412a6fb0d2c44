/** A tour of an installed Largesse in an empty folder, as a new user takes it: every file and thread of it is used. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { runProgram, startProgram, type Result } from './programs.ts';

export type Installed = {
  readonly command: readonly [file: string, ...args: string[]];
  /** An empty folder: the database and the key file are created in `data`. */
  readonly folder: string;
  /** More of the environment, such as PATH. */
  readonly environment?: Readonly<Record<string, string>>;
};

export const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly version: string;
};

/** Runs a command of an installation to its end, which must succeed. */
async function succeeds({ command, folder, environment }: Installed, ...args: string[]): Promise<Result> {
  const [file, ...first] = command;
  const result = await runProgram(file, [...first, ...args], {
    folder,
    environment: { PORT: '0', RATE_LIMIT: 'off', ...environment },
  });
  assert.equal(result.code, 0, `${args.join(' ')}: ${result.errors}`);
  return result;
}

/** Receives one request. */
async function receiveOne(): Promise<
  AsyncDisposable & { readonly url: string; readonly body: Promise<string> }
> {
  const received = Promise.withResolvers<string>();
  const server = createServer((request, response) => {
    request.toArray().then((chunks: Buffer[]) => {
      received.resolve(Buffer.concat(chunks).toString());
      response.writeHead(204).end();
    }, received.reject);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    body: received.promise,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function responds(url: string, path: string, request?: RequestInit): Promise<string> {
  const response = await fetch(`${url}${path}`, request);
  const text = await response.text();
  assert.equal(response.ok, true, `${path}: ${response.status} ${text}`);
  return text;
}

/** Creates a database, serves it, issues cards, receives an event, stops, and verifies the ledger. */
export async function tour(installed: Installed): Promise<void> {
  const { command, folder, environment } = installed;
  mkdirSync(folder, { recursive: true });
  assert.equal((await succeeds(installed, '--version')).output, `${manifest.version}\n`);
  assert.deepEqual(readdirSync(folder), []);
  await succeeds(installed, 'migrate');
  await using receiver = await receiveOne();
  {
    const [file, ...first] = command;
    await using service = startProgram(file, [...first, 'serve'], {
      folder,
      environment: { PORT: '0', RATE_LIMIT: 'off', ...environment },
    });
    const [, url = ''] = await service.written(/"url":"([^"]+)".*"message":"largesse serves"/, 60_000);
    const webhook = ['--store', 'demo.localhost', '--url', receiver.url, '--events', 'gift_card.created'];
    await succeeds(installed, 'webhook', 'create', ...webhook);
    const created = await responds(url, '/gift_card', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ initial_value: 25, recipient_email: 'grace@example.com' }),
    });
    assert.match(created, /"balance":"25\.00".*"code":"[a-z0-9]{16}"/);
    // The thread for webhooks sends it.
    const ended = service.ended(30_000).then(() => assert.fail(service.errors()));
    assert.match(await Promise.race([receiver.body, ended]), /gift_card\.created/);
    // The assets of the pages, with the ones of other packages, and pages that load modules on demand.
    const [, assets = ''] =
      /href="(\/assets\/[^/"]+\/)largesse\.css"/.exec(await responds(url, '/setup')) ?? [];
    for (const asset of ['largesse.css', 'barcode-detector.js', 'zxing-reader.wasm', 'fraunces.woff2'])
      await responds(url, `${assets}${asset}`);
    await responds(url, '/docs');
    await responds(url, '/openapi.json');
    await responds(url, '/metrics');
    await succeeds(installed, 'card', 'issue', '--store', 'demo.localhost', '--value', '10');
    service.kill('SIGTERM');
    assert.deepEqual(await service.ended(), { code: 0, signal: null }, service.errors());
    assert.match(service.output(), /"message":"stopped"\}\n$/);
  }
  // The thread for checkpoints has moved the log into the file.
  assert.ok(!existsSync(join(folder, 'data/largesse.db-wal')), 'the log was moved into the database');
  const verified = await succeeds(installed, 'verify');
  assert.match(verified.output, /^demo\.localhost +2 +2 +35\.00 +USD$/m);
}
