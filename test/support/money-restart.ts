/**
 * A service that a test can stop and start again on the same database, with a clock that advances while it is
 * stopped.
 */

import { Writable } from 'node:stream';
import { pino } from 'pino';
import { wallClockOf } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { logWith } from '../../src/platform/log.ts';
import { start, type Service } from '../../src/start/main.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { engine } from './engine.ts';
import { assertResponse, viewOf, type View } from './money-responses.ts';
import { testClock, type TestClock } from './service.ts';

export type RestartableService = AsyncDisposable & {
  readonly clock: TestClock;
  /** Sends a request with a token of all scopes, and checks the form of the response. */
  ask(line: string, json?: unknown): Promise<View & { readonly status: number; readonly text: string; readonly tag: string | null }>;
  /** Stops the service, advances the clock, and starts another one on the same database. */
  restart(options?: { readonly passMs?: number }): Promise<void>;
}; // prettier-ignore

/** Starts a service with one store, which has an undo window. */
export async function startRestartable({
  undoWindowMinutes = 0,
}: { readonly undoWindowMinutes?: number } = {}): Promise<RestartableService> {
  const made = await engine.createDatabase();
  // The clock of a database server does not advance with the test's clock.
  const config = readConfig({
    ...made.environment,
    PORT: '0',
    RATE_LIMIT: 'off',
    IMPLAUSIBLE_CLOCK: 'allow',
  });
  const clock = testClock();
  const token = await openShop(config, clock, undoWindowMinutes);
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() });
  const log = logWith(pino({ level: 'info' }, sink));
  let service: Service = await start(config, { clock, log });

  return {
    clock,
    async ask(line, json) {
      const [method = '', path = ''] = line.split(' ');
      const response = await fetch(`${service.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const text = await response.text();
      const { status, headers } = response;
      const reply = { status, headers, text, json: JSON.parse(text) as unknown };
      assertResponse(line, reply);
      return { ...viewOf(reply), status, text, tag: headers.get('etag') };
    },
    async restart({ passMs = 0 } = {}) {
      await service[Symbol.asyncDispose]();
      clock.advance(passMs);
      service = await start(config, { clock, log });
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}

async function openShop(
  config: ReturnType<typeof readConfig>,
  clock: TestClock,
  undoWindowMinutes: number,
): Promise<string> {
  await using database = await openDatabase(config, { prepare: true, clock: wallClockOf(clock) });
  const { ctx, storage } = database;
  const store = await storage.write(() =>
    createStore(ctx, {
      domain: 'flowers.example',
      name: 'Flowers',
      currency: currencyOf('USD'),
      timeZone: 'UTC',
      issueLimit: null,
      proxySecret: null,
      requireSignature: false,
      customerSearch: false,
      stockRequired: 'no',
      undoWindowMinutes,
    }),
  );
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}
