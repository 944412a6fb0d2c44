/** The tools of the pages for wallets. */

import type { WalletTools } from '../console/kit/services.ts';
import { identityOf } from '../console/kit/identity.ts';
import { brandOf } from '../delivery/email/colour.ts';
import { readAppleCertificate } from '../delivery/wallets/apple/certificate.ts';
import { credentialText, readCredential } from '../delivery/wallets/apple/credential.ts';
import { signedPass } from '../delivery/wallets/apple/package.ts';
import type { Google } from '../delivery/wallets/google/wallet-objects.ts';
import { openGoogleCards } from '../delivery/wallets/google/cards.ts';
import { googleCredentialText, readGoogleKey } from '../delivery/wallets/google/credential.ts';
import { recipientPageUrl } from '../domain/emails/recipient-page.ts';
import { applePass } from '../domain/wallets/apple-pass.ts';
import { Secret } from '../platform/secret.ts';
import { today } from '../service/money/money.ts';
import { findEmailSettings } from '../storage/emails/email.ts';
import { findLogo } from '../storage/emails/logo.ts';
import { parallel } from '../storage/sql/sql.ts';
import { findWallet, listWallets, openCredential, type Wallet } from '../storage/wallets/wallet.ts';
import type { Config } from './config.ts';
import type { Database } from './database.ts';
import { pagesUrlOf } from './email.ts';

const cachedStoresMax = 1_000;

/** Null: devices cannot reach the service, because it has no public URL with TLS, or is a sandbox. */
export function walletToolsOf(
  config: Config,
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  google: Google,
): WalletTools | null {
  const pagesUrl = pagesUrlOf(config);
  if (pagesUrl === null || !pagesUrl.startsWith('https://') || config.isSandbox) return null;
  const cache = storage.cache<readonly Wallet[]>({ entriesMax: cachedStoresMax });
  const cards = openGoogleCards({ ctx, storage, google, pagesUrl });
  return {
    async of(storeId) {
      const key = String(storeId);
      return cache.find(key) ?? (await cache.read(key, () => listWallets(storeId))) ?? [];
    },
    readApple: async (files) => await readAppleCertificate(files, ctx.wallClock.now()),
    appleCredential: (certificate) => new Secret(credentialText(certificate)),
    readGoogle: readGoogleKey,
    googleCredential: (key) => new Secret(googleCredentialText(key)),
    googleLink: cards.linkOf,
    testGoogle: cards.test,
    async applePass(store, { card, code, token }) {
      const found = await storage.read(() =>
        parallel(findWallet(store.id, 'apple'), findEmailSettings(store.id), findLogo(store.id)),
      );
      const [wallet, settings, logo] = found;
      if (!wallet) return undefined;
      const { color, isLight } = brandOf(settings.colour);
      const colors = { color, textColor: isLight ? '#1a1a1a' : '#ffffff' };
      const page = recipientPageUrl(pagesUrl, store.domain);
      const content = applePass({
        ...colors,
        passTypeId: wallet.name,
        teamId: wallet.holder,
        serial: String(ctx.keys.publicIds.of(card.id)),
        serviceUrl: `${page}/wallet/apple`,
        token,
        store,
        shop: store.name,
        card,
        code,
        page,
        contact: identityOf(settings).contact,
        today: today(ctx, store),
      });
      const credential = readCredential(openCredential(ctx, wallet));
      return await signedPass(credential, { content, logo, ...colors, at: ctx.wallClock.now() });
    },
  };
}
