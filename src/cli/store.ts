/** `largesse store create|list|show|update|status|reopen` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { readDatabaseConfig } from '../start/config.ts';
import { openDatabase } from '../start/database.ts';
import { proxySecretLengths } from '../core/stores/domain/app-proxy.ts';
import { findNewCurrency, type Currency } from '../core/money/domain/currency.ts';
import { isTimeZone } from '../core/domain/day.ts';
import type { EmailSettings } from '../core/emails/domain/email.ts';
import { holdLimitDefaultDays, holdLimitMaxDays } from '../core/money/domain/hold.ts';
import { formatMoney, parseAmount, type Money } from '../core/money/domain/money.ts';
import { Secret } from '../platform/secret.ts';
import { formatDatev, type Datev } from '../core/stores/domain/datev.ts';
import { formatVat, type Vat } from '../core/money/domain/vat.ts';
import {
  stockRequirements,
  undoWindowDefaultMinutes,
  type AccountNames,
  type StockRequirement,
} from '../core/stores/domain/store.ts';
import { changeEmailSettings } from '../core/emails/service/email.ts';
import { changeStore, createStore, requireStore, type StoreChanges } from '../core/stores/service/store.ts';
import { findEmailSettings } from '../core/emails/storage/email.ts';
import type { Script } from '../database/sql/sql.ts';
import { listStores, type StoreRecord } from '../core/stores/storage/store.ts';
import { CommandError } from './failure.ts';
import {
  addEmailSettings,
  emailChangesOf,
  emailRowOf,
  type EmailOptions,
} from '../features/emails/cli/email-settings.ts';
import { printFields, printJson, printTable, type OutputRow } from './output.ts';
import { readDomain, readName } from './read.ts';
import { addBooksOptions, withAccountNames } from '../features/books/cli/books-settings.ts';
import { addStoreReopenCommand } from '../features/moves/cli/store-reopen.ts';
import { addStoreStatusCommand } from './store-status.ts';

type Options = EmailOptions & {
  readonly currency?: Currency;
  readonly name?: string;
  readonly timeZone?: string;
  readonly issueLimit?: string;
  readonly proxySecret?: Secret | false;
  readonly requireSignature?: boolean;
  readonly customerSearch?: boolean;
  readonly stockRequired?: boolean | StockRequirement;
  readonly undoWindow?: number;
  readonly expiringSoon?: number;
  readonly holdLimit?: number;
  readonly lookupFailuresPerHour?: number | 'default';
  readonly vat?: Vat | 'none';
  readonly account?: AccountNames;
  readonly datev?: Datev | 'none';
  readonly json?: boolean;
};

/** In units of the store's currency. It limits the damage of a stolen token or a mistyped amount. */
const issueLimitDefault = '2000';

/** Undefined: not set. */
function vatOf({ vat }: Options): Vat | null | undefined {
  return vat === 'none' ? null : vat;
}

/** Undefined: not set. */
function datevOf({ datev }: Options): Datev | null | undefined {
  return datev === 'none' ? null : datev;
}

function readCurrency(text: string): Currency {
  const currency = findNewCurrency(text.toUpperCase());
  if (!currency) throw new InvalidArgumentError('It must be a current ISO 4217 code such as USD.');
  return currency;
}

function readTimeZone(text: string): string {
  if (!isTimeZone(text)) throw new InvalidArgumentError('It must be an IANA name such as Europe/Paris.');
  return text;
}

function readSecret(text: string): Secret {
  if (text.length < proxySecretLengths.min)
    throw new InvalidArgumentError(`It must have at least ${proxySecretLengths.min} characters.`);
  return new Secret(text);
}

function readMinutes(text: string): number {
  const minutes = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(minutes <= 60)) throw new InvalidArgumentError('It must be an integer from 0 to 60.');
  return minutes;
}

function readDays(text: string): number {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(days <= 365)) throw new InvalidArgumentError('It must be an integer from 0 to 365.');
  return days;
}

function readHoldLimit(text: string): number {
  const days = /^[1-9]\d?$/.test(text) ? Number(text) : Number.NaN;
  if (!(days <= holdLimitMaxDays))
    throw new InvalidArgumentError(`It must be an integer from 1 to ${holdLimitMaxDays}.`);
  return days;
}

/** `default` removes the store's own limit. */
function readFailures(text: string): number | 'default' {
  if (text === 'default') return text;
  const failures = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(failures <= 100_000))
    throw new InvalidArgumentError('It must be an integer from 1 to 100000, or default.');
  return failures;
}

/** Null: the service's default. Undefined: the option is absent. */
function failuresOf({ lookupFailuresPerHour: failures }: Options): number | null | undefined {
  return failures === 'default' ? null : failures;
}

/** Undefined: the option is absent. */
function stockRequirementOf({ stockRequired: when }: Options): StockRequirement | undefined {
  if (typeof when !== 'boolean') return when;
  return when ? 'yes' : 'no';
}

/** `none` removes the limit. */
function readLimit(text: string, currency: Currency): Money | null {
  if (text === 'none') return null;
  const limit = parseAmount(text, { currency, zeroAllowed: false });
  if (!limit.ok) throw new CommandError(`--issue-limit ${limit.error}`);
  return limit.value;
}

function addSettings(command: Command, limitDefault = ''): Command {
  return addBooksOptions(addEmailSettings(command))
    .addOption(new Option('--name <name>', "the store's name").argParser(readName))
    .addOption(
      new Option('--time-zone <zone>', 'the time zone of its days, such as Europe/Paris').argParser(
        readTimeZone,
      ),
    )
    .option('--issue-limit <amount>', `the maximum value of a card, or none${limitDefault}`)
    .addOption(
      new Option(
        '--proxy-secret <secret>',
        "the secret with which the storefront's app proxy signs requests",
      ).argParser(readSecret),
    )
    .option('--require-signature', 'accept only requests through the app proxy')
    .option('--no-require-signature', 'accept requests without a signature')
    .option('--customer-search', 'allow signed-in customers to search for their own cards without a token')
    .option('--no-customer-search', 'require a token for every search')
    .addOption(
      new Option(
        '--stock-required [when]',
        'whether a code that is in no stock is rejected (yes, as without a value), tills ask before they sell it (ask), or it is sold (no); ask from the first stock on',
      ).choices(stockRequirements),
    )
    .option('--no-stock-required', 'let tills sell any card, as --stock-required no')
    .addOption(
      new Option(
        '--undo-window <minutes>',
        `how long a disabled card can be re-enabled, 0 to 60; default of a new store ${undoWindowDefaultMinutes}`,
      ).argParser(readMinutes),
    )
    .addOption(
      new Option(
        '--expiring-soon <days>',
        "how many days before a card's expiry an event is published; 0: never",
      ).argParser(readDays),
    )
    .addOption(
      new Option(
        '--hold-limit <days>',
        `the maximum duration of a hold, 1 to ${holdLimitMaxDays}; default of a new store ${holdLimitDefaultDays}`,
      ).argParser(readHoldLimit),
    )
    .addOption(
      new Option(
        '--lookup-failures-per-hour <number>',
        'the maximum of failed searches and lookups per caller and hour, or default',
      ).argParser(readFailures),
    )
    .option('--json', 'print JSON');
}

export function addStoreCommands(root: Command): void {
  const store = root.command('store').description('manage stores');

  addSettings(
    store
      .command('create')
      .description('create a store')
      .argument('<domain>', 'such as flowers.example', readDomain)
      .addOption(
        new Option('--currency <code>', 'an ISO 4217 code; cannot be changed')
          .argParser(readCurrency)
          .makeOptionMandatory(),
      ),
    `; default ${issueLimitDefault}`,
  ).action(create);

  addSettings(
    store
      .command('update')
      .description('update a store')
      .argument('<domain>', 'such as flowers.example', readDomain)
      .option('--no-proxy-secret', 'remove the secret'),
  ).action(update);

  store
    .command('show')
    .description('show a store')
    .argument('<domain>', 'such as flowers.example', readDomain)
    .option('--json', 'print JSON')
    .action(async (domain: string, options: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      show(await database.storage.read(() => findShown(domain)), options);
    });

  store
    .command('list')
    .description('list the stores')
    .option('--json', 'print JSON')
    .action(async ({ json }: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const rows = (await database.storage.read(listStores)).map(rowOf);
      if (json) printJson(rows);
      else printTable(rows, { none: 'There are no stores.' });
    });

  addStoreStatusCommand(store);
  addStoreReopenCommand(store);
}

async function create(domain: string, options: Options): Promise<void> {
  const { currency } = options;
  if (!currency) throw new CommandError('--currency is required');
  const requireSignature = options.requireSignature ?? false;
  const proxySecret = options.proxySecret instanceof Secret ? options.proxySecret : null;
  if (requireSignature && !proxySecret) throw new CommandError('--require-signature needs --proxy-secret');
  await using database = await openDatabase(readDatabaseConfig(), { prepare: true });
  const { ctx, storage } = database;
  const issueLimit = readLimit(options.issueLimit ?? issueLimitDefault, currency);
  await storage.write(function* () {
    const made = yield* createStore(ctx, {
      domain,
      name: options.name ?? domain,
      currency,
      timeZone: options.timeZone ?? 'UTC',
      issueLimit,
      proxySecret,
      requireSignature,
      customerSearch: options.customerSearch ?? false,
      stockRequired: stockRequirementOf(options) ?? 'no',
      undoWindowMinutes: options.undoWindow ?? undoWindowDefaultMinutes,
      expiringSoonDays: options.expiringSoon ?? 0,
      holdLimitDays: options.holdLimit ?? holdLimitDefaultDays,
      lookupFailuresPerHour: failuresOf(options) ?? null,
      vat: vatOf(options) ?? null,
      accountNames: withAccountNames({}, options.account),
      datev: datevOf(options) ?? null,
    });
    yield* changeEmailSettings(ctx, made.id, emailChangesOf(options));
  });
  show(await storage.read(() => findShown(domain)), options);
}

async function update(domain: string, options: Options): Promise<void> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { ctx, storage } = database;
  const { store: present } = await storage.read(() => requireStore(domain));
  const { name, timeZone, issueLimit, proxySecret, requireSignature, customerSearch, undoWindow } = options;
  const { expiringSoon, holdLimit } = options;
  const stockRequired = stockRequirementOf(options);
  const [lookupFailuresPerHour, vat, datev] = [failuresOf(options), vatOf(options), datevOf(options)];
  const changes: StoreChanges = {
    ...(name !== undefined && { name }),
    ...(timeZone !== undefined && { timeZone }),
    ...(issueLimit !== undefined && { issueLimit: readLimit(issueLimit, present.currency) }),
    ...(proxySecret instanceof Secret && { proxySecret }),
    ...(proxySecret === false && { proxySecret: null }),
    ...(requireSignature !== undefined && { requireSignature }),
    ...(customerSearch !== undefined && { customerSearch }),
    ...(stockRequired !== undefined && { stockRequired }),
    ...(undoWindow !== undefined && { undoWindowMinutes: undoWindow }),
    ...(expiringSoon !== undefined && { expiringSoonDays: expiringSoon }),
    ...(holdLimit !== undefined && { holdLimitDays: holdLimit }),
    ...(lookupFailuresPerHour !== undefined && { lookupFailuresPerHour }),
    ...(vat !== undefined && { vat }),
    ...(datev !== undefined && { datev }),
    ...(options.account && { accountNames: withAccountNames(present.accountNames, options.account) }),
  };
  await storage.write(function* () {
    const { store: changed } = yield* changeStore(ctx, domain, changes);
    yield* changeEmailSettings(ctx, changed.id, emailChangesOf(options));
  });
  show(await storage.read(() => findShown(domain)), options);
}

type Shown = StoreRecord & { readonly email: EmailSettings };

function* findShown(domain: string): Script<Shown> {
  const record = yield* requireStore(domain);
  return { ...record, email: yield* findEmailSettings(record.store.id) };
}

function show({ email, ...record }: Shown, { json }: Options): void {
  const row = { ...rowOf(record), ...emailRowOf(email) };
  if (json) printJson(row);
  else printFields(row);
}

function rowOf({ store, sealedSecret, status }: StoreRecord): OutputRow {
  return {
    domain: store.domain,
    name: store.name,
    currency: store.currency.code,
    time_zone: store.timeZone,
    issue_limit: store.issueLimit && formatMoney(store.issueLimit),
    proxy_secret: sealedSecret ? 'set' : null,
    require_signature: store.requireSignature,
    customer_search: store.customerSearch,
    stock_required: store.stockRequired,
    undo_window_minutes: store.undoWindowMinutes,
    expiring_soon_days: store.expiringSoonDays,
    hold_limit_days: store.holdLimitDays,
    lookup_failures_per_hour: store.lookupFailuresPerHour,
    vat: store.vat && formatVat(store.vat),
    ...Object.fromEntries(
      Object.entries(store.accountNames).map(([account, name]) => [`account_${account}`, name]),
    ),
    datev: store.datev && formatDatev(store.datev),
    demonstration: store.demonstration,
    status,
  };
}
