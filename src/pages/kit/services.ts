/** The parts of the service that the pages use. */

import type { MachineRule } from '../../core/stores/domain/machine.ts';
import type { EmailTransportKind } from '../../http/services.ts';
import type { Context } from '../../core/storage/context.ts';
import type { ApiRequest } from '../../core/requests/domain/api-request.ts';
import type { Streams } from '../../http/streams.ts';
import type { Passwords } from '../../core/staff/service/password.ts';
import type { CardKey } from '../../core/cards/storage/card.ts';
import type { LookupKey } from '../../core/stocks/storage/code.ts';
import type { HintLimiter, VisitorLimiter } from '../../http/rate-limit.ts';
import type { Storage } from '../../database/storage.ts';
import type { Tools } from '../../platform/tools.ts';
import type { Turns } from '../../core/service/turns.ts';
import type { Brand } from './brand.ts';
import type { PageFrame } from './frame.ts';
import type { ConsoleOrigin } from './request.ts';
import type { PageLanguage } from './texts.ts';
import type { SignedIn } from '../../core/staff/service/session.ts';
import type { Markup } from '../../platform/markup.ts';

export type ConsoleServices = {
  /** The paths of all pages, without those that only accept forms. */
  readonly pagePaths: ReadonlySet<string>;
  readonly ctx: Context;
  readonly storage: Storage;
  /** The tools of features for their pages. */
  readonly tools: Tools;
  /** The turns of reads that take some milliseconds, shared with the API. */
  readonly turns: Turns;
  readonly passwords: Passwords;
  readonly origin: ConsoleOrigin;
  /** Whether the service can send emails. */
  readonly canSend: boolean;
  readonly frame: PageFrame;
  /** The tags of the languages of emails. */
  readonly emailLocales: readonly string[];
  /** Whether requests from this machine can open the demonstration until there is a real store. */
  readonly developmentMode: boolean;
  /** Whether a page for this machine shows the emails that are kept instead of sent. */
  readonly hasKeptEmails: boolean;
  /** The language of what customers read, by the locale of the store's emails. */
  readonly customerLanguage: (locale: string) => CustomerLanguage;
  /** The parts that differ for a store with a mail server of its own; null: nothing. */
  readonly emailPartsOf: (
    storeId: number,
  ) => Promise<Pick<ConsoleServices, 'canSend' | 'condition' | 'tools'> | null>;
  /** The base of links to the pages, without a slash at its end; null: the service does not know its own address. */
  readonly pagesUrl: string | null;
  /** The color of a store's cards, by the one in its email settings. */
  readonly brandOf: (color: string | null) => Brand;
  readonly lookups: Lookups;
  /** Limits requests without a session. */
  readonly limitVisitor: VisitorLimiter;
  /** Limits the notifications of payment providers. */
  readonly limitHint: HintLimiter;
  readonly condition: ServiceCondition;
  /** The operations of the API. */
  readonly operations: readonly Pick<ApiRequest, 'method' | 'route'>[];
  /** The stores of a restored backup that no owner has confirmed: when it was made, in ms. */
  readonly restoredCopies: Map<number, number>;
  /** The page of a person who is signed in with a PIN, which opens the till only. */
  readonly onlyTillPage: (
    services: Pick<ConsoleServices, 'frame'>,
    person: { readonly language: PageLanguage; readonly signedIn: SignedIn },
  ) => Markup;
  /** The streams of changes that open pages show. */
  readonly live: Streams;
};

/** A language of emails, with the texts that a printed card and the recipient's page have as well. */
export type CustomerLanguage = {
  /** For `lang` attributes and Intl. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly texts: Readonly<
    Record<
      | 'cardTitle'
      | 'balanceLabel'
      | 'checkBalance'
      | 'codeLabel'
      | 'codeHint'
      | 'contact'
      | 'terms'
      | 'expiryLabel'
      | 'giftCardHeading'
      | 'openCard'
      | 'giftFromHeading'
      | 'messageLabel'
      | 'senderLabel'
      | 'qrAlt'
      | 'sampleMessage'
      | 'addToApple'
      | 'addToGoogle',
      string
    >
  >;
};

/** The limit on failed searches, and where uses of replaced codes are collected. */
type Lookups = {
  /** Failed searches per hour, if the store has no limit of its own. */
  readonly perHour: number;
  readonly recordRetired: (use: CardKey) => void;
  /** Records that a person who cannot activate it looked for a code in stock. */
  readonly recordTried: (tried: LookupKey) => void;
};

/** The condition of the service, for the operator. */
type ServiceCondition = {
  readonly emailTransport: EmailTransportKind;
  /** The people who see the condition of the machine. */
  readonly machineRule: MachineRule;
  /** The instant (ms) up to which the clock is trusted: days that ended later are not summed yet. */
  readonly trustedUntil: () => Promise<number>;
};
