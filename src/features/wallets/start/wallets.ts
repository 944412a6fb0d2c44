/** The tools of the pages for wallets. */

import type { WalletTools } from '../pages/tools.ts';
import { identityOf } from '../../../pages/kit/identity.ts';
import { brandOf } from '../../emails/delivery/colour.ts';
import { readAppleCertificate } from '../delivery/apple/certificate.ts';
import { credentialText, readCredential } from '../delivery/apple/credential.ts';
import { signedPass } from '../delivery/apple/package.ts';
import type { Google } from '../delivery/google/wallet-objects.ts';
import { openGoogleCards } from '../delivery/google/cards.ts';
import { googleCredentialText, readGoogleKey } from '../delivery/google/credential.ts';
import { recipientPageUrl } from '../../../core/emails/domain/recipient-page.ts';
import { applePass } from '../domain/apple-pass.ts';
import { Secret } from '../../../platform/secret.ts';
import { today } from '../../../core/stores/service/day.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findLogo } from '../../../core/stores/storage/logo.ts';
import { parallel } from '../../../database/sql/sql.ts';
import { findWallet, listWallets, openCredential, type Wallet } from '../storage/wallet.ts';
import type { Config } from '../../../start/config.ts';
import type { Database } from '../../../start/database.ts';
import { pagesUrlOf } from '../../emails/start/email.ts';

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
