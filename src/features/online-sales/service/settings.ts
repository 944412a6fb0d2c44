/** The settings of the buy page and its payment providers. Staff change them with `staff-online-sales.ts`. */

import type { Currency } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { SalePage } from '../domain/rules.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { listProviders, type StoreProvider } from '../storage/provider.ts';
import { findSalePage } from '../storage/settings.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listSetupSteps } from '../../../core/stores/storage/setup-step.ts';

/** Amounts of the first settings, in whole units of a currency with decimals. */
const first = { presets: [25, 50, 100], min: 10, max: 250, perDay: 500, reviewAbove: 150 } as const;

/** Units of currencies without decimals, such as yen, are about a hundredth of the others. */
function amountOf(units: number, currency: Currency): Money {
  const scale = currency.decimals === 0 ? 100 : 10 ** currency.decimals;
  return { minor: BigInt(units * scale), currency };
}

/** The settings of a store that has saved none. */
export function defaultSalePage({ id, currency, issueLimit }: Store): SalePage {
  const unlimited = amountOf(first.max, currency);
  const max = issueLimit && issueLimit.minor < unlimited.minor ? issueLimit : unlimited;
  const min = amountOf(first.min, currency);
  const perDay = amountOf(first.perDay, currency);
  return {
    storeId: id,
    isOpen: false,
    presets: first.presets
      .map((units) => amountOf(units, currency))
      .filter(({ minor }) => minor <= max.minor),
    min: min.minor <= max.minor ? min : max,
    max,
    validityMonths: null,
    termsUrl: null,
    termsText: null,
    privacyUrl: null,
    imprintUrl: null,
    frameDomains: [],
    addressLimit: perDay,
    cardLimit: perDay,
    networkLimit: { minor: perDay.minor * 2n, currency },
    storeLimit: null,
    reviewAbove: amountOf(first.reviewAbove, currency),
    reviewsFirst: false,
    reviewsForeign: false,
    reviewHours: 24,
    delayMinutes: 0,
    work: 'auto',
    country: null,
    updatedAt: 0,
  };
}

/** The settings of a store's buy page. */
export function* pageOf(store: Store): Script<SalePage> {
  return (yield* findSalePage(store.id)) ?? defaultSalePage(store);
}

/** A reason for which a buy page cannot be opened, and an open one sells nothing. */
export type OpeningObstacle =
  'no-terms' | 'no-vat' | 'no-provider' | 'test-provider' | 'no-emails' | 'restored-copy';

export type SaleSettings = {
  /** The settings, or those of a store that has none. */
  readonly page: SalePage;
  readonly isSaved: boolean;
  /** The active one first. */
  readonly providers: readonly StoreProvider[];
  readonly obstacles: readonly OpeningObstacle[];
};

/** Whether a provider that takes no real money can sell: where cards have no value. */
export function isPlayground(ctx: Pick<Context, 'testClock'>, store: Store): boolean {
  return ctx.testClock !== null || store.demonstration;
}

export function* findSaleSettings(ctx: Pick<Context, 'testClock'>, store: Store): Script<SaleSettings> {
  const [saved, providers, steps, emails] = yield* parallel(
    findSalePage(store.id),
    listProviders(store.id),
    listSetupSteps(store.id),
    findEmailSettings(store.id),
  );
  const page = saved ?? defaultSalePage(store);
  const active = providers.find(({ isActive }) => isActive);
  // Payments since the backup can be missing here, and refunded cards valid again.
  const isCopy =
    steps.some(({ step }) => step === 'restored_copy') || providers.some(({ copiedAt }) => copiedAt !== null);
  const found: readonly (readonly [OpeningObstacle, boolean])[] = [
    ['no-terms', page.termsUrl === null],
    ['no-vat', store.vat === null],
    ['no-provider', !active],
    ['test-provider', active?.isTest === true && !isPlayground(ctx, store)],
    ['no-emails', !emails.enabled],
    ['restored-copy', isCopy],
  ];
  const obstacles = found.flatMap(([obstacle, applies]) => (applies ? [obstacle] : []));
  return { page, isSaved: saved !== undefined, providers, obstacles };
}

/** Whether visitors can buy on the page. */
export function isSelling({ page, obstacles }: Pick<SaleSettings, 'page' | 'obstacles'>): boolean {
  return page.isOpen && obstacles.length === 0;
}
