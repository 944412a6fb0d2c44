/** Sends the emails to accountants about months that have ended. */

import { monthNotice } from '../pages/notice.ts';
import { emailBackoff, nextAttempt } from '../../../delivery/backoff.ts';
import type { EmailOutcome } from '../../emails/delivery/outcome.ts';
import { daysOfMonth } from '../domain/accountant.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Log } from '../../../platform/log.ts';
import { readJournal } from '../../books/service/reports.ts';
import {
  claimAccountantEmails,
  enqueueDueMonths,
  findMonthsWork,
  listStoresToReport,
  monthToken,
  settleAccountantEmail,
  type AddressedMonth,
} from '../service/accountants.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import type { AccountantSettlement } from '../storage/accountant.ts';
import { forDueStores, presentOf } from '../../../core/stores/service/work.ts';
import { findStore, isStoreClosed } from '../../../core/stores/storage/store.ts';
import type { Database } from '../../../start/database.ts';
import { deliverNotice, type EmailSetup } from '../../emails/start/email.ts';

export type AccountantEmails = {
  /** Enqueues the emails that are due, and sends those that wait. @returns how many mail servers have accepted. */
  readonly run: () => Promise<number>;
  /** Sends those of a store that wait, such as one that an owner has requested. */
  readonly sendOf: (store: Store) => Promise<void>;
};

type Parts = {
  readonly database: Pick<Database, 'ctx' | 'storage'>;
  readonly email: Pick<EmailSetup, 'senders' | 'ownTransport' | 'canSend'>;
  /** The base of the links; null: the service does not know its own address, and sends none. */
  readonly pagesUrl: string | null;
  readonly logger: Log['logger'];
};

/** A store whose emails cannot be sent is read again after this time. */
const cannotSendMs = 10 * 60_000;
/** Longer than all attempts at the emails of one claim. */
const claimMs = 5 * 60_000;
const claimedMax = 10;
const storesMax = 20;

export function accountantEmails({ database, email: setup, pagesUrl, logger }: Parts): AccountantEmails {
  const { ctx, storage } = database;

  const settlementOf = (
    { attempts: made, firstAt, createdAt }: AddressedMonth['email'],
    outcome: EmailOutcome | null,
  ): AccountantSettlement => {
    const response = outcome?.response ?? null;
    if (outcome?.kind === 'sent' || outcome?.kind === 'kept')
      return { state: outcome.kind, response, nextAt: null };
    if (outcome?.kind === 'rejected') return { state: 'bounced', response, nextAt: null };
    const random = (ctx.random.bytes(1)[0] ?? 0) / 256;
    const nextAt = nextAttempt(
      emailBackoff,
      { made, firstAt: firstAt ?? createdAt },
      { now: ctx.clock.now(), random, retryAfterMs: null },
    );
    return { state: nextAt === null ? 'dead' : 'deferred', response, nextAt };
  };

  const attempt = async (store: Store, addressed: AddressedMonth, lease: number): Promise<boolean> => {
    const { email, accountant } = addressed;
    const source = { storage, store, now: ctx.clock.now() };
    const journal = email.kind === 'test' ? null : await readJournal(source, daysOfMonth(email.month));
    const link = `${pagesUrl}/accountant/${monthToken(ctx, addressed).reveal()}`;
    const { replyTo } = await storage.read(() => readEmailSettings(store.id));
    const notice = monthNotice(store, addressed, { totals: journal?.totals ?? null, link });
    const outcome = await deliverNotice(
      setup,
      { ...notice, replyTo, store, to: accountant.address },
      // The same in every attempt, so that receivers recognize a repeated one.
      { name: `month-${email.id}`, date: email.createdAt },
    );
    const settlement = settlementOf(email, outcome);
    await storage.write(() => settleAccountantEmail(email, lease, { ...settlement, now: ctx.clock.now() }));
    if (settlement.state === 'bounced' || settlement.state === 'dead')
      logger.warn(
        { store: store.domain, month: email.month, state: settlement.state },
        'an email to an accountant was not delivered',
      );
    return settlement.state === 'sent' || settlement.state === 'kept';
  };

  /** @returns how many were accepted. */
  const sendOf = async (store: Store): Promise<number> => {
    if (pagesUrl === null || !(await setup.canSend(store.id))) return 0;
    const now = ctx.clock.earliest();
    const lease = ctx.random.id();
    const claim = { now, until: now + claimMs, lease, limit: claimedMax };
    const claimed = await storage.write(() => claimAccountantEmails(ctx, store.id, claim));
    const sent = await Promise.all(claimed.map(async (each) => await attempt(store, each, lease)));
    return sent.filter((isSent) => isSent).length;
  };

  /** Enqueues the emails about months that are due. */
  const enqueue = async (): Promise<void> => {
    await forDueStores(storage, { kind: 'months', time: presentOf(ctx) }, async (store) => {
      const { hasDue, next } = await storage.read(() => findMonthsWork(ctx, store));
      if (next === null) return null;
      if (!(await setup.canSend(store.id))) return ctx.clock.now() + cannotSendMs;
      if (hasDue) await storage.write(() => enqueueDueMonths(ctx, store));
      return next;
    });
  };

  /** Sends what is due. A store that is closed does not stop the others. */
  const send = async (): Promise<number> => {
    let count = 0;
    for (const id of await storage.read(() => listStoresToReport(ctx.clock.earliest(), storesMax)))
      try {
        const record = await storage.read(() => findStore(id));
        if (record) count += await sendOf(record.store);
      } catch (error) {
        if (!isStoreClosed(error)) throw error;
      }
    return count;
  };

  return {
    async run() {
      if (pagesUrl === null) return 0;
      await enqueue();
      return await send();
    },
    async sendOf(store) {
      await sendOf(store);
    },
  };
}
