/** The tools of pages for emails: settings, previews and tests. */

import type { EmailKind, EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { WalletKind } from '../../wallets/domain/wallet.ts';
import type { PreviewedEmail, StoredPreview } from '../domain/preview.ts';
import type { EmailText, EmailTextPart } from '../domain/wording.ts';

/** A store with settings and own texts of its emails, which can be unsaved ones. */
type EmailPlace = {
  readonly store: Store;
  readonly settings: EmailSettings;
  readonly texts: readonly EmailText[];
  readonly logo: Logo | null;
  /** The wallets that the store has set up. */
  readonly wallets: readonly WalletKind[];
};

type LocaleParts = { readonly language: string; readonly region: string };

/** The tools that set up and preview emails. */
export type EmailTools = {
  readonly parseColor: (text: string) => Parsed<string>;
  readonly parsePage: (text: string) => Parsed<string>;
  /** The language, one of `emailLocales`, and the region of a locale; an empty one: none. */
  readonly localePartsOf: (locale: string) => LocaleParts;
  /** The error is the name of the part that is not known. */
  readonly localeOfParts: (parts: LocaleParts) => Parsed<string>;
  /** The legibility of text on a color. @param color null: the default. */
  readonly legibilityOf: (color: string | null) => Legibility;
  /** The texts of a language, one of `emailLocales`, for the parts of which a store has none. */
  readonly standardTexts: (kind: EmailKind, language: string) => Readonly<Record<EmailTextPart, string>>;
  readonly preview: (kind: EmailKind, place: EmailPlace) => EmailPreview;
  /** Sends an email with sample data; null: the service cannot send emails. */
  readonly sendTest: ((to: string, place: EmailPlace) => Promise<TestOutcome>) | null;
};

export const emailTool = new ToolKey<EmailTools>('emails');

/** Returns an email as it would be sent now, without the code; undefined: the card lacks what it is about. */
export const emailPreviewTool = new ToolKey<(email: PreviewedEmail) => StoredPreview | undefined>(
  'email preview',
);

type Legibility = {
  /** `#rrggbb` */
  readonly colour: string;
  readonly foreground: 'white' | 'black';
  /** 1 to 21. */
  readonly contrast: number;
  readonly isReadable: boolean;
  /** Whether the service adds a border, because the color is nearly white. */
  readonly hasEdge: boolean;
};

/** An email as the recipient gets it, with sample data. */
type EmailPreview = {
  readonly from: { readonly name: string; readonly address: string };
  readonly replyTo: string | null;
  readonly subject: string;
  /** A whole document, whose images are `data:` and the logo. */
  readonly html: string;
};

type TestOutcome = {
  readonly kind: 'sent' | 'kept' | 'deferred' | 'rejected' | 'unknown';
  /** The response of the mail server. */
  readonly response: string;
};
