/** A machine on which nothing was set up, and the forms with which a person restores a backup on it. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { sliceBytes } from '../../src/features/backups/domain/restore.ts';
import { openBrowser, type Browser } from './browser.ts';
import { textOfPage } from './counter-staff.ts';
import { until } from './delivering.ts';
import type { EngineDatabase, Environment } from './engine-database.ts';
import { send } from './http-client.ts';
import { freePort } from './postgres-port.ts';
import { command, databaseToServe, serve, type Served } from './served.ts';

export type Machine = AsyncDisposable & {
  readonly database: EngineDatabase;
  readonly served: Served;
  readonly browser: Browser;
  readonly url: string;
  /** The path of the pages with the setup link. */
  readonly setup: string;
};

/** A machine on which nothing was set up. @param environment other settings of its service. */
export async function freshMachine(environment: Environment = {}): Promise<Machine> {
  const database = await databaseToServe({ empty: true });
  const port = String(await freePort());
  // Browsers of a shop have an address.
  const own = { ...database.environment, PORT: port, PUBLIC_URL: `http://localhost:${port}`, ...environment };
  const served = await serve(own);
  const { output, errors, code } = await command(own, 'setup', 'link', '--json');
  assert.equal(code, 0, errors);
  const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
  return {
    database: { ...database, environment: own },
    served,
    url: served.url,
    setup: pathname,
    browser: openBrowser({
      url: served.url,
      request: (path, request) => send(`${served.url}${path}`, request),
    }),
    async [Symbol.asyncDispose]() {
      served.kill('SIGTERM');
      await served.ended();
      await database[Symbol.asyncDispose]();
    },
  };
}

type Reply = { readonly next?: number; readonly problem?: string };

export async function sendSlice(
  { browser, setup }: Machine,
  number: number,
  bytes: Uint8Array,
): Promise<Reply> {
  const sent = await browser.request(`${setup}/restore/slices/${number}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream', 'sec-fetch-site': 'same-origin' },
    body: bytes,
  });
  assert.equal(sent.status, 200, sent.text);
  return sent.json as Reply;
}

export async function upload(machine: Machine, file: Uint8Array): Promise<void> {
  const begun = await machine.browser.post(`${machine.setup}/restore/begin`, { bytes: String(file.length) });
  assert.deepEqual(begun.json, { next: 0 });
  for (let number = 0; number * sliceBytes < file.length; number += 1) {
    const part = file.subarray(number * sliceBytes, (number + 1) * sliceBytes);
    assert.deepEqual(await sendSlice(machine, number, part), { next: number + 1 });
  }
}

/** The page once the backup was examined. */
export async function examined({ browser, setup }: Machine, key: string): Promise<string> {
  assert.equal((await browser.post(`${setup}/restore/key`, { key })).status, 303);
  let text = '';
  await until(async () => {
    // Requests without a session are limited to ten a second.
    await wait(200);
    text = textOfPage(await browser.get(`${setup}/restore`));
    return !text.includes('is being opened');
  });
  return text;
}

export async function isServing(url: string): Promise<boolean> {
  const response = await send(`${url}/sign-in`, {
    headers: { host: new URL(url).host.replace('127.0.0.1', 'localhost') },
  }).catch(() => undefined);
  return response?.status === 200;
}
