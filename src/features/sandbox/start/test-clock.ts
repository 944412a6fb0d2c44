/**
 * Advances the clock of a sandbox.
 *
 * The clock moves in steps: to the next instant at which something is due, but at most a thousandth of the way at once if
 * much is. After each step, everything that is due is done, and the queues are empty, before the next one. The time
 * and the counts are stored with each step, so another process continues where one has ended.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Worker } from '../../../delivery/worker.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import { nextMonthDue } from '../../accountants/domain/accountant.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { startJob, type Job } from '../../../jobs/job.ts';
import { closingDelayMs } from '../../books/service/closing.ts';
import {
  addCounts,
  beginAdvance,
  parseCounts,
  requireSandbox,
  type AdvanceCounts,
  type TestClockRuns,
} from '../service/test-clock.ts';
import {
  claimAdvance,
  endAdvance,
  findNextDue,
  findSandbox,
  hasClaims,
  moveClock,
  nothingDone,
  releaseAdvance,
  type Lease,
} from '../storage/sandbox.ts';
import { listOpenStores } from '../../../core/stores/storage/store.ts';
import type { Database } from '../../../start/database.ts';
import type { Background } from '../../../start/jobs.ts';

type Parts = {
  readonly database: Database;
  readonly background: Background;
  /** Null: emails are not sent by this process. */
  readonly emails: Worker | null;
  readonly webhooks: Worker;
  readonly logger: FastifyBaseLogger;
};

export type TestClockJob = TestClockRuns & { stop(): Promise<void> };

/** A process that has ended is replaced after this time. */
const leaseMs = 8_000;
const renewalMs = 2_000;
/** Between two looks for an advance that no process continues. */
const resumePeriodMs = 1_000;
/** Between two looks for what other processes send. */
const claimsPeriodMs = 100;
const stepsMax = 1_000;
const stepMinMs = 60_000;
const dayMs = 24 * 60 * 60 * 1_000;

export function startTestClock(parts: Parts): TestClockJob {
  const runs = new Advances(parts);
  // A process can have ended in the middle of an advance.
  const resuming: Job = startJob(
    () => runs.resume(),
    resumePeriodMs,
    (error) => parts.logger.error({ err: error }, 'an advance of the test clock could not be continued'),
  );
  return {
    advance: (command) => runs.advance(command),
    async stop() {
      runs.isStopping = true;
      await resuming.stop();
      await runs.running;
    },
  };
}

class Advances implements TestClockRuns {
  isStopping = false;
  /** The advance in progress; it never rejects. */
  running: Promise<void> = Promise.resolve();
  readonly #parts: Parts;
  #isRunning = false;
  /** The emails and webhooks that are counted, of those that were sent since the start. */
  #counted: readonly [number, number] = [0, 0];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async advance(command: Parameters<TestClockRuns['advance']>[0]): Promise<void> {
    const { ctx, storage } = this.#parts.database;
    const lease = this.#newLease();
    if (await storage.write(() => beginAdvance(ctx, command, lease))) await this.#start(lease.lease);
  }

  /** Continues an advance that no process works on. */
  async resume(): Promise<void> {
    const { storage } = this.#parts.database;
    if (this.isStopping || this.#isRunning) return;
    const sandbox = await storage.read(findSandbox);
    if (sandbox?.isAdvancing !== true) return;
    const lease = this.#newLease();
    if (await storage.write(() => claimAdvance(lease))) await this.#start(lease.lease);
  }

  #newLease(lease = this.#parts.database.ctx.random.id()): Lease {
    const now = this.#parts.database.ctx.wallClock.now();
    return { lease, now, until: now + leaseMs };
  }

  /** Runs an advance to its end. @throws the error that ended it. */
  async #start(lease: number): Promise<void> {
    const { database, background, logger } = this.#parts;
    const { storage } = database;
    const { testClock } = database.ctx;
    if (!testClock) throw new Error('the database is not a sandbox');
    this.#isRunning = true;
    testClock.lease = lease;
    const renewal = setInterval(() => {
      storage
        .write(() => claimAdvance(this.#newLease(lease)))
        .catch((error: unknown) => {
          logger.warn({ err: error }, 'the lease of an advance of the test clock could not be renewed');
        });
    }, renewalMs);
    const run = background.due.whilePaused(() => this.#run(lease));
    this.running = run.then(
      () => undefined,
      () => undefined,
    );
    try {
      await run;
    } catch (error) {
      await storage.write(() => releaseAdvance(lease)).catch(() => undefined);
      throw error;
    } finally {
      clearInterval(renewal);
      testClock.lease = null;
      this.#isRunning = false;
    }
  }

  async #run(lease: number): Promise<void> {
    const { ctx, storage } = this.#parts.database;
    const { advancedFrom, advancedTo, done } = await storage.read(requireSandbox);
    const [from, to] = [advancedFrom ?? 0, advancedTo ?? 0];
    const stepMs = Math.max(stepMinMs, Math.ceil((to - from) / stepsMax));
    const { emails, webhooks } = this.#parts;
    this.#counted = [emails?.sent() ?? 0, webhooks.sent()];
    let counts = parseCounts(done);
    let isFirst = done === nothingDone;
    let erasedAt = Number.NEGATIVE_INFINITY;
    for (;;) {
      if (this.isStopping) throw new Fault('closing', { retryAfterSeconds: 1 });
      const isEnd = ctx.clock.now() >= to;
      const erases = isEnd || ctx.clock.now() - erasedAt >= dayMs;
      if (erases) erasedAt = ctx.clock.now();
      counts = addCounts(counts, await this.#runDue(erases));
      if (isEnd) break;
      const next = await this.#nextInstant(to, stepMs);
      await this.#move(lease, { next, counts, isFirst });
      isFirst = false;
    }
    if (!(await storage.write(() => endAdvance(lease, JSON.stringify(counts))))) throw lostLease();
  }

  /** Does everything that is due. A queue can add to the other, and what is done can be due at once. */
  async #runDue(erases: boolean): Promise<Partial<AdvanceCounts>> {
    const { background, emails, webhooks } = this.#parts;
    const countSent = () => [emails?.sent() ?? 0, webhooks.sent()] as const;
    const send = async (): Promise<void> => {
      for (let before = 0, after = -1; before !== after;) {
        before = after;
        await emails?.drain();
        await webhooks.drain();
        after = countSent().reduce((sum, one) => sum + one, 0);
      }
    };
    const due = await background.due.run(send, { erases });
    const [ofEmails, ofWebhooks] = countSent();
    const [emailsBefore, webhooksBefore] = this.#counted;
    this.#counted = [ofEmails, ofWebhooks];
    return {
      holds_expired: due.holdsExpired,
      cards_expired: due.cardsExpired,
      cards_expiring_soon: due.cardsExpiringSoon,
      days_closed: due.daysClosed,
      emails: ofEmails - emailsBefore + due.monthsSent,
      webhook_attempts: ofWebhooks - webhooksBefore,
    };
  }

  /** The time of the next step: when something is due, a day can be closed, or emails
   * about a month are sent, at least a step and at most the end. */
  async #nextInstant(to: number, stepMs: number): Promise<number> {
    const { ctx, storage } = this.#parts.database;
    const now = ctx.clock.now();
    const due = await storage.read(() => findNextDue(now));
    const stores = await storage.read(listOpenStores);
    const zones = new Set(stores.map(({ store }) => store.timeZone));
    const closings = [...zones].map((zone) => {
      const day = dayOf(now - closingDelayMs, zone);
      return startOfDay(addDays(day, 1), zone) + closingDelayMs;
    });
    const months = [...zones].map((zone) => nextMonthDue(now, zone));
    return Math.min(to, Math.max(now + stepMs, Math.min(due, ...closings, ...months)));
  }

  /**
   * Waits for what other processes send, whose claims would expire when the clock moves. From the beginning of an advance
   * they claim nothing, so this is needed only before its first step. The claims of a process that has ended expire.
   */
  async #untilNothingIsSent(): Promise<void> {
    const { ctx, storage } = this.#parts.database;
    while (await storage.write(() => hasClaims(ctx.clock.now()))) {
      if (this.isStopping) throw new Fault('closing', { retryAfterSeconds: 1 });
      await wait(claimsPeriodMs);
    }
  }

  /** Moves the clock while nothing is being sent, so that no claim expires. */
  async #move(
    lease: number,
    {
      next,
      counts,
      isFirst,
    }: { readonly next: number; readonly counts: AdvanceCounts; readonly isFirst: boolean },
  ): Promise<void> {
    const { database, emails, webhooks } = this.#parts;
    const { ctx, storage } = database;
    const { testClock } = ctx;
    if (!testClock) throw new Error('the database is not a sandbox');
    const move = async (): Promise<void> => {
      if (isFirst) await this.#untilNothingIsSent();
      const offsetMs = testClock.offsetMs() + Math.max(0, next - ctx.clock.now());
      const stored = { offsetMs, done: JSON.stringify(counts) };
      if (!(await storage.write(() => moveClock(lease, stored)))) throw lostLease();
      testClock.follow(offsetMs);
    };
    await webhooks.whileIdle(() => (emails ? emails.whileIdle(move) : move()));
  }
}

/** Another process continues, because this one has not renewed its lease in time. */
function lostLease(): Fault {
  return new Fault('test-clock-in-use', { retryAfterSeconds: 2 });
}
