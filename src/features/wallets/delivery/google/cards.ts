/** The cards of stores in Google Wallet: adding one, its updates, and the class with what all cards of a store share. */

import type { Card } from '../../../../core/cards/domain/card.ts';
import { dayOf } from '../../../../core/domain/day.ts';
import { recipientPageUrl } from '../../../../core/emails/domain/recipient-page.ts';
import type { Store } from '../../../../core/stores/domain/store.ts';
import { endedObject, googleClass, googleObject, type LocalizedText } from '../../domain/google-object.ts';
import type { Secret } from '../../../../platform/secret.ts';
import type { CardKey } from '../../../../core/cards/storage/card.ts';
import type { Context } from '../../../../core/storage/context.ts';
import { findEmailSettings } from '../../../../core/emails/storage/email.ts';
import { findLogoMark } from '../../../../core/stores/storage/logo.ts';
import { parallel } from '../../../../database/sql/sql.ts';
import type { Storage } from '../../../../database/storage.ts';
import { findStore } from '../../../../core/stores/storage/store.ts';
import { findGoogleCard, findPlacement, placeObject } from '../../storage/google.ts';
import { findWallet, openCredential, recordWalletHealth, type Wallet } from '../../storage/wallet.ts';
import { brandOf } from '../../../emails/delivery/colour.ts';
import { languageOf, languages, type TextName } from '../../../emails/delivery/language.ts';
import type { UpdateSender } from '../queue.ts';
import type { Google, GoogleAccess, GoogleResult } from './wallet-objects.ts';
import { readGoogleCredential } from './credential.ts';
import { saveLink } from './save-link.ts';

type Parts = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly google: Google;
  /** The base of links to the pages. */
  readonly pagesUrl: string;
};

function accessOf(ctx: Pick<Context, 'keys'>, wallet: Wallet): GoogleAccess {
  // A seal has a random nonce, so a new key has a token of its own.
  const key = `${wallet.storeId} ${Buffer.from(wallet.sealed).toString('base64')}`;
  return { key, credential: readGoogleCredential(openCredential(ctx, wallet)) };
}

const objects = '/giftCardObject';
const classes = '/giftCardClass';

/** A new object or class has no fields to remove. */
function withoutNulls(content: object): object {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
}

function contentOf(
  { ctx, pagesUrl }: Pick<Parts, 'ctx' | 'pagesUrl'>,
  store: Store,
  { card, code }: { readonly card: Card; readonly code: Secret | null },
): object {
  const page = recipientPageUrl(pagesUrl, store.domain);
  const at = ctx.clock.earliest();
  return googleObject({ store, card, code, page, today: dayOf(at, store.timeZone), at });
}

/** @param pagesUrl null: the service has no public URL. */
export function googleSender({
  ctx,
  storage,
  google,
  pagesUrl,
}: Omit<Parts, 'pagesUrl'> & { readonly pagesUrl: string | null }): UpdateSender {
  return async (wallet, update, signal) => {
    const [found, record] = await storage.read(() =>
      parallel(findGoogleCard(ctx, update), findStore(update.storeId)),
    );
    if (!found || !record) return { kind: 'removed' };
    if (pagesUrl === null)
      return { kind: 'failed', detail: 'the service has no public URL', retryAfterMs: null };
    const { object, card, code } = found;
    const content = card ? contentOf({ ctx, pagesUrl }, record.store, { card, code }) : endedObject();
    const path = `${objects}/${object}`;
    const result = await google.call(accessOf(ctx, wallet), { method: 'PATCH', path, content, code, signal });
    switch (result.kind) {
      case 'done':
        return card ? { kind: 'sent' } : { kind: 'removed' };
      case 'gone':
        return { kind: 'removed' };
      case 'exists':
        return { kind: 'failed', detail: 'responded with 409', retryAfterMs: null };
      case 'failed':
      case 'cancelled':
        return result;
    }
  };
}

type GoogleTest = {
  readonly ok: boolean;
  /** The response of Google. */
  readonly detail: string;
};

export type GoogleCards = {
  /**
   * The link with which a person adds a card. `failed`: Google does not accept the card now.
   * @returns undefined if the store has not set the wallet up.
   */
  readonly linkOf: (
    store: Store,
    card: { readonly card: Card; readonly code: Secret },
  ) => Promise<Secret | 'failed' | undefined>;
  /** Creates or updates the class of a store. @returns undefined if the store has not set the wallet up. */
  readonly test: (store: Store) => Promise<GoogleTest | undefined>;
};

/** Cards that are added at the same time in this process. */
const addsMax = 32;
const knownClassesMax = 1_000;

export function openGoogleCards(parts: Parts): GoogleCards {
  const { ctx, storage, google } = parts;
  /** The content of each class that Google has accepted from this process. */
  const known = new Map<string, string>();
  let adds = 0;

  async function ensureClass(
    access: GoogleAccess,
    content: { readonly id: string },
  ): Promise<Exclude<GoogleResult, { readonly kind: 'gone' | 'exists' }>> {
    const { id } = content;
    const patched = await google.call(access, { method: 'PATCH', path: `${classes}/${id}`, content });
    const result =
      patched.kind === 'gone'
        ? await google.call(access, { method: 'POST', path: classes, content: withoutNulls(content) })
        : patched;
    // Another process has created it at the same time.
    if (result.kind === 'exists') return { kind: 'done', value: {} };
    if (result.kind === 'gone')
      return { kind: 'failed', detail: result.detail, retryAfterMs: null, isTransient: false };
    if (result.kind !== 'done') return result;
    const [oldest] = known.keys();
    if (known.size >= knownClassesMax && oldest !== undefined) known.delete(oldest);
    known.set(id, JSON.stringify(content));
    return result;
  }

  async function classOf(store: Store, wallet: Wallet): Promise<object & { readonly id: string }> {
    const [settings, logo] = await storage.read(() =>
      parallel(findEmailSettings(store.id), findLogoMark(store.id)),
    );
    const page = recipientPageUrl(parts.pagesUrl, store.domain);
    const id = classIdOf(wallet, store);
    const content = googleClass({
      id,
      shop: store.name,
      page,
      logo: logo && `${page}/logo?v=${String(logo.version)}`,
      color: brandOf(settings.colour).color,
      cardNumberLabel: localizedText('codeLabel', settings.locale),
      pageLabel: localizedText('checkBalance', settings.locale),
    });
    return { ...content, id };
  }

  /** Creates the object of a card, or updates it. */
  async function putObject(
    access: GoogleAccess,
    {
      object,
      classId,
      content,
      code,
    }: { readonly object: string; readonly classId: string } & {
      readonly content: object;
      readonly code: Secret;
    },
  ): Promise<GoogleResult> {
    const created = { id: object, classId, ...withoutNulls(content) };
    const result = await google.call(access, { method: 'POST', path: objects, content: created, code });
    // Google says this of the class.
    if (result.kind === 'gone') known.delete(classId);
    if (result.kind !== 'exists') return result;
    return await google.call(access, { method: 'PATCH', path: `${objects}/${object}`, content, code });
  }

  async function place(
    wallet: Wallet,
    store: Store,
    { card, code }: { readonly card: Card; readonly code: Secret },
  ): Promise<string | Placing> {
    const key: CardKey = { storeId: store.id, cardId: card.id };
    const issuerId = wallet.name;
    const placement = await storage.read(() => findPlacement(ctx, key, { issuerId, code }));
    if (!placement) return { failure: null };
    const { object, isPlaced, earlier } = placement;
    if (isPlaced) return object;
    const access = accessOf(ctx, wallet);
    if (earlier !== null) {
      const path = `${objects}/${earlier}`;
      const ended = await google.call(access, { method: 'PATCH', path, content: endedObject() });
      if (ended.kind !== 'done' && ended.kind !== 'gone') return placingOf(ended);
    }
    const shared = await classOf(store, wallet);
    if (known.get(shared.id) !== JSON.stringify(shared)) {
      const ensured = await ensureClass(access, shared);
      if (ensured.kind !== 'done') return placingOf(ensured);
    }
    const content = contentOf(parts, store, { card, code });
    const put = await putObject(access, { object, classId: shared.id, content, code });
    if (put.kind !== 'done') return placingOf(put);
    const isSaved = await storage.write(() => placeObject(ctx, key, { issuerId, object, code }));
    return isSaved ? object : { failure: null };
  }

  return {
    async linkOf(store, shown) {
      const wallet = await storage.read(() => findWallet(store.id, 'google'));
      if (!wallet) return undefined;
      if (adds >= addsMax) return 'failed';
      adds += 1;
      try {
        const placed = await place(wallet, store, shown);
        if (typeof placed !== 'string') {
          const { failure } = placed;
          const now = ctx.clock.earliest();
          if (failure !== null) await storage.write(() => recordWalletHealth(wallet, { failure, now }));
          return 'failed';
        }
        return await saveLink(accessOf(ctx, wallet).credential, {
          objectId: placed,
          classId: classIdOf(wallet, store),
          origin: new URL(parts.pagesUrl).origin,
          at: ctx.wallClock.now(),
        });
      } finally {
        adds -= 1;
      }
    },
    async test(store) {
      const wallet = await storage.read(() => findWallet(store.id, 'google'));
      if (!wallet) return undefined;
      const shared = await classOf(store, wallet);
      const result = await ensureClass(accessOf(ctx, wallet), shared);
      if (result.kind !== 'done') return { ok: false, detail: detailOf(result) };
      await storage.write(() => recordWalletHealth(wallet, { failure: null, now: ctx.clock.earliest() }));
      const { reviewStatus: status } = result.value;
      const isStatus = typeof status === 'string' && /^\w{1,40}$/.test(status);
      return { ok: true, detail: `${shared.id}${isStatus ? `: ${status}` : ''}` };
    },
  };
}

/** A card that was not placed. A failure is recorded for the owner; null: it can be placed later. */
type Placing = { readonly failure: string | null };

type Unplaced = Exclude<GoogleResult, { readonly kind: 'done' }>;

function placingOf(result: Unplaced): Placing {
  // Nothing repeats it, so a recorded failure would stay until the next card is added.
  const isTransient = result.kind !== 'failed' || result.isTransient;
  return { failure: isTransient && result.kind !== 'gone' ? null : detailOf(result) };
}

function detailOf(result: Unplaced): string {
  return result.kind === 'failed' || result.kind === 'gone' ? result.detail : 'the request was not completed';
}

/** The stores of an issuer have a class each. */
function classIdOf({ name }: Pick<Wallet, 'name'>, { domain }: Store): string {
  return `${name}.${domain}`;
}

function localizedText(name: TextName, locale: string): LocalizedText {
  const own = languageOf(locale);
  return {
    own: { language: own.locale, value: own.texts[name] },
    all: languages.map((language) => ({ language, value: languageOf(language).texts[name] })),
  };
}
