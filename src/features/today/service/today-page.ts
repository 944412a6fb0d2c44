/** The content of the page of today, without the sums of the books. Each part is a script of its own and takes little time. */

import type { Context } from '../../../core/storage/context.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Webhook } from '../../webhooks/domain/webhook.ts';
import type { EntryPlaces } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  countEmailsSince,
  countExpiring,
  sumHeld,
  type Counted,
  type EmailCounts,
} from '../storage/today.ts';
import { hasCards } from '../../../core/cards/storage/card.ts';
import { anyCard, type CardFilter } from '../../../core/cards/storage/filter.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findWebhooks } from '../../webhooks/storage/webhook.ts';
import { findVerification, type VerificationRecord } from '../../proofs/storage/verification.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listSetupSteps, type SetupStep } from '../../../core/stores/storage/setup-step.ts';
import { countCards, listCards, type CardCount } from '../../../core/cards/service/list.ts';
import { findManyWrongCodes } from '../../recipient/service/recipient-lookup.ts';
import { findRecentActivity, type RecentActivity } from './activity.ts';
import { int64Max } from '../../../core/domain/int64.ts';

const expiringDays = 30;
/** Rows that one statement counts. */
const countedMax = 2_000;
const emailsCountedMax = 10_000;
const failedListed = 4;

export type TodayCounts = {
  readonly expiring: Counted;
  /** The days `YYYY-MM-DD` of the expiring cards: today, and the last one. */
  readonly expiringFrom: string;
  readonly expiringTo: string;
  readonly held: { readonly amount: bigint; readonly isExact: boolean };
  readonly emails: EmailCounts;
  readonly hasCards: boolean;
  readonly settings: EmailSettings;
};

export function* countToday(ctx: Context, store: Store): Script<TodayCounts> {
  const { id, timeZone } = store;
  const now = ctx.clock.now();
  const today = dayOf(ctx.clock.earliest(), timeZone);
  const to = addDays(today, expiringDays);
  const since = startOfDay(dayOf(now, timeZone), timeZone);
  const [expiring, held, emails, hasAny, settings] = yield* parallel(
    countExpiring(id, { from: today, to, limit: countedMax }),
    sumHeld(id, { now, today, limit: countedMax }),
    countEmailsSince(id, { since, limit: emailsCountedMax }),
    hasCards(id),
    findEmailSettings(id),
  );
  return { expiring, expiringFrom: today, expiringTo: to, held, emails, hasCards: hasAny, settings };
}

/** Cards with a balance. */
export function* countWithBalance(ctx: Context, store: Store): Script<CardCount> {
  const filter = { ...anyCard, balance: { min: 1n, max: int64Max } };
  return yield* countCards(ctx, { store, filter });
}

/** Usable cards whose email could not be delivered, the newest first. @param issuedAt the locations of their issue; null: any. */
export function* listCardsUndelivered(
  ctx: Context,
  store: Store,
  issuedAt: CardFilter['issuedAt'],
): Script<readonly DetailedCard[]> {
  const listed = {
    store,
    sort: { by: 'created_at', isDescending: true },
    after: null,
    limit: failedListed,
  } as const;
  const filter = { ...anyCard, issuedAt, state: 'active' } as const;
  const bounced = yield* listCards(ctx, { ...listed, filter: { ...filter, emailStatus: 'bounced' } });
  const dead = yield* listCards(ctx, { ...listed, filter: { ...filter, emailStatus: 'dead' } });
  return [...bounced.cards, ...dead.cards].toSorted((left, right) => right.card.id - left.card.id);
}

export type TodayState = {
  readonly paused: readonly Webhook[];
  readonly verification: VerificationRecord | undefined;
  readonly steps: readonly SetupStep[];
  readonly recent: RecentActivity;
  readonly hasManyWrongCodes: boolean;
};

/** @param perHour failed lookups, if the store has no limit of its own. @param places those whose activity is shown. */
export function* findTodayState(
  ctx: Context,
  store: Store,
  { perHour, places }: { readonly perHour: number; readonly places: EntryPlaces },
): Script<TodayState> {
  const [webhooks, verification, steps, recent, hasManyWrongCodes] = yield* parallel(
    findWebhooks(store.id),
    findVerification(store.id),
    listSetupSteps(store.id),
    findRecentActivity(ctx, store, places),
    findManyWrongCodes(ctx, { store, perHour }),
  );
  const paused = webhooks.flatMap(({ webhook }) => (webhook.paused ? [webhook] : []));
  return { paused, verification, steps, recent, hasManyWrongCodes };
}
