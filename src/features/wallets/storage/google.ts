/**
 * The cards of a store in Google Wallet.
 *
 * Google shows the QR code of a card again after a suspension or a refund, so the service keeps the code with which the
 * card was added, sealed for the card with the key file. Each code has an object of its own: one with an earlier code is
 * void. Its id is a keyed digest, so it cannot be guessed, and adding a card twice at the same time adds one object.
 */

import type { Card } from '../../../core/cards/domain/card.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import { Secret } from '../../../platform/secret.ts';
import { findCard, lockCard, type CardKey } from '../../../core/cards/storage/card.ts';
import { findByCode } from '../../../core/cards/storage/code.ts';
import type { Context } from '../../../core/storage/context.ts';
import { execute, first, sql, type Script } from '../../../database/sql/sql.ts';
import { listSetupSteps } from '../../../core/stores/storage/setup-step.ts';
import { findWallet, recordWalletHealth } from './wallet.ts';

function objectIdOf(
  { keys }: Pick<Context, 'keys'>,
  { storeId, cardId }: CardKey,
  { issuerId, code }: { readonly issuerId: string; readonly code: Secret },
): string {
  const digest = keys.digest('wallet-object', JSON.stringify([storeId, cardId, code.reveal()]));
  return `${issuerId}.${Buffer.from(digest).toString('base64url')}`;
}

/** A card at Google. */
type PlacedObject = {
  /** Its id. */
  readonly object: string;
  /** Null: the object is ended. */
  readonly sealedCode: Uint8Array | null;
};

function boundTo({ storeId, cardId }: CardKey): string {
  return JSON.stringify(['wallet object', storeId, cardId]);
}

/** @throws Error if the code was sealed for another card, or its key is missing. */
function openObjectCode({ keys }: Pick<Context, 'keys'>, card: CardKey, sealed: Uint8Array): Secret {
  return new Secret(Buffer.from(keys.open('wallet-object', sealed, boundTo(card))).toString());
}

function* findObject({ storeId, cardId }: CardKey): Script<PlacedObject | undefined> {
  const row = yield* first(sql<{ object: string; code: Uint8Array | null }>`
    select object, code from wallet_cards
    where store_id = ${storeId} and card_id = ${cardId} and kind = 'google'`);
  return row && { object: row.object, sealedCode: row.code };
}

/**
 * Records the object of a card, in the place of an earlier one. It counts as a change, because the card can have changed
 * since its content was read. The caller has locked the card.
 */
export function* saveObject(
  { keys, random }: Pick<Context, 'keys' | 'random'>,
  { storeId, cardId }: CardKey,
  { object, code, now }: { readonly object: string; readonly code: Secret; readonly now: number },
): Script<void> {
  const nonce = random.bytes(sealNonceLength);
  const sealed = keys.seal('wallet-object', Buffer.from(code.reveal()), boundTo({ storeId, cardId }), nonce);
  yield* execute(sql`
    insert into wallet_cards (store_id, card_id, kind, changed_at, next_at, object, code)
    values (${storeId}, ${cardId}, 'google', ${now}, ${now}, ${object}, ${sealed})
    on conflict (store_id, card_id, kind) do update set object = excluded.object, code = excluded.code,
      next_at = coalesce(wallet_cards.next_at, excluded.next_at),
      changed_at = case when wallet_cards.changed_at >= ${now} then wallet_cards.changed_at + 1 else ${now} end`);
}

function openedCode(ctx: Pick<Context, 'keys'>, card: CardKey, sealed: Uint8Array): Secret | null {
  try {
    return openObjectCode(ctx, card, sealed);
  } catch {
    // Its key was removed from the key file.
    return null;
  }
}

export type GoogleCard = {
  /** The id of its object. */
  readonly object: string;
  /** Null: the object is ended. */
  readonly card: Card | null;
  /** Null: the card has another code now. */
  readonly code: Secret | null;
};

/** The card of an update; undefined: it is not in the wallet. */
export function* findGoogleCard(ctx: Context, key: CardKey): Script<GoogleCard | undefined> {
  const placed = yield* findObject(key);
  if (!placed) return undefined;
  const { object, sealedCode } = placed;
  if (!sealedCode) return { object, card: null, code: null };
  const code = openedCode(ctx, key, sealedCode);
  const found =
    code && (yield* findByCode(ctx, { storeId: key.storeId, codes: [code], now: ctx.clock.earliest() }));
  if (code && found?.state?.card.id === key.cardId)
    return { object, card: found.state.card, code: found.isCurrent ? code : null };
  return { object, card: (yield* findCard(key.storeId, key.cardId)) ?? null, code: null };
}

export type Placement = {
  /** The id of the object of the code. */
  readonly object: string;
  /** Whether Google has it, and gets the updates of the card. */
  readonly isPlaced: boolean;
  /** The object of an earlier code, which has to be ended first; null: there is none. */
  readonly earlier: string | null;
};

/** Finds the object of a card with a code. @returns undefined: cards cannot be added now, because the database is a copy. */
export function* findPlacement(
  ctx: Context,
  key: CardKey,
  { issuerId, code }: { readonly issuerId: string; readonly code: Secret },
): Script<Placement | undefined> {
  const steps = yield* listSetupSteps(key.storeId);
  if (steps.some(({ step }) => step === 'restored_copy')) return undefined;
  const object = objectIdOf(ctx, key, { issuerId, code });
  const placed = yield* findObject(key);
  if (!placed) return { object, isPlaced: false, earlier: null };
  const placedCode = placed.sealedCode && openedCode(ctx, key, placed.sealedCode);
  if (placedCode?.reveal() === code.reveal()) return { object: placed.object, isPlaced: true, earlier: null };
  return { object, isPlaced: false, earlier: placed.object === object ? null : placed.object };
}

/** Records that Google has the object of a card. @returns false: the wallet was removed, or has another issuer. */
export function* placeObject(
  ctx: Context,
  key: CardKey,
  { issuerId, object, code }: { readonly issuerId: string; readonly object: string; readonly code: Secret },
): Script<boolean> {
  const wallet = yield* findWallet(key.storeId, 'google');
  if (wallet?.name !== issuerId) return false;
  const now = ctx.clock.earliest();
  // A change in progress is committed before, or enqueues an update of the object.
  yield* lockCard(key);
  yield* saveObject(ctx, key, { object, code, now });
  yield* recordWalletHealth(wallet, { failure: null, now });
  return true;
}
