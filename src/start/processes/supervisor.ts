/**
 * Several processes that serve on the same ports (`PROCESSES`). This process only supervises them: it has the ports, which
 * it passes connections from, starts a process again that has ended, and passes messages between them. Each of the others
 * is the whole service, as on several machines with one PostgreSQL database.
 */

import cluster, { type Worker } from 'node:cluster';
import { isSea } from 'node:sea';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../../platform/limits.ts';
import { numberVariable } from './channel.ts';
import type { EndReason, ProcessOrder, ProcessReport } from './messages.ts';
import { TurnOrder } from './turns.ts';

/** The wait before a process is started again; it doubles up to the maximum while the process ends soon after its start. */
const restartMs = { first: 1_000, max: 30_000 } as const;

/** A process that has run for this long has not ended because of its start. */
const soundMs = 60_000;

/** The limits of the wait for processes that do not respond. */
export type Patience = {
  /** The period of requests whether a process responds, and the number of them in a row without a response. */
  readonly pingPeriodMs: number;
  readonly pingsMax: number;
  /** The longest time for the requests in progress and for closing the database. */
  readonly stopMaxMs: number;
};

const usualPatience: Patience = {
  pingPeriodMs: 5_000,
  pingsMax: 12,
  stopMaxMs: limits.stopTimeoutMs + 8_000,
};

export type Supervised = {
  /** Resolves when all processes must end. A number is the exit code of a first process that did not start. */
  readonly ended: Promise<EndReason | number>;
  /** Ends all processes after their requests in progress. */
  readonly stop: () => Promise<void>;
};

/** Starts one process, and the others when it serves and a store exists. @param count at least 2. */
export function supervise(
  count: number,
  logger: Pick<FastifyBaseLogger, 'error'>,
  patience: Patience = usualPatience,
): Supervised {
  // The single executable has no path of a script, which `fork` puts before the arguments.
  const [, script = '', command = '', ...rest] = process.argv;
  cluster.setupPrimary({
    ...(isSea() ? { exec: command, args: rest } : { exec: script, args: process.argv.slice(2) }),
    // JSON has no NaN, which metrics use.
    serialization: 'advanced',
  });
  const processes = new Processes(count, logger, patience);
  processes.start(1);
  return { ended: processes.ended.promise, stop: () => processes.stop() };
}

class Processes {
  readonly ended = Promise.withResolvers<EndReason | number>();
  readonly #count: number;
  readonly #logger: Pick<FastifyBaseLogger, 'error'>;
  readonly #patience: Patience;
  readonly #running = new Map<number, Worker>();
  /** The number of pings without a response, of each process that serves. */
  readonly #unanswered = new Map<number, number>();
  readonly #pinging: NodeJS.Timeout;
  readonly #restarts = new Set<NodeJS.Timeout>();
  readonly #turns: TurnOrder;
  #hasServed = false;
  #isComplete = false;
  #isStopping = false;

  constructor(count: number, logger: Pick<FastifyBaseLogger, 'error'>, patience: Patience) {
    this.#count = count;
    this.#logger = logger;
    this.#patience = patience;
    this.#pinging = setInterval(() => this.#ping(), patience.pingPeriodMs);
    this.#turns = new TurnOrder(
      (number, order) => this.#send(number, order),
      (order) => this.#sendAll(order),
    );
  }

  /** @param restartAfterMs the wait before another start, if the process ends. */
  start(number: number, restartAfterMs: number = restartMs.first): void {
    const worker = cluster.fork({ [numberVariable]: String(number) });
    const startedAt = performance.now();
    this.#running.set(number, worker);
    this.#turns.joined(number);
    closeUnaccepted(worker);
    worker.on('message', (report: ProcessReport) => {
      // A message can be read after the end of its process, when another one has the number.
      if (this.#running.get(number) === worker || report.type === 'ending') this.#receive(number, report);
    });
    const ended = (code: number | null, signal: string | null): void => {
      this.#running.delete(number);
      this.#unanswered.delete(number);
      this.#turns.left(number);
      if (this.#isStopping) return;
      // The process has logged why, and another start would fail as well.
      if (!this.#hasServed) return this.ended.resolve(code === 0 || code === null ? 1 : code);
      const isSound = performance.now() - startedAt >= soundMs;
      const waitMs = isSound ? restartMs.first : restartAfterMs;
      this.#logger.error(
        { process: number, pid: worker.process.pid, code, signal, restart_in_ms: waitMs },
        'a process ended, and is started again',
      );
      this.#startLater(number, waitMs);
    };
    worker.once('exit', ended);
    worker.on('error', (error) => {
      this.#logger.error({ err: error, process: number }, 'a process failed');
      // The system has not started it.
      if (worker.process.pid === undefined) ended(null, null);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#pinging);
    for (const restart of this.#restarts) clearTimeout(restart);
    await Promise.all(
      [...this.#running].map(async ([number, worker]) => {
        const ended = Promise.withResolvers<unknown>();
        worker.once('exit', ended.resolve);
        worker.process.kill('SIGTERM');
        const late = setTimeout(
          () => this.#kill(number, 'a process does not end, and is killed'),
          this.#patience.stopMaxMs,
        );
        await ended.promise;
        clearTimeout(late);
      }),
    );
  }

  /** Kills processes that do not respond, such as one in an endless loop: clients and the other processes wait for them. */
  #ping(): void {
    for (const [number, unanswered] of this.#unanswered) {
      if (unanswered === this.#patience.pingsMax)
        this.#kill(number, 'a process does not respond, and is killed');
      this.#unanswered.set(number, unanswered + 1);
      this.#send(number, { type: 'ping' });
    }
  }

  #kill(number: number, why: string): void {
    const worker = this.#running.get(number);
    this.#logger.error({ process: number, pid: worker?.process.pid }, why);
    worker?.process.kill('SIGKILL');
  }

  #startLater(number: number, waitMs: number): void {
    const restart = setTimeout(() => {
      this.#restarts.delete(restart);
      this.#tryStart(number, Math.min(waitMs * 2, restartMs.max));
    }, waitMs);
    this.#restarts.add(restart);
  }

  /** Starts a process, now or later: the system can have no memory for it. */
  #tryStart(number: number, restartAfterMs: number = restartMs.first): void {
    try {
      this.start(number, restartAfterMs);
    } catch (error) {
      this.#logger.error({ err: error, process: number }, 'a process failed');
      this.#startLater(number, restartAfterMs);
    }
  }

  #receive(number: number, report: ProcessReport): void {
    switch (report.type) {
      case 'serving':
        this.#hasServed = true;
        this.#unanswered.set(number, 0);
        if (!report.isAlone) this.#startOthers();
        break;
      case 'ending':
        this.ended.resolve(report.reason);
        break;
      case 'alive':
        this.#unanswered.set(number, 0);
        break;
      case 'turn-wanted':
        this.#turns.want(number);
        break;
      case 'turn-ended':
        this.#turns.end(number);
        break;
      case 'committed':
        for (const other of this.#running.keys()) if (other !== number) this.#send(other, report);
        break;
      case 'metrics-wanted':
        void this.#sendMetrics(number, report.id);
        break;
    }
  }

  #startOthers(): void {
    if (this.#isComplete || this.#isStopping) return;
    this.#isComplete = true;
    for (let number = 2; number <= this.#count; number += 1) this.#tryStart(number);
  }

  async #sendMetrics(number: number, id: number): Promise<void> {
    const { default: prometheus } = await import('prom-client');
    const text = await new prometheus.AggregatorRegistry().clusterMetrics().catch(() => null);
    this.#send(number, { type: 'metrics', id, text });
  }

  #sendAll(order: ProcessOrder): void {
    for (const number of this.#running.keys()) this.#send(number, order);
  }

  #send(number: number, order: ProcessOrder): void {
    const worker = this.#running.get(number);
    // A process that has just ended does not need it.
    if (worker?.isConnected()) worker.send(order, () => undefined);
  }
}

/** A message of Node.js with which a connection is passed, or the response, whose `ack` is the `seq` of the first. */
type Passing = { readonly act?: string; readonly seq?: number; readonly ack?: number };

/**
 * Closes the connections that a process had not accepted when it ended. Node.js closes its own copy when the process
 * confirms that it has the connection, so the client would wait for ever.
 */
function closeUnaccepted(worker: Worker): void {
  const { process: child } = worker;
  // The system has not started the process.
  if (!child.connected) return;
  const passed = new Map<number, { close(): void }>();
  const send = child.send.bind(child) as (...sent: readonly unknown[]) => boolean;
  child.send = (...sent: readonly unknown[]): boolean => {
    const [{ act, seq }, connection] = sent as [Passing, { close(): void }];
    if (act === 'newconn' && seq !== undefined) passed.set(seq, connection);
    return send(...sent);
  };
  child.on('internalMessage', ({ ack }: Passing) => ack !== undefined && passed.delete(ack));
  child.once('exit', () => {
    // Node.js has read the last response when the channel has ended. It emits no event for that if one is missing.
    const reading = setInterval(() => {
      if (child.connected) return;
      clearInterval(reading);
      for (const connection of passed.values()) connection.close();
    }, channelReadMs);
  });
}

/** The period of checks whether the channel of a process that has exited is read to its end. */
const channelReadMs = 10;
