/** The wallets of phones in which recipients keep cards: what signs the cards of a store, and its checks. */

import type { Secret } from '../../../platform/secret.ts';

/** The names of the texts of the buttons that add a card to a wallet. */
export const addTexts = { apple: 'addToApple', google: 'addToGoogle' } as const;

export type WalletKind = keyof typeof addTexts;

/** The page on which a recipient adds a card to wallets. */
export type WalletLink = {
  /** The URL of the page of the card. */
  readonly url: string;
  /** The wallets that the store has set up. */
  readonly kinds: readonly WalletKind[];
};

/** The key and certificates that sign Apple's passes and its connections for pushes. */
export type AppleCredential = {
  /** PEM. */
  readonly certificate: string;
  /** The certificate of Apple that issued it, in PEM. */
  readonly intermediate: string;
  /** The private key, in PEM (PKCS #1). */
  readonly key: Secret;
};

export type AppleCertificate = AppleCredential & {
  /** `pass.com.example.giftcards` */
  readonly passTypeId: string;
  readonly teamId: string;
  /** Instant in ms. */
  readonly expiresAt: number;
};

/** The reasons for which uploaded files cannot sign passes. */
export type AppleProblem =
  | 'missing'
  | 'size'
  | 'unreadable'
  | 'password'
  | 'noKey'
  | 'keyKind'
  | 'mismatch'
  | 'notPass'
  | 'expired'
  | 'noIntermediate';

export type ReadApple =
  | { readonly ok: true; readonly certificate: AppleCertificate }
  | { readonly ok: false; readonly problem: AppleProblem };

/** The key of a service account of Google. */
export type GoogleCredential = {
  /** The email address that identifies the account. */
  readonly account: string;
  /** The private key, in PEM (PKCS #8). */
  readonly key: Secret;
};

export type GoogleKey = GoogleCredential & { readonly issuerId: string };

/** The reasons for which an uploaded file or an issuer id is not accepted. */
export type GoogleProblem = 'missing' | 'size' | 'unreadable' | 'notAccount' | 'noKey' | 'keyKind' | 'issuer';

export type ReadGoogle =
  { readonly ok: true; readonly key: GoogleKey } | { readonly ok: false; readonly problem: GoogleProblem };

const issuerPattern = /^\d{1,20}$/;

export function isIssuerId(text: string): boolean {
  return issuerPattern.test(text);
}

/** More than a certificate with its key and chain has. */
export const credentialBytesMax = 50_000;
export const credentialPasswordLengthMax = 200;

const dayMs = 24 * 60 * 60 * 1_000;
/** An owner is warned so long before a certificate expires: Apple issues the next one at once, but a person has to ask. */
const warningMs = 30 * dayMs;

/** @param expiresAt instant in ms; null: it does not expire. @returns null: nothing has to be done. */
export function assessExpiry(expiresAt: number | null, now: number): 'warning' | 'error' | null {
  if (expiresAt === null || expiresAt - now > warningMs) return null;
  return expiresAt > now ? 'warning' : 'error';
}

/** The most devices that show a card. A further one replaces the oldest. */
export const devicesMax = 10;

const devicePattern = /^[\w.-]{1,100}$/;
const pushTokenPattern = /^[0-9A-Za-z]{1,200}$/;

export function isDevice(text: string): boolean {
  return devicePattern.test(text);
}

export function isPushToken(text: unknown): text is string {
  return typeof text === 'string' && pushTokenPattern.test(text);
}
