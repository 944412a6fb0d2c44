/** Online sales by staff: refunds, decisions on reviewed sales, the settings of the buy page and its providers. */

import { Fault, FieldErrors } from '../../../core/domain/fault.ts';
import { exceeds, formatMoney } from '../../../core/money/domain/money.ts';
import type { ProviderAccount, ProviderCredential, ProviderKind } from '../domain/payment.ts';
import {
  frameDomainsMax,
  presetsMax,
  termsTextLengthMax,
  termsUrlLengthMax,
  type SalePage,
} from '../domain/rules.ts';
import type { OnlineRefund, OnlineSale } from '../domain/sale.ts';
import { aboveLimit, isAbove } from '../../../core/stores/domain/store.ts';
import { longerThan } from '../../../core/domain/text.ts';
import type { Context } from '../../../core/storage/context.ts';
import { findStoredSale } from '../storage/sale.ts';
import { listProviders, removeProvider, saveProvider } from '../storage/provider.ts';
import { findSalePage, saveSalePage } from '../storage/settings.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { requestRefund } from './refund.ts';
import { releaseSale, returnSale, type Decided } from './review.ts';
import { findSaleSettings } from './settings.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { withinRefundLimit } from '../../../core/staff/service/limits.ts';

function orderOf({ keys }: Pick<Context, 'keys'>, { id, amount }: Pick<OnlineSale, 'id' | 'amount'>) {
  return { order: String(keys.publicIds.of(id)), amount: formatMoney(amount) };
}

/**
 * Stops the card of a sale and requests the refund of what is left. The audit log does not have the reason, which can be
 * personal and cannot be erased there.
 * @throws Fault as `assertMay` and `requestRefund` do; `invalid-parameter` on `amount` above what is left of the
 * person's limit.
 */
export function* refundSale(
  ctx: Context,
  by: ByStaff,
  { saleId, reason }: { readonly saleId: number; readonly reason: string | null },
): Script<OnlineRefund> {
  const key = { storeId: by.store.id, saleId };
  const { refund } = yield* asStaff(ctx, by, {
    permission: 'manageSales',
    *change({ member, actor }) {
      const made = yield* withinRefundLimit(
        ctx,
        { store: by.store, member },
        {
          refund: () => requestRefund(ctx, { ...key, reason, by: 'staff', actor }),
          amountOf: ({ amount }) => amount,
        },
      );
      return { refund: made, sale: yield* findStoredSale(key) };
    },
    entryOf: ({ refund: made, sale }) => ({
      action: 'sale-refunded',
      subjectId: sale?.cardId ?? null,
      details: orderOf(ctx, { id: saleId, amount: made.amount }),
    }),
  });
  return refund;
}

/** Makes the card of a reviewed sale. A sale that is not in review does not change. @throws Fault `not-found`. */
export function* releaseReviewed(ctx: Context, by: ByStaff, saleId: number): Script<OnlineSale> {
  const decided = yield* asStaff<Decided>(ctx, by, {
    permission: 'manageSales',
    change: () => releaseSale(ctx, { storeId: by.store.id, saleId }),
    entryOf: ({ sale, isDecided }) =>
      isDecided ? { action: 'sale-released', subjectId: sale.cardId, details: orderOf(ctx, sale) } : null,
  });
  return decided.sale;
}

/**
 * Sends the money of a reviewed sale back. A sale that is not in review does not change.
 * @throws Fault `not-found`; `invalid-parameter` on `amount` above what is left of the person's limit.
 */
export function* returnReviewed(
  ctx: Context,
  by: ByStaff,
  { saleId, reason }: { readonly saleId: number; readonly reason: string | null },
): Script<OnlineSale> {
  const decided = yield* asStaff<Decided>(ctx, by, {
    permission: 'manageSales',
    change: ({ member, actor }) =>
      withinRefundLimit(
        ctx,
        { store: by.store, member },
        {
          refund: () => returnSale(ctx, { storeId: by.store.id, saleId }, { actor, reason }),
          amountOf: ({ sale, isDecided }) => (isDecided ? sale.paid : null),
        },
      ),
    entryOf: ({ sale, isDecided }) =>
      isDecided ? { action: 'sale-returned', subjectId: null, details: orderOf(ctx, sale) } : null,
  });
  return decided.sale;
}

type SavedPage = Omit<SalePage, 'storeId' | 'updatedAt'>;

/** The errors of settings, by the names of the form. The pages check the rest before. */
function errorsOf(page: SavedPage, { issueLimit }: ByStaff['store']): FieldErrors {
  const errors = new FieldErrors();
  if (exceeds(page.min, page.max)) errors.add('max', 'must be at least the lowest amount');
  if (isAbove(issueLimit, page.max)) errors.add('max', aboveLimit(issueLimit));
  const isOutside = page.presets.some((preset) => exceeds(page.min, preset) || exceeds(preset, page.max));
  if (isOutside) errors.add('presets', 'must be from the lowest to the highest amount');
  if (page.presets.length > presetsMax) errors.add('presets', `must be at most ${presetsMax}`);
  if (page.frameDomains.length > frameDomainsMax)
    errors.add('frame_domains', `must be at most ${frameDomainsMax}`);
  const urls = { terms: page.termsUrl, privacy: page.privacyUrl, imprint: page.imprintUrl };
  for (const [field, url] of Object.entries(urls))
    if (url !== null && url.length > termsUrlLengthMax)
      errors.add(field, `must have at most ${termsUrlLengthMax} characters`);
  if (page.termsText !== null && longerThan(page.termsText, termsTextLengthMax))
    errors.add('terms_text', `must have at most ${termsTextLengthMax} characters`);
  return errors;
}

/** Saves the settings of the buy page. @throws Fault `invalid-parameter` also if it cannot be opened, on `is_open`. */
export function* saveSaleSettings(ctx: Context, by: ByStaff, page: SavedPage): Script<SalePage> {
  const { store } = by;
  return yield* asStaff<SalePage>(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const errors = errorsOf(page, store);
      const saved: SalePage = { ...page, storeId: store.id, updatedAt: ctx.clock.now() };
      const before = yield* findSalePage(store.id);
      if (!errors.any) yield* saveSalePage(saved);
      const { obstacles } = yield* findSaleSettings(ctx, store);
      // A page that is open stays open, whatever keeps it from selling now.
      const isOpened = page.isOpen && before?.isOpen !== true;
      const blocking = obstacles.filter((each) => each !== 'restored-copy');
      if (isOpened && !errors.any && blocking.length > 0)
        errors.add('is_open', `cannot be set: ${blocking.join(', ')}`);
      if (errors.any) throw new Fault('invalid-parameter', { errors: errors.toErrors() });
      return saved;
    },
    entryOf: () => ({ action: 'settings-changed', subjectId: null, details: { fields: 'buy_page' } }),
  });
}

function providerEntry(kind: ProviderKind, account: string, details: { readonly removed?: true } = {}) {
  return {
    action: 'settings-changed',
    subjectId: null,
    details: { fields: 'payment_provider', name: `${kind} ${account}`, ...details },
  } as const;
}

/**
 * Sets a provider up, or replaces its key. It becomes the one of new sales. The caller has examined the key.
 * @throws Fault as `assertMay` does; `currency-mismatch` if the account does not have the store's currency;
 * `insufficient-scope` for the keys of a real provider in the demonstration, whose owner has no password.
 */
export function* setUpProvider(
  ctx: Context,
  by: ByStaff,
  {
    kind,
    credential,
    account,
  }: {
    readonly kind: ProviderKind;
    readonly credential: ProviderCredential;
    readonly account: ProviderAccount;
  },
): Script<null> {
  const { store } = by;
  if (store.demonstration && kind !== 'sandbox') throw new Fault('insufficient-scope');
  if (account.currencies && !account.currencies.includes(store.currency.code))
    throw new Fault('currency-mismatch');
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const place = { storeId: store.id, kind, isTest: account.isTest };
      const providers = yield* listProviders(store.id);
      const before = providers.find((each) => each.kind === kind && each.isTest === account.isTest);
      const isSame = before?.account === account.account;
      yield* saveProvider(
        ctx,
        {
          ...place,
          account: account.account,
          isActive: true,
          hasHintSecret: credential.hintSecret !== null,
          keySetAt: ctx.clock.now(),
          failingSince: null,
          failure: null,
          comparedUntil: isSame ? before.comparedUntil : null,
          copiedAt: isSame ? before.copiedAt : null,
          hintsRejectedSince: null,
          hintsRejectedAt: null,
        },
        credential,
      );
      return null;
    },
    entryOf: () => providerEntry(kind, account.account),
  });
}

/** Removes a provider's key. Sales that were paid there can no longer be read or refunded. @throws Fault as `assertMay` does. */
export function* endProvider(
  ctx: Context,
  by: ByStaff,
  { kind, isTest }: { readonly kind: ProviderKind; readonly isTest: boolean },
): Script<null> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const providers = yield* listProviders(by.store.id);
      yield* removeProvider({ storeId: by.store.id, kind, isTest });
      return providers.find((each) => each.kind === kind && each.isTest === isTest);
    },
    entryOf: (removed) => (removed ? providerEntry(kind, removed.account, { removed: true }) : null),
  });
  return null;
}
