/** Processes of the service on PostgreSQL servers. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { deadlineIn } from './deadline.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import type { Limits } from '../../src/platform/limits.ts';
import { logWith } from '../../src/platform/log.ts';
import { start } from '../../src/start/main.ts';
import type { Environment } from './engine-database.ts';
import { command } from './served.ts';
import type { PostgresServer } from './postgres-server.ts';

export type Folder = Disposable & { readonly path: string };

/** A folder for the keys of services on a server. */
export function emptyFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'largesse-failover-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

type Host = Pick<PostgresServer, 'url'>;

/**
 * The URL of a database on several servers, one of which is the primary. They share their passwords, as
 * standbys do.
 */
function urlOfAll(servers: readonly Host[]): string {
  const urls = servers.map((server) => new URL(server.url()));
  const [first] = urls;
  assert.ok(first);
  return `postgres://${first.username}:${first.password}@${urls.map(({ host }) => host).join(',')}${first.pathname}`;
}

/** The key file of a service with its keys in a folder. */
export function keysFileIn(folder: Folder): string {
  return join(folder.path, 'largesse.keys.json');
}

/** The environment of a service on servers, with its keys in a folder. */
export function environmentOn(folder: Folder, servers: readonly Host[], more: Environment = {}): Environment {
  return {
    PORT: '0',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'info',
    DATABASE_URL: urlOfAll(servers),
    KEYS_FILE: keysFileIn(folder),
    ...more,
  };
}

export async function assertVerifies(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, `${output}\n${errors}`);
}

/** Returns the status of `/readyz`, and the duration of its response in ms. */
export async function readinessOf(
  url: string,
): Promise<{ readonly status: number; readonly tookMs: number }> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/readyz`);
  await response.text();
  return { status: response.status, tookMs: performance.now() - startedAt };
}

/** Waits until `/readyz` responds with a status. */
export async function untilReadiness(url: string, status: number, timeoutMs = 30_000): Promise<void> {
  const deadline = deadlineIn(timeoutMs);
  while ((await readinessOf(url)).status !== status) {
    assert.ok(!deadline.isOver(), `/readyz does not become ${status}`);
    await wait(50);
  }
}

export type StartedService = AsyncDisposable & {
  readonly url: string;
  /** The log so far. */
  readonly log: () => string;
};

/** Starts the service in this process, with the given limits. */
export async function startOn(
  environment: Environment,
  given: Partial<Limits> = {},
): Promise<StartedService> {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const config = readConfig(environment);
  const log = logWith(pino({ level: 'info', messageKey: 'message' }, sink));
  const service = await start(
    { ...config, limits: { ...config.limits, ...given } },
    { clock: systemClock, log },
  );
  return {
    url: service.url,
    log: () => lines.join(''),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export type Acknowledged = {
  readonly status: number;
  /** The code of an error; undefined for a success. */
  readonly code: string | undefined;
  readonly retryAfter: string | null;
  readonly isReplayed: boolean;
  readonly card: { readonly id: number; readonly balance: string } | undefined;
  readonly tookMs: number;
};

/** Sends requests to a service as a client with a token. */
export function clientOf(url: string, token: string) {
  return async (line: string, json?: object, key?: string): Promise<Acknowledged> => {
    const [method = '', path = ''] = line.split(' ');
    const startedAt = performance.now();
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(json && { body: JSON.stringify(json) }),
    });
    const body = (await response.json()) as {
      readonly type?: string;
      readonly gift_card?: Acknowledged['card'];
    };
    return {
      status: response.status,
      code: body.type?.split('/').at(-1),
      retryAfter: response.headers.get('retry-after'),
      isReplayed: response.headers.get('idempotent-replayed') === 'true',
      card: body.gift_card,
      tookMs: performance.now() - startedAt,
    };
  };
}

/** Asserts an error that the client can retry. */
export function assertUnavailable(response: Acknowledged, code?: 'unavailable' | 'overloaded'): void {
  assert.equal(response.status, 503, JSON.stringify(response));
  assert.ok(Number(response.retryAfter) >= 1);
  if (code) assert.equal(response.code, code);
}
