/** The parts of the service that the pages use. */

import type { MachineRule } from '../../core/stores/domain/machine.ts';
import type { EmailTransportKind } from '../../http/services.ts';
import type { Context } from '../../core/storage/context.ts';
import type { ApiRequest } from '../../core/requests/domain/api-request.ts';
import type { MachineCondition } from '../../features/health/domain/health.ts';
import type { EmailKind, EmailSettings } from '../../core/emails/domain/email.ts';
import type { DomainFinding, EmailTrouble, OpenedServer } from '../../features/email-server/domain/server.ts';
import type { EmailText, EmailTextPart } from '../../features/emails/domain/wording.ts';
import type { Logo } from '../../features/emails/domain/logo.ts';
import type { AnyPlace, Backup, BackupError } from '../../features/backups/domain/backup.ts';
import type { BackupTrial } from '../../features/backups/service/backups.ts';
import type { Installation } from '../../features/upgrade/platform/installation.ts';
import type { RecoveryKey } from '../../features/backups/platform/recovery-key.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Parsed } from '../../platform/parsed.ts';
import type { RestoreTools } from '../../features/backups/domain/restore.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import type { Streams } from '../../http/streams.ts';
import type { PreviewedEmail, StoredPreview } from '../../features/emails/domain/preview.ts';
import type { Passwords } from '../../features/staff/service/password.ts';
import type { VersionRule } from '../../features/upgrade/service/versions.ts';
import type { CardKey } from '../../core/cards/storage/card.ts';
import type { LookupKey } from '../../core/stocks/storage/code.ts';
import type { WebhookUrls } from '../../features/webhooks/service/webhook.ts';
import type { HintLimiter, VisitorLimiter } from '../../http/rate-limit.ts';
import type { Card } from '../../core/cards/domain/card.ts';
import type {
  AppleCertificate,
  GoogleKey,
  ReadApple,
  ReadGoogle,
  WalletKind,
} from '../../features/wallets/domain/wallet.ts';
import type { Wallet } from '../../features/wallets/storage/wallet.ts';
import type { PassCard } from '../../features/wallets/service/apple.ts';
import type { FiguresReader } from '../../features/today/service/today.ts';
import type { Storage } from '../../database/storage.ts';
import type { SaleKey } from '../../features/online-sales/domain/sale.ts';
import type { Checkout } from '../../features/online-sales/service/checkout.ts';
import type { ReportRuns } from '../../features/books/service/report-runs.ts';
import type { TableTurns } from '../../features/batches/service/table-turns.ts';
import type { Turns } from '../../core/service/turns.ts';
import type { Brand } from './brand.ts';
import type { PageFrame } from './frame.ts';
import type { ConsoleOrigin } from './request.ts';

export type ConsoleServices = {
  /** The paths of all pages, without those that only accept forms. */
  readonly pagePaths: ReadonlySet<string>;
  readonly ctx: Context;
  readonly storage: Storage;
  /** The turns of reads that take some milliseconds, shared with the API. */
  readonly turns: Turns;
  readonly reports: ReportRuns;
  /** The turns of files with tables. */
  readonly tableTurns: TableTurns;
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
  readonly emailTools: EmailTools;
  readonly serverTools: ServerTools;
  /** Null: the database is on a server, whose operator backs it up. */
  readonly backups: BackupTools | null;
  readonly versions: VersionTools;
  /** Sends the enqueued emails to the owners of a store. Returns whether mail servers have accepted all of them. */
  readonly sendOwnerNotices: (
    store: Store,
    send?: (notice: ServiceNotice) => Promise<boolean>,
  ) => Promise<boolean>;
  /** Sends the emails to the accountants of a store that wait. */
  readonly sendAccountantEmails: (store: Store) => Promise<void>;
  /** The parts that differ for a store with a mail server of its own; null: nothing. */
  readonly emailPartsOf: (
    storeId: number,
  ) => Promise<Pick<ConsoleServices, 'canSend' | 'condition' | 'emailTools' | 'previewOf'> | null>;
  /** An email as it would be sent now, without the code; undefined: the card lacks what it is about. */
  readonly previewOf: (email: PreviewedEmail) => StoredPreview | undefined;
  /** The base of links to the pages, without a slash at its end; null: the service does not know its own address. */
  readonly pagesUrl: string | null;
  /** The color of a store's cards, by the one in its email settings. */
  readonly brandOf: (color: string | null) => Brand;
  readonly lookups: Lookups;
  /** Null: devices cannot reach the service, because it has no public URL with TLS, or is a sandbox. */
  readonly wallets: WalletTools | null;
  /** Pays online sales at their providers; null: the service does not sell online. */
  readonly onlineSales: Checkout | null;
  /** Limits requests without a session. */
  readonly limitVisitor: VisitorLimiter;
  /** Limits the attempts to withdraw from an order. @throws Fault `too-many-requests`. */
  readonly limitWithdrawal: (sale: SaleKey, now: number) => void;
  /** Limits the notifications of payment providers. */
  readonly limitHint: HintLimiter;
  readonly condition: ServiceCondition;
  readonly figures: FiguresReader;
  readonly webhookUrls: WebhookUrls;
  /** The operations of the API. */
  readonly operations: readonly Pick<ApiRequest, 'method' | 'route'>[];
  /** Issues the cards of new batches now. */
  readonly startBatches: () => void;
  /** Restores a backup before there is a shop; null: the database is on a server. */
  readonly restoring: RestoreTools | null;
  /** The stores of a restored backup that no owner has confirmed: when it was made, in ms. */
  readonly restoredCopies: Map<number, number>;
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

/** The tools that set up the mail server of a store. */
type ServerTools = {
  /** The people who may set it. */
  readonly rule: MachineRule;
  /** The server of the operator, which all stores use; null: there is none. */
  readonly ofOperator: { readonly host: string; readonly port: number } | null;
  readonly parseHost: (text: string) => Parsed<string>;
  /** Sends an email about the service itself. */
  readonly send: (server: OpenedServer, notice: ServiceNotice) => Promise<NoticeOutcome>;
  /** Returns the meaning of a stored response of a mail server. */
  readonly troubleIn: (response: string) => EmailTrouble;
  /** Checks the records of a sender's domain. */
  readonly checkDomain: (sender: Pick<OpenedServer, 'sender' | 'host'>) => Promise<readonly DomainFinding[]>;
};

/** The tools that set up the backups of the machine. */
type BackupTools = {
  /** The people who may set them up. */
  readonly rule: MachineRule;
  /** The place of the operator; null: owners choose one. */
  readonly operatorPlace: AnyPlace | null;
  /** The disks other than that of the database. */
  readonly listDisks: () => readonly {
    readonly path: string;
    readonly source: string;
    readonly isWritable: boolean;
  }[];
  readonly parseHost: (text: string) => Parsed<{ readonly host: string; readonly port: number }>;
  readonly makeSheet: () => Promise<RecoveryKey>;
  readonly sheetIdOf: (recipient: string) => string;
  readonly parseKey: (text: string) => Promise<Parsed<RecoveryKey>>;
  /** Makes a backup now. A failure is stored, and not thrown. */
  readonly run: () => Promise<void>;
  readonly isRunning: () => boolean;
  /** Opens the newest backup and verifies it. Null: there is none, or other work with backups is in progress. */
  readonly tryNewest: (key: Secret) => Promise<BackupTrial | BackupError | null>;
  /** Undefined: there is no such backup. @throws BackupError if it cannot be read. */
  readonly read: (
    name: string,
  ) => Promise<{ readonly backup: Backup; readonly content: AsyncIterable<Uint8Array> } | undefined>;
};

/** The settings about new versions. */
type VersionTools = {
  /** The people who may decide. */
  readonly machineRule: MachineRule;
  readonly rule: VersionRule;
  readonly installation: Installation;
  /** Reads the list if that is due. A failure is stored, and not thrown. */
  readonly runIfDue: () => Promise<void>;
};

type ServiceNotice = {
  readonly store: Pick<Store, 'name' | 'domain'>;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Shown in large letters; null: none. */
  readonly code: string | null;
  readonly locale: string;
};

type NoticeOutcome = {
  /** The response of the mail server. */
  readonly response: string;
  /** Null: the server has accepted the email. */
  readonly trouble: EmailTrouble | null;
};

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
  readonly ofMachine: () => Promise<MachineCondition>;
  /** The instant (ms) up to which the clock is trusted: days that ended later are not summed yet. */
  readonly trustedUntil: () => Promise<number>;
};
