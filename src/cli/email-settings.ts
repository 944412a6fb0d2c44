/** The options of `largesse store create|update` for a store's emails. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseColour } from '../delivery/email/colour.ts';
import { parseKnownLocale } from '../delivery/email/language.ts';
import { parseLogoUrl, parsePageUrl } from '../delivery/email/sender.ts';
import { parseSenderAddress } from '../domain/email-address.ts';
import { parseReminderDays, type EmailSettings } from '../domain/email.ts';
import type { Parsed } from '../domain/parsed.ts';
import { CommandError } from './failure.ts';
import type { OutputRow } from './output.ts';
import { readName } from './read.ts';

export type EmailOptions = {
  readonly mail?: boolean;
  readonly mailName?: string;
  readonly mailAddress?: string;
  readonly mailReplyTo?: string;
  readonly mailLogo?: string;
  readonly mailColour?: string;
  readonly mailLanguage?: string;
  readonly mailPage?: string;
  readonly mailExpiryReminders?: readonly number[];
  readonly mailBalanceReminders?: readonly number[];
  readonly mailTellFailures?: boolean;
};

/** Parses a value, or `none` as an empty text, because commander treats null as an option without a value. */
function orNone(parse: (text: string) => string): (text: string) => string {
  return (text) => (text === 'none' ? '' : parse(text));
}

function reading<T>(parse: (text: string) => Parsed<T>): (text: string) => T {
  return (text) => {
    const parsed = parse(text);
    if (!parsed.ok) throw new InvalidArgumentError(`It ${parsed.error}.`);
    return parsed.value;
  };
}

/** @throws CommandError that lists the known languages. */
function readLocale(text: string): string {
  const locale = parseKnownLocale(text);
  if (!locale.ok) throw new CommandError(`--mail-language ${locale.error}`);
  return locale.value;
}

export function addEmailSettings(command: Command): Command {
  const option = (flags: string, description: string, parse: (text: string) => unknown): void =>
    void command.addOption(new Option(flags, description).argParser(parse));
  command
    .option('--mail', 'send emails about gift cards (default)')
    .option('--no-mail', 'do not send emails');
  option('--mail-name <name>', "the sender's name; none: the store's name", orNone(readName));
  option(
    '--mail-address <address>',
    "the sender's address; none: MAIL_FROM",
    orNone(reading(parseSenderAddress)),
  );
  option(
    '--mail-reply-to <address>',
    "the address for replies; none: the sender's address",
    orNone(reading(parseSenderAddress)),
  );
  option('--mail-logo <url>', 'the https URL of a logo, or none', orNone(reading(parseLogoUrl)));
  option(
    '--mail-colour <colour>',
    'a colour such as #1f4d3f; none: the default colour',
    orNone(reading(parseColour)),
  );
  option('--mail-language <tag>', 'a language such as de or pt-BR; default en', readLocale);
  option(
    '--mail-page <url>',
    "the URL of the store's page for gift cards, which emails link to, or none",
    orNone(reading(parsePageUrl)),
  );
  option(
    '--mail-expiry-reminders <days>',
    'when to send expiry reminders, in days before the expiry, such as 30,7, or none (default)',
    reading(parseReminderDays),
  );
  option(
    '--mail-balance-reminders <days>',
    'when to send balance reminders, in days after the issue, such as 180,365, or none (default)',
    reading(parseReminderDays),
  );
  return command
    .option('--mail-tell-failures', 'email the buyer if an email to the recipient cannot be delivered')
    .option('--no-mail-tell-failures', 'do not email the buyer about failed emails (default)');
}

/** The settings that the options set. */
export function emailChangesOf(options: EmailOptions): Partial<EmailSettings> {
  const named = {
    enabled: options.mail,
    senderName: options.mailName,
    address: options.mailAddress,
    replyTo: options.mailReplyTo,
    logoUrl: options.mailLogo,
    colour: options.mailColour,
    locale: options.mailLanguage,
    pageUrl: options.mailPage,
    expiryReminderDays: options.mailExpiryReminders,
    balanceReminderDays: options.mailBalanceReminders,
    notifyFailures: options.mailTellFailures,
  };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === '' ? null : value]));
}

export function emailRowOf(settings: EmailSettings): OutputRow {
  return {
    mail: settings.enabled,
    mail_name: settings.senderName,
    mail_address: settings.address,
    mail_reply_to: settings.replyTo,
    mail_logo: settings.logoUrl,
    mail_colour: settings.colour,
    mail_language: settings.locale,
    mail_page: settings.pageUrl,
    mail_expiry_reminders: settings.expiryReminderDays.join(',') || null,
    mail_balance_reminders: settings.balanceReminderDays.join(',') || null,
    mail_tell_failures: settings.notifyFailures,
  };
}
