/** The tools of pages for the wallets of phones. */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Secret } from '../../../platform/secret.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { AppleCertificate, GoogleKey, ReadApple, ReadGoogle } from '../domain/wallet.ts';
import type { PassCard } from '../service/apple.ts';
import type { Wallet } from '../storage/wallet.ts';

/** The tools of the wallets of phones. */
export type WalletTools = {
  /** The wallets that a store has set up. */
  readonly of: (storeId: number) => Promise<readonly Wallet[]>;
  /** Reads an uploaded certificate with its key, and checks it. */
  readonly readApple: (files: {
    readonly certificate: Uint8Array | undefined;
    readonly intermediate: Uint8Array | undefined;
    readonly password: Secret;
  }) => Promise<ReadApple>;
  /** The text that is sealed. */
  readonly appleCredential: (certificate: AppleCertificate) => Secret;
  /** Reads an uploaded key of a service account of Google, and checks it. */
  readonly readGoogle: (upload: {
    readonly file: Uint8Array | undefined;
    readonly issuerId: string;
  }) => ReadGoogle;
  /** The text that is sealed. */
  readonly googleCredential: (key: GoogleKey) => Secret;
  /**
   * Places a card at Google, and returns the link with which a person adds it. `failed`: Google does not accept it now.
   * Undefined: the store has not set the wallet up.
   */
  readonly googleLink: (
    store: Store,
    card: { readonly card: Card; readonly code: Secret },
  ) => Promise<Secret | 'failed' | undefined>;
  /** Tries the key of a store. Undefined: the store has not set the wallet up. */
  readonly testGoogle: (
    store: Store,
  ) => Promise<{ readonly ok: boolean; readonly detail: string } | undefined>;
  /** Returns a signed pass; undefined: the store has not set the wallet up. */
  readonly applePass: (
    store: Store,
    pass: Pick<PassCard, 'card' | 'code'> & { readonly token: Secret },
  ) => Promise<Uint8Array | undefined>;
};

/** Null: devices cannot reach the service, because it has no public URL with TLS, or is a sandbox. */
export const walletTool = new ToolKey<WalletTools | null>('wallets');
