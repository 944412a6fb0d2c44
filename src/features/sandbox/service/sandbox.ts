/** The store of a sandbox, its token, and its cards with fixed codes. */

import type { Context } from '../../../core/storage/context.ts';
import { fixedCodes } from '../../../core/cards/domain/fixed-codes.ts';
import { noDetails } from '../../../core/cards/domain/fields.ts';
import { addDays } from '../../../core/domain/day.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import { scopes, type Store } from '../../../core/stores/domain/store.ts';
import { Secret } from '../../../platform/secret.ts';
import { insertToken, findActiveToken, hasTokenHash } from '../../../core/stores/storage/token.ts';
import { findFirstRealStore } from '../../../core/stores/storage/store.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { issue } from '../../../core/cards/service/issue.ts';
import { today } from '../../../core/stores/service/day.ts';
import { debit } from '../../../core/money/service/spend.ts';
import { tokenHash } from '../../../core/stores/service/secret-token.ts';
import { createStore, valuelessStore } from '../../../core/stores/service/store.ts';
import { accessTokensOf } from '../../../core/stores/service/token.ts';

export type OpenedSandbox = { readonly store: Store; readonly token: Secret };

/** The first store of the sandbox and its token, both created if there are none. */
export function* openSandbox(
  ctx: Context,
  { domain, currency }: { readonly domain: string; readonly currency: Currency },
): Script<OpenedSandbox> {
  const store = (yield* findFirstRealStore())?.store ?? (yield* createSandboxStore(ctx, domain, currency));
  const found = yield* findSandboxToken(ctx, store);
  if (found.isActive) return { store, token: found.secret };
  const token = {
    storeId: store.id,
    id: ctx.random.id(),
    apiClientId: ctx.random.id(),
    name: 'sandbox',
    scopes,
    locationId: null,
    createdAt: ctx.wallClock.now(),
    lastUsedAt: null,
    expiresAt: null,
    revokedAt: null,
  };
  yield* insertToken(token, tokenHash(found));
  return { store, token: found.secret };
}

/** The token that `openSandbox` has created; undefined: it has not, or the token was revoked. */
export function* readSandboxToken(ctx: Context): Script<Secret | undefined> {
  const record = yield* findFirstRealStore();
  if (!record) return undefined;
  const { secret, isActive } = yield* findSandboxToken(ctx, record.store);
  return isActive ? secret : undefined;
}

/** Tokens that are tried, each of which was revoked. */
const revokedMax = 100;

/** The first derived token that was not revoked. Only its hash is stored, so it is derived from the keys again. */
function* findSandboxToken(
  ctx: Context,
  store: Store,
): Script<{ readonly secret: Secret; readonly isActive: boolean }> {
  for (let attempt = 0; attempt < revokedMax; attempt += 1) {
    const secret = derivedToken(ctx, store, attempt);
    const hash = tokenHash({ secret });
    if (yield* findActiveToken(store.id, hash)) return { secret, isActive: true };
    if (!(yield* hasTokenHash(store.id, hash))) return { secret, isActive: false };
  }
  throw new Error(`the token of the sandbox was revoked ${revokedMax} times`);
}

function derivedToken(ctx: Context, { id }: Store, attempt: number): Secret {
  let part = 0;
  const bytes = (): Uint8Array => {
    part += 1;
    return ctx.keys.digest('sandbox-token', `${id} ${attempt} ${part}`);
  };
  return accessTokensOf(ctx).create({ random: { ...ctx.random, bytes } }, id);
}

function* createSandboxStore(ctx: Context, domain: string, currency: Currency): Script<Store> {
  const store = yield* createStore(ctx, { ...valuelessStore, domain, name: 'Sandbox', currency });
  yield* issueFixedCards(ctx, store);
  return store;
}

/** Whole units on the cards whose balance is not the point. */
const wholeUnits = 100n;

function codeOf(name: keyof typeof fixedCodes): Secret {
  return new Secret(fixedCodes[name].code);
}

function* issueFixedCards(ctx: Context, store: Store): Script<void> {
  const { currency } = store;
  const minor = (amount: bigint) => ({ minor: amount, currency });
  const full = minor(wholeUnits * 10n ** BigInt(currency.decimals));
  const actor = 'sandbox';
  const common = { store, apiClientId: null, actor, customer: null, recipient: null, details: noDetails };
  const expiresOn = addDays(today(ctx, store), -1);
  const { card } = yield* issue(ctx, { ...common, value: full, code: codeOf('empty') });
  const named = { reference: null, note: null, orderId: null };
  const spent = { ...named, store, cardId: card.id, actor, versions: null, partial: false };
  yield* debit(ctx, { ...spent, amount: full });
  yield* issue(ctx, { ...common, value: minor(1n), code: codeOf('low') });
  yield* issue(ctx, {
    ...common,
    value: full,
    code: codeOf('expired'),
    details: { ...noDetails, expiresOn },
  });
  yield* issue(ctx, { ...common, value: full, code: codeOf('suspended'), isSuspended: true });
  yield* issue(ctx, { ...common, value: full, code: codeOf('error') });
  yield* issue(ctx, { ...common, value: full, code: codeOf('slow') });
}
