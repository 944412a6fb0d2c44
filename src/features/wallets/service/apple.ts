/**
 * The cards of a store in Apple Wallet, and the devices that show them.
 *
 * The token of a pass contains the code that the card had when the pass was made, sealed for the card. So only the owner of
 * the pass and this service together have the code, and nothing in the database does. A pass of an earlier code is void.
 */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { isDevice, isPushToken } from '../domain/wallet.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import { lockCard, type CardKey } from '../../../core/cards/storage/card.ts';
import { findByCode } from '../../../core/cards/storage/code.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  findChangedAt,
  listChangedPasses,
  saveDevice,
  unregisterDevices,
  type ChangedPass,
} from '../storage/card.ts';
import { assertStoreOpen, findStoreByDomain } from '../../../core/stores/storage/store.ts';
import { findWallet } from '../storage/wallet.ts';

const tokenLengthMax = 300;

function boundTo({ storeId, cardId }: CardKey): string {
  return JSON.stringify(['wallet pass', storeId, cardId]);
}

/** The token of a new pass, which it keeps for ever. */
export function passToken({ keys, random }: Context, card: CardKey, code: Secret): Secret {
  const nonce = random.bytes(sealNonceLength);
  const sealed = keys.seal('wallet-pass', Buffer.from(code.reveal()), boundTo(card), nonce);
  return new Secret(Buffer.from(sealed).toString('base64url'));
}

/** The code in the token of a pass of the card; undefined: the text is not one. */
function codeOf({ keys }: Pick<Context, 'keys'>, card: CardKey, token: Secret): Secret | undefined {
  const text = token.reveal();
  if (text.length > tokenLengthMax || !/^[\w-]+$/.test(text)) return undefined;
  try {
    const plain = keys.open('wallet-pass', Buffer.from(text, 'base64url'), boundTo(card));
    return new Secret(Buffer.from(plain).toString());
  } catch {
    return undefined;
  }
}

/**
 * The store whose passes have a type; undefined: it does not exist. @param domain in lower case.
 * @throws Fault `store-closed`.
 */
export function* findPassStore(domain: string, passTypeId: string): Script<Store | undefined> {
  const record = yield* findStoreByDomain(domain);
  if (!record) return undefined;
  assertStoreOpen(record);
  const wallet = yield* findWallet(record.store.id, 'apple');
  return wallet?.name === passTypeId ? record.store : undefined;
}

/** A request of a device about the pass of a card. */
export type PassRequest = CardKey & { readonly token: Secret };

/** A card with a pass. */
export type PassCard = {
  readonly card: Card;
  /** Null: the card has another code now. */
  readonly code: Secret | null;
  /** The last change (ms); null: no device is registered. */
  readonly changedAt: number | null;
};

/** @returns undefined if the token is not that of a pass of the card. */
export function* findPass(ctx: Context, { token, ...key }: PassRequest): Script<PassCard | undefined> {
  const code = codeOf(ctx, key, token);
  if (!code) return undefined;
  const found = yield* findByCode(ctx, { storeId: key.storeId, codes: [code], now: ctx.clock.earliest() });
  if (!found?.state || found.state.card.id !== key.cardId) return undefined;
  const changedAt = yield* findChangedAt({ ...key, kind: 'apple' });
  return { card: found.state.card, code: found.isCurrent ? code : null, changedAt };
}

export type Registration = 'unauthorized' | 'invalid' | 'registered' | 'known';

/** Registers a device, which then receives pushes about the card. */
export function* registerDevice(
  ctx: Context,
  { token, ...key }: PassRequest,
  { device, pushToken }: { readonly device: string; readonly pushToken: unknown },
): Script<Registration> {
  if (!codeOf(ctx, key, token)) return 'unauthorized';
  if (!isDevice(device) || !isPushToken(pushToken)) return 'invalid';
  if (!(yield* findWallet(key.storeId, 'apple'))) return 'unauthorized';
  // A change in progress is committed before, or enqueues an update for the device.
  yield* lockCard(key);
  const isNew = yield* saveDevice({ ...key, device, pushToken }, ctx.clock.earliest());
  return isNew ? 'registered' : 'known';
}

/** @returns whether the token is that of a pass of the card. */
export function* unregisterDevice(
  ctx: Context,
  { token, ...key }: PassRequest,
  device: string,
): Script<boolean> {
  if (!codeOf(ctx, key, token)) return false;
  if (isDevice(device)) yield* unregisterDevices(key, [device]);
  return true;
}

/** Cards of one response. A device that has more requests the rest with the time of the last one. */
const changedMax = 100;

/** A change can be committed so long (ms) after one that is later. A device can request an unchanged pass. */
const overlapMs = 60_000;

/** The cards on a device that have changed after the last change that it knows (ms). */
export function* listChanged(
  storeId: number,
  { device, since }: { readonly device: string; readonly since: number },
): Script<readonly ChangedPass[]> {
  if (!isDevice(device)) return [];
  return yield* listChangedPasses({ storeId, device, since: since - overlapMs }, changedMax);
}
