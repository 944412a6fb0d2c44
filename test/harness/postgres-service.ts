/** Processes of the service on PostgreSQL servers. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { command, type Environment, type Folder } from './served.ts';
import type { PostgresServer } from './postgres-server.ts';

type Host = Pick<PostgresServer, 'url'>;

/** The URL of a database that any of the servers may be the primary of. They share their passwords, as standbys do. */
export function urlOfAll(servers: readonly Host[]): string {
  const urls = servers.map((server) => new URL(server.url()));
  const [first] = urls;
  assert.ok(first);
  return `postgres://${first.username}:${first.password}@${urls.map(({ host }) => host).join(',')}${first.pathname}`;
}

/** The environment of a service on servers, with its keys in a folder. */
export function environmentOn(folder: Folder, servers: readonly Host[], more: Environment = {}): Environment {
  return {
    ...folder.environment,
    DATABASE_URL: urlOfAll(servers),
    KEYS_FILE: join(folder.path, 'largesse.keys.json'),
    ...more,
  };
}

export async function assertVerifies(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, `${output}\n${errors}`);
}

/** The status of `/readyz`, and what its answer took in ms. */
export async function readinessOf(
  url: string,
): Promise<{ readonly status: number; readonly tookMs: number }> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/readyz`);
  await response.text();
  return { status: response.status, tookMs: performance.now() - startedAt };
}

/** Waits until `/readyz` answers with a status. */
export async function untilReadiness(url: string, status: number, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while ((await readinessOf(url)).status !== status) {
    assert.ok(performance.now() < deadline, `/readyz does not become ${status}`);
    await wait(50);
  }
}
