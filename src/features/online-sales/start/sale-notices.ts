/** Sends the emails about online sales that are not about a card. */

import { orderNotices } from '../pages/buy/notice.ts';
import { emailBackoff, nextAttempt } from '../../../delivery/backoff.ts';
import { languageOf } from '../../emails/delivery/language.ts';
import { orderPath } from '../domain/links.ts';
import { keyOfSale } from '../domain/sale.ts';
import { localeIn } from '../../../core/stores/domain/region.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { saleToken } from '../service/begin.ts';
import { readOrder } from '../service/order.ts';
import { pageOf } from '../service/settings.ts';
import { claimNotice, listDueNotices, listStoresWithDueNotices, settleNotice } from '../storage/notice.ts';
import type { StoredSale } from '../storage/sale.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import { findStore } from '../../../core/stores/storage/store.ts';
import type { Database } from '../../../start/database.ts';
import { deliverNotice, type EmailSetup } from '../../emails/start/email.ts';

type Parts = {
  readonly database: Pick<Database, 'ctx' | 'storage'>;
  readonly email: Pick<EmailSetup, 'senders' | 'ownTransport' | 'canSend'>;
  /** The base of the links to the pages. */
  readonly pagesUrl: string;
};

/** Longer than the attempts at the emails of one sale. */
const claimMs = 5 * 60_000;
const claimedMax = 10;
const storesMax = 20;

/** @returns sends what is due, and returns the number of sales whose emails were accepted. */
export function saleNotices({ database, email: setup, pagesUrl }: Parts): () => Promise<number> {
  const { ctx, storage } = database;

  const send = async (store: Store, sale: StoredSale): Promise<boolean> => {
    const [order, page, { replyTo, enabled }] = await storage.read(function* read() {
      return [yield* readOrder(ctx, sale), yield* pageOf(store), yield* readEmailSettings(store.id)] as const;
    });
    // The store sends no emails, so there is nothing to wait for.
    if (!enabled) return true;
    const place = {
      store,
      language: { tag: sale.language, locale: localeIn(languageOf(sale.language).locale, store) },
      number: String(ctx.keys.publicIds.of(sale.id)),
      link: `${pagesUrl}${orderPath(store.domain, saleToken(ctx, sale))}`,
      termsUrl: page.termsUrl,
    };
    let areAccepted = true;
    for (const [index, notice] of orderNotices(place, order).entries()) {
      // The same in every attempt, so that receivers recognize a repeated one.
      const name = `sale-${sale.id}-${order.sale.state}-${index}`;
      const outcome = await deliverNotice(
        setup,
        { ...notice, replyTo, store },
        { name, date: sale.noticeAt ?? 0 },
      );
      areAccepted &&= outcome !== null && outcome.kind !== 'deferred' && outcome.kind !== 'unknown';
    }
    return areAccepted;
  };

  const attempt = async (store: Store, sale: StoredSale): Promise<boolean> => {
    const claim = ctx.clock.now() + claimMs;
    if (!(await storage.write(() => claimNotice(sale, claim)))) return false;
    const isDone = await send(store, sale);
    const random = (ctx.random.bytes(1)[0] ?? 0) / 256;
    const made = { made: sale.noticeAttempts + 1, firstAt: sale.decidedAt ?? sale.paidAt ?? sale.createdAt };
    const times = { now: ctx.clock.now(), random, retryAfterMs: null };
    const nextAt = isDone ? null : nextAttempt(emailBackoff, made, times);
    await storage.write(() => settleNotice(keyOfSale(sale), { claim, nextAt }));
    return isDone;
  };

  const sendOf = async (storeId: number): Promise<number> => {
    const record = await storage.read(() => findStore(storeId));
    if (record?.status !== 'open' || !(await setup.canSend(storeId))) return 0;
    const now = ctx.clock.now();
    const due = await storage.read(() => listDueNotices(storeId, { now, limit: claimedMax }));
    let sent = 0;
    for (const sale of due) if (await attempt(record.store, sale)) sent += 1;
    return sent;
  };

  return async () => {
    if (!(await storage.write(() => mayClaim(ctx)))) return 0;
    let sent = 0;
    for (const storeId of await storage.read(() => listStoresWithDueNotices(ctx.clock.now(), storesMax)))
      sent += await sendOf(storeId);
    return sent;
  };
}
