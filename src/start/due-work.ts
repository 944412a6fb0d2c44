/**
 * The work that becomes due with time: holds and cards expire, days end, reminders are due, and data becomes old. Jobs do
 * it, except while a process advances the clock of a sandbox, which does it itself.
 */

import { closeDueHolds, createCheckpoints, recordExpiries } from '../jobs/due.ts';
import { eraseOld, eraseOutdated } from '../jobs/erasing.ts';
import type { JobTools } from '../jobs/job.ts';
import { remind } from '../features/emails/jobs/reminders.ts';
import { closeDays } from '../features/books/service/closing.ts';
import { findSandbox } from '../features/sandbox/storage/sandbox.ts';
import type { AccountantEmails } from '../features/accountants/start/accountants.ts';
import type { OnlineSales } from '../features/online-sales/start/online-sales.ts';

/** The work that was done. */
export type DueCounts = {
  readonly holdsExpired: number;
  readonly cardsExpired: number;
  readonly cardsExpiringSoon: number;
  readonly daysClosed: number;
  /** Emails to accountants. */
  readonly monthsSent: number;
};

type Options = {
  /** Whether the emails of a store can be sent. */
  readonly canSend: Parameters<typeof remind>[0]['canSend'];
  /** The instant (ms) up to which the clock is trusted. */
  readonly trustedUntil: () => Promise<number>;
  /** Adds the entries that the log does not have. */
  readonly append: () => Promise<void>;
  readonly accountants: Pick<AccountantEmails, 'run'>;
  /** Null: the service has no pages, or does not know its own URL. */
  readonly onlineSales: Pick<OnlineSales, 'run' | 'compare'> | null;
};

export class DueWork {
  readonly #tools: JobTools;
  readonly #options: Options;
  readonly #addCheckpoints: () => Promise<unknown>;
  readonly #running = new Set<Promise<unknown>>();
  #isPaused = false;

  constructor(tools: JobTools, options: Options) {
    this.#tools = tools;
    this.#options = options;
    this.#addCheckpoints = createCheckpoints(tools);
  }

  /** The tasks that must not run while the clock is not trusted, with their periods in milliseconds. */
  tasks(): readonly { readonly task: () => Promise<void>; readonly periodMs: number }[] {
    const tools = this.#tools;
    const { limits } = tools;
    const tasks: (readonly [task: () => Promise<unknown>, periodMs: number])[] = [
      [() => eraseOutdated(tools), limits.upkeepPeriodMs],
      [() => eraseOld(tools), limits.retentionPeriodMs],
      [() => closeDueHolds(tools), limits.holdExpiryPeriodMs],
      [() => recordExpiries(tools), limits.expiryPeriodMs],
      [this.#addCheckpoints, limits.checkpointPeriodMs],
      [() => remind({ ...tools, canSend: this.#options.canSend }), limits.reminderPeriodMs],
      [this.#options.accountants.run, limits.noticesPeriodMs],
    ];
    const { onlineSales } = this.#options;
    if (onlineSales)
      tasks.push(
        [() => onlineSales.run(), limits.onlineSalesPeriodMs],
        [() => onlineSales.compare(), limits.paymentComparisonPeriodMs],
      );
    return tasks.map(([task, periodMs]) => ({ task: () => this.#unlessPaused(task), periodMs }));
  }

  /** Closes the days that had ended when the clock was last trusted. */
  closeEndedDays(): Promise<void> {
    return this.#unlessPaused(async () => {
      const until = await this.#options.trustedUntil();
      await closeDays(this.#tools, this.#tools.limits.closingRowsMax, until);
    });
  }

  /**
   * Does everything that is due now, in order.
   * @param send sends what the queues have.
   * @param erases whether it also erases what is old.
   */
  async run(send: () => Promise<void>, { erases }: { readonly erases: boolean }): Promise<DueCounts> {
    const tools = this.#tools;
    // Work of stores is due when the log has the entries that cause it.
    await this.#options.append();
    const holdsExpired = await closeDueHolds(tools);
    const { expired, expiringSoon } = await recordExpiries(tools);
    await remind({ ...tools, canSend: this.#options.canSend });
    // Before the queues: the emails of the cards that it makes are sent with the others.
    await this.#options.onlineSales?.run();
    await this.#options.onlineSales?.compare();
    await send();
    const daysClosed = await closeDays(tools, tools.limits.closingRowsMax);
    const monthsSent = await this.#options.accountants.run();
    await this.#options.append();
    await this.#addCheckpoints();
    if (erases) {
      await eraseOutdated(tools);
      await eraseOld(tools);
    }
    return { holdsExpired, cardsExpired: expired, cardsExpiringSoon: expiringSoon, daysClosed, monthsSent };
  }

  /** Runs a task while none of the tasks above runs. */
  async whilePaused<Result>(task: () => Promise<Result>): Promise<Result> {
    this.#isPaused = true;
    try {
      await Promise.allSettled(this.#running);
      return await task();
    } finally {
      this.#isPaused = false;
    }
  }

  async #unlessPaused(task: () => Promise<unknown>): Promise<void> {
    if (await this.#isAdvancing()) return;
    if (this.#isPaused) return;
    const running = task();
    this.#running.add(running);
    await running.finally(() => this.#running.delete(running));
  }

  /** Whether any process advances the clock. */
  async #isAdvancing(): Promise<boolean> {
    const { ctx, storage } = this.#tools;
    return ctx.testClock !== null && (await storage.read(findSandbox))?.isAdvancing === true;
  }
}
