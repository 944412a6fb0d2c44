/**
 * Real PostgreSQL servers for tests: they are started, stopped and killed, and end with the process that
 * started them.
 */

import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import { findPostgres, makeMemoryFolder, makeServerFolder, serverAccount } from './postgres-binaries.ts';
import { queryOnce, type PostgresAddress, type Row } from './postgres-client.ts';
import { freePort, takesConnections } from './postgres-port.ts';
import {
  childrenOf,
  exists,
  signal,
  startGuarded,
  type Belongings,
  type GuardedProcess,
} from './postgres-process.ts';
import { runFolder } from './scratch.ts';

const startTimeoutMs = 60_000;
const stopTimeoutMs = 30_000;
const pollMs = 5;
const startsMax = 5;
type Settings = Readonly<Record<string, string>>;

/**
 * `smart` waits for clients to leave, `fast` disconnects them, and `immediate` leaves recovery to the next
 * start.
 */
type StopMode = 'smart' | 'fast' | 'immediate';
const stopSignals = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

const ordinarySettings: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  // A kind of memory that is removed with the data folder, also after kill -9.
  dynamic_shared_memory_type: 'mmap',
  min_wal_size: '16MB',
  max_wal_size: '256MB',
  log_line_prefix: '%m [%p] %d ',
  log_checkpoints: 'off',
  jit: 'off',
};

/** For servers whose data does not have to survive the kill of their processes. */
const hastySettings: Settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  checkpoint_timeout: '1h',
};

/** The default collation of a database: by bytes, or by language. */
type Collation = 'bytes' | 'language';

/** The proof of the password: as in production, or with an eighth of the processor time. */
type Authentication = 'scram-sha-256' | 'md5';

/** The options of the data folder of a new server. */
type Cluster = { readonly collation: Collation; readonly authentication: Authentication };

type PostgresOptions = Partial<Cluster> & {
  /**
   * Whether acknowledged commits survive the kill of the server's processes. It has the settings of
   * production, but its files can be in memory: no test cuts the power of a PostgreSQL server.
   */
  readonly durable?: boolean;
  readonly settings?: Settings;
};

/** The parts of a server. A copy has its own folders and port. */
type Parts = Belongings & {
  readonly binaries: string;
  readonly port: number;
  readonly password: string;
  readonly settings: Settings;
};

/** A server with its own folder and port. It can be stopped and started any number of times. */
export class PostgresServer implements PostgresAddress, AsyncDisposable {
  readonly port: number;
  /** The folder of `server.log`. */
  readonly folder: string;
  /** The data folder. */
  readonly data: string;
  readonly #parts: Parts;
  #settings: Settings;
  #running: GuardedProcess | undefined;
  #isFenced = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#settings = { ...parts.settings, port: `${parts.port}` };
    this.port = parts.port;
    this.folder = parts.folder;
    this.data = parts.data;
  }

  /** The parts of the server, for a copy. */
  get parts(): Parts {
    return { ...this.#parts, settings: this.#settings };
  }

  get isRunning(): boolean {
    return this.#running?.isGone() === false;
  }

  /** The ids of its processes, the postmaster's first. */
  get processes(): readonly number[] {
    const pid = this.isRunning ? this.#running?.pid : undefined;
    return pid === undefined ? [] : [pid, ...childrenOf(pid)];
  }

  url(database = 'postgres'): string {
    return `postgres://postgres:${this.#parts.password}@127.0.0.1:${this.port}/${database}`;
  }

  /** Everything in its log since it was created. */
  log(): string {
    return readFileSync(join(this.folder, 'server.log'), 'utf8');
  }

  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    return queryOnce(this.url(), text, values);
  }

  /**
   * Starts it on its data and port, and waits until it accepts connections.
   *
   * @throws Error with the end of its log if it does not start, and if it is fenced.
   */
  async start(): Promise<void> {
    if (this.isRunning) return;
    if (this.#isFenced) throw new Error(`the server on port ${this.port} is fenced: another took its place`);
    this.#writeSettings();
    const command = [join(this.#parts.binaries, 'postgres'), '-D', this.data];
    await this.#forgetLast();
    const running = await startGuarded(command, this.#parts);
    this.#running = running;
    const deadline = deadlineIn(startTimeoutMs);
    while (!this.#isReady(running.pid)) {
      if (running.isGone()) throw new Error(`PostgreSQL ended at its start:\n${this.log().slice(-2_000)}`);
      if (deadline.isOver()) throw new Error(`PostgreSQL does not start:\n${this.log()}`);
      await wait(pollMs);
    }
  }

  /** Stops it and waits until all of its processes have ended. */
  async stop(mode: StopMode = 'fast'): Promise<void> {
    await this.#end((pid) => signal(pid, stopSignals[mode]));
  }

  /**
   * Kills all of its processes at once with SIGKILL, and waits until they have ended and the port is closed.
   */
  async killHard(): Promise<void> {
    await this.#end((pid) => {
      // A stopped postmaster starts no processes, and does not notice the end of its children.
      signal(pid, 'SIGSTOP');
      for (const process of [...childrenOf(pid), pid]) signal(process, 'SIGKILL');
    });
    if (await takesConnections(this.port)) throw new Error(`port ${this.port} still accepts connections`);
  }

  /** Sets settings, also for later starts. A running server reloads them, with a short delay. */
  configure(settings: Settings): void {
    this.#settings = { ...this.#settings, ...settings };
    this.#writeSettings();
    const [postmaster] = this.processes;
    if (postmaster !== undefined) signal(postmaster, 'SIGHUP');
  }

  /** Kills it if it runs and prevents its start, which is required before a promotion of its standby. */
  async fence(): Promise<void> {
    this.#isFenced = true;
    await this.killHard();
  }

  /** Lets a fenced server start again. */
  unfence(): void {
    this.#isFenced = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.remove();
    removeFolders(this.#parts);
  }

  async #end(send: (postmaster: number) => void): Promise<void> {
    const [postmaster] = this.processes;
    if (postmaster === undefined) return;
    send(postmaster);
    await this.#running?.gone(stopTimeoutMs);
  }

  /**
   * Ends the guardian of the last start. Until then a killed postmaster is a zombie, and the next postmaster
   * treats it as running.
   */
  async #forgetLast(): Promise<void> {
    const last = this.#running;
    if (!last) return;
    last.handOver();
    const deadline = deadlineIn(stopTimeoutMs);
    while (exists(last.pid) && !deadline.isOver()) await wait(pollMs);
  }

  #writeSettings(): void {
    const lines = Object.entries(this.#settings).map(([name, value]) => `${name} = ${quote(value)}\n`);
    writeFileSync(join(this.data, 'postgresql.conf'), lines.join(''));
  }

  /** The lines of the postmaster's pid file. */
  #pidFile(): readonly string[] {
    try {
      return readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n');
    } catch {
      return [];
    }
  }

  #isReady(pid: number): boolean {
    const [id, , , , , , , state = ''] = this.#pidFile();
    return Number(id) === pid && ['ready', 'standby'].includes(state.trim());
  }
}

/** Quotes a value for the configuration file. */
function quote(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function removeFolders({ folder, data }: Belongings): void {
  for (const path of [folder, data]) rmSync(path, { recursive: true, force: true });
}

/** Fills the data folder of a new server with `initdb`. Takes almost a second of processor time. */
async function initialise(parts: Omit<Parts, 'port'>, { collation, authentication }: Cluster): Promise<void> {
  const { binaries, folder, data, password } = parts;
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password);
  const command = [
    join(binaries, 'initdb'),
    `--pgdata=${data}`,
    `--pwfile=${passwordFile}`,
    '--username=postgres',
    `--auth=${authentication}`,
    '--encoding=UTF8',
    '--locale=C',
    '--wal-segsize=1',
    '--no-sync',
  ];
  const icu = ['--locale-provider=icu', '--icu-locale=en'];
  // A PostgreSQL without ICU sorts by bytes.
  for (const provider of collation === 'language' ? [icu, []] : [[]]) {
    const program = await startGuarded([...command, ...provider], parts);
    await program.gone(startTimeoutMs);
    program.handOver();
    // A failed attempt removes its files.
    if (existsSync(join(data, 'PG_VERSION'))) return;
  }
  throw new Error(`initdb failed:\n${readFileSync(join(folder, 'server.log'), 'utf8')}`);
}

/** Copies the data folder of a server, which must be stopped, with the owner of its files. */
export function copyData(from: string, to: string): void {
  // The target of a memory folder exists.
  const { status, stderr } = spawnSync('cp', ['-R', '-p', `${from}/.`, to], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the data folder could not be copied: ${stderr}`);
}

/**
 * Fills the data folder of a new server with a copy of the run's first one of that kind, whose password it
 * has.
 *
 * @returns the password.
 */
async function fillData(parts: Omit<Parts, 'port'>, cluster: Cluster): Promise<string> {
  const template = join(runFolder(), `postgres-${cluster.collation}-${cluster.authentication}`);
  const passwordOf = (folder: string): string => join(folder, 'password');
  const dataOf = (folder: string): string => join(folder, 'data');
  if (existsSync(template)) {
    copyData(dataOf(template), parts.data);
    return readFileSync(passwordOf(template), 'utf8');
  }
  await initialise(parts, cluster);
  const draft = `${template}-${randomBytes(6).toString('hex')}`;
  mkdirSync(dataOf(draft), { recursive: true });
  copyData(parts.data, dataOf(draft));
  writeFileSync(passwordOf(draft), parts.password);
  try {
    renameSync(draft, template);
  } catch {
    // Another process was first.
    rmSync(draft, { recursive: true, force: true });
  }
  return parts.password;
}

/**
 * Starts the server on the port of its parts, or on another one if that is in use.
 *
 * The parts' folders are removed if it does not start.
 */
export async function startOnFreePort(parts: Omit<Parts, 'port'>): Promise<PostgresServer> {
  for (let starts = 1; ; starts += 1) {
    const server = new PostgresServer({ ...parts, port: await freePort() });
    try {
      await server.start();
      return server;
    } catch (error) {
      const isTaken = error instanceof Error && error.message.includes('Address already in use');
      if (isTaken && starts < startsMax) continue;
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** Creates and starts a server. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const { durable = false, collation = 'bytes', authentication = 'scram-sha-256', settings = {} } = options;
  const account = serverAccount();
  const folder = makeServerFolder(account);
  const data = makeMemoryFolder(account) ?? join(folder, 'data');
  try {
    const parts = {
      binaries: findPostgres(folder, account),
      account,
      folder,
      data,
      password: randomBytes(12).toString('hex'),
      settings: { ...ordinarySettings, ...(!durable && hastySettings), ...settings },
    };
    const password = await fillData(parts, { collation, authentication });
    return await startOnFreePort({ ...parts, password });
  } catch (error) {
    removeFolders({ folder, data, account });
    throw error;
  }
}
