/**
 * A whole service for a test: its own database, a free port, a clock that the test moves, and its log in
 * memory.
 */

import { connect } from 'node:net';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import {
  plainClock,
  systemClock,
  wallClockOf,
  type Clock,
  type TimeSource,
} from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import type { Limits } from '../../src/platform/limits.ts';
import { openDatabase, type Database } from '../../src/start/database.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import type { PublicNetwork } from '../../src/delivery/public-socket.ts';
import { Secret } from '../../src/platform/secret.ts';
import { scopes as allScopes, type Scope } from '../../src/core/stores/domain/store.ts';
import { logWith } from '../../src/platform/log.ts';
import { start } from '../../src/start/main.ts';
import { createStore, requireStore, type NewStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import type { DatabaseWish, EngineDatabase, QueryRow, QueryValue } from './engine-database.ts';
import { engine } from './engine.ts';
import { send, type TestRequest, type TestResponse } from './http-client.ts';
import { internalIdOf } from './public-ids.ts';
import type { Processes } from './race.ts';
import { serve } from './served.ts';

export type { TestRequest, TestResponse };

export type TestClock = Clock &
  TimeSource & {
    /** Lets this many ms pass. */
    advance(ms: number): void;
    /** Sets the clock forward by this many ms (back, if negative), without time passing. */
    jump(ms: number): void;
    /** From now on, only the test moves the clock. */
    stop(): void;
  };

/**
 * The system's clock, ahead by the time that the test has advanced it.
 * @param options.isStopped whether its time of day changes only when it is advanced.
 */
export function testClock({ isStopped = false }: { readonly isStopped?: boolean } = {}): TestClock {
  let ahead = 0;
  let elapsed = 0;
  const startedAt = systemClock.now();
  let source: Pick<Clock & TimeSource, 'now' | 'monotonic' | 'uptime'> = isStopped
    ? { ...systemClock, now: () => startedAt }
    : systemClock;
  return {
    ...plainClock(() => source.now() + ahead),
    monotonic: () => source.monotonic() + elapsed,
    uptime: () => source.uptime() + elapsed,
    advance(ms) {
      ahead += ms;
      elapsed += ms;
    },
    jump(ms) {
      ahead += ms;
    },
    stop() {
      const [now, monotonic, uptime] = [systemClock.now(), systemClock.monotonic(), systemClock.uptime()];
      source = { now: () => now, monotonic: () => monotonic, uptime: () => uptime };
    },
  };
}

/** A store to create. `tokens` names tokens by their scopes. */
export type TestStore = Partial<Omit<NewStore, 'currency' | 'proxySecret'>> & {
  readonly domain: string;
  /** The default is USD. */
  readonly currency?: string;
  readonly proxySecret?: string;
};

export type TestService = AsyncDisposable & {
  /** Includes the base path. */
  readonly url: string;
  /** The URLs of all processes. */
  readonly urls: readonly string[];
  readonly database: EngineDatabase;
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: TestClock;
  /** Sends a request, to each of two processes in turn. */
  request(path: string, request?: TestRequest): Promise<TestResponse>;
  /** Sends bytes unchanged and returns all bytes received until the server closes. */
  raw(bytes: string | Uint8Array): Promise<string>;
  /** Creates a token of a store with these scopes (the default is all) and returns it in clear. */
  token(domain: string, scopes?: readonly Scope[]): Promise<string>;
  /** The whole log so far, as it was written. */
  log(): string;
  /** Returns `EngineDatabase.state`. */
  state(): Promise<string>;
  /** The internal id for a public id in a response. */
  internalId(publicId: number): number;
  /** Runs a query while the service runs. */
  query(text: string, ...values: readonly QueryValue[]): Promise<readonly QueryRow[]>;
};

/**
 * Starts a service with the given stores. Without stores, it runs the demonstration store in development
 * mode.
 *
 * A second process has the system's clock and a separate log.
 */
export async function startService({
  stores = [],
  isSandbox = false,
  startsAt,
  stopsClock = false,
  environment: given = {},
  processes = 1,
  database: wish,
  limits = {},
  emailNetwork,
  readMounts,
  beforeStart,
}: {
  readonly stores?: readonly TestStore[];
  /** Whether the database is a sandbox. */
  readonly isSandbox?: boolean;
  /** The time of the clock of the first process at its start. Default: that of the machine. */
  readonly startsAt?: string;
  /** Whether the time of day of the first process changes only when the test advances it: no budget refills. */
  readonly stopsClock?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly processes?: Processes;
  readonly database?: DatabaseWish;
  /** Limits of the first process that differ from the defaults, as does the cheap hashing of passwords. */
  readonly limits?: Partial<Limits>;
  /** The way of the first process to the mail servers of stores. */
  readonly emailNetwork?: PublicNetwork;
  /** The mounts that the first process sees. */
  readonly readMounts?: () => string;
  /** Changes the database of the stores. */
  readonly beforeStart?: (database: Database) => Promise<void>;
} = {}): Promise<TestService> {
  const provided = await engine.createDatabase(wish);
  const environment = { ...provided.environment, PORT: '0', RATE_LIMIT: 'off', ...given };
  const read = readConfig(environment);
  const config = { ...read, limits: { ...read.limits, passwordMemoryKib: 8, ...limits } };
  const clock = testClock({ isStopped: stopsClock });
  if (startsAt !== undefined) clock.advance(Date.parse(startsAt) - clock.now());
  if (stores.length > 0 || isSandbox) {
    await using database = await openDatabase(config, {
      prepare: true,
      becomesSandbox: isSandbox,
      clock: wallClockOf(clock),
    });
    for (const { currency = 'USD', proxySecret, ...settings } of stores) {
      const store: NewStore = {
        name: settings.domain,
        timeZone: 'UTC',
        issueLimit: null,
        requireSignature: false,
        customerSearch: false,
        stockRequired: 'no',
        undoWindowMinutes: 0,
        ...settings,
        currency: currencyOf(currency),
        proxySecret: proxySecret === undefined ? null : new Secret(proxySecret),
      };
      const made = await database.storage.write(() => createStore(database.ctx, store));
      // The service does not start in production without a token.
      const token = { store: made, name: 'first', scopes: allScopes };
      if (config.isProduction) await database.storage.write(() => createToken(database.ctx, token));
    }
    await beforeStart?.(database);
  }
  const queries = provided.keepOpen();
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const log = logWith(pino({ level: 'trace', messageKey: 'message' }, sink));
  const service = await start(config, {
    clock,
    log,
    ...(emailNetwork && { emailNetwork }),
    ...(readMounts && { readMounts }),
  });
  const url = `${service.url}${config.basePath}`;
  const second = processes === 2 ? await serve({ ...environment, LOG_LEVEL: 'info' }) : undefined;
  const urls = second ? [url, second.url] : [url];
  let requests = 0;

  return {
    url,
    urls,
    database: provided,
    environment,
    clock,
    request(path, request) {
      requests += 1;
      return send(`${urls[requests % urls.length]}${path}`, request);
    },
    raw: (bytes) => sendRaw(Number(new URL(url).port), bytes),
    async token(domain, scopes = allScopes) {
      await using database = await openDatabase(config, { prepare: false, clock: wallClockOf(clock) });
      const { ctx, storage } = database;
      const { store } = await storage.read(() => requireStore(domain));
      const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
      return secret.reveal();
    },
    log: () => lines.join(''),
    state: () => provided.state(),
    internalId: (publicId) => internalIdOf(provided.keysFile, publicId),
    query: (text, ...values) => provided.query(text, ...values),
    async [Symbol.asyncDispose]() {
      await queries[Symbol.asyncDispose]();
      await second?.[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await provided[Symbol.asyncDispose]();
    },
  };
}

function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let response = '';
    socket.on('data', (chunk: Buffer) => {
      response += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(response));
    socket.on('error', reject);
  });
}
