/** Sends the emails to owners about the machine, and enqueues the one about a certificate that ends. */

import { emailBackoff, nextAttempt } from '../../../delivery/backoff.ts';
import type { Notice } from '../../emails/delivery/notice.ts';
import { assessCertificate, type CertificateFailure } from '../../https/domain/failure.ts';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Log } from '../../../platform/log.ts';
import { certificateNotice } from '../pages/owner-notice.ts';
import {
  claimOwnerNotices,
  endOwnerNotice,
  enqueueOwnerNotices,
  hasOwnerNotices,
  listStoresToNotify,
  retryOwnerNotice,
  type OwnerNotice,
} from '../service/owner-notices.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { findStore, listOpenStores } from '../../../core/stores/storage/store.ts';
import type { CertificateStatus } from '../../https/start/https.ts';
import type { Database } from '../../../start/database.ts';

type AddressedNotice = Notice & { readonly store: Store; readonly to: string };

/** Returns whether a mail server has accepted the email. */
type SendNotice = (notice: AddressedNotice) => Promise<boolean>;

export type OwnerNotices = {
  /** Sends the notices of all stores that are due. */
  readonly sendDue: () => Promise<void>;
  /** Sends those of a store, such as after a change. @returns false: some are sent later. @param send default: as all emails. */
  readonly sendOf: (store: Store, send?: SendNotice) => Promise<boolean>;
  /** Enqueues an email if the certificate ends soon or has ended, once for each certificate. */
  readonly noticeCertificate: () => Promise<void>;
};

type Parts = {
  readonly database: Database;
  readonly send: SendNotice;
  readonly rule: MachineRule;
  /** Null: the service does not serve HTTPS itself. */
  readonly certificate: CertificateStatus | null;
  readonly logger: Log['logger'];
};

/** Longer than all attempts at the notices of one claim. */
const claimMs = 3 * 60_000;
const claimedMax = 20;
const storesMax = 20;

export function ownerNotices({
  database,
  send: sendByDefault,
  rule,
  certificate,
  logger,
}: Parts): OwnerNotices {
  const { ctx, storage } = database;

  const attempt = async (notice: OwnerNotice, store: Store, send: SendNotice): Promise<void> => {
    const { address: to, content, attempts: made, createdAt: firstAt } = notice;
    if (await send({ ...content, code: null, store, to })) {
      await storage.write(() => endOwnerNotice(notice));
      return;
    }
    const random = (ctx.random.bytes(1)[0] ?? 0) / 256;
    const nextAt = nextAttempt(
      emailBackoff,
      { made, firstAt },
      { now: ctx.clock.now(), random, retryAfterMs: null },
    );
    if (nextAt === null)
      logger.error({ store: store.domain, subject: content.subject }, 'an email to an owner is given up');
    await storage.write(() => (nextAt === null ? endOwnerNotice(notice) : retryOwnerNotice(notice, nextAt)));
  };

  const sendOf: OwnerNotices['sendOf'] = async (store, send = sendByDefault) => {
    const now = ctx.clock.now();
    const claimed = await storage.write(() =>
      claimOwnerNotices(store.id, { now, until: now + claimMs, limit: claimedMax }),
    );
    await Promise.all(claimed.map(async (notice) => await attempt(notice, store, send)));
    return !(await storage.read(() => hasOwnerNotices(store.id)));
  };

  return {
    async sendDue() {
      for (const id of await storage.read(() => listStoresToNotify(ctx.clock.now(), storesMax))) {
        const record = await storage.read(() => findStore(id));
        if (record) await sendOf(record.store);
      }
    },
    sendOf,
    async noticeCertificate() {
      const period = certificate?.period;
      if (!period || !assessCertificate(period, ctx.wallClock.now())) return;
      const failure: CertificateFailure | null = certificate.failure();
      for (const { store } of await storage.read(listOpenStores))
        await storage.write(function* enqueue() {
          if (!(yield* mayOwnersSetMachine(store, rule))) return;
          const { locale } = yield* readEmailSettings(store.id);
          const content = certificateNotice(store, locale, { until: period.until, failure });
          yield* enqueueOwnerNotices(ctx, store, { content, occasion: `certificate until ${period.until}` });
        });
    },
  };
}
