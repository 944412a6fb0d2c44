/** The options of `largesse store create|update` that say how a store's mails look and which it sends. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseColour } from '../delivery/email/colour.ts';
import { parseKnownLocale } from '../delivery/email/language.ts';
import { parseLogoUrl, parsePageUrl } from '../delivery/email/sender.ts';
import { parseSenderAddress } from '../domain/email.ts';
import { parseReminderDays, type MailSettings } from '../domain/mail.ts';
import type { Parsed } from '../domain/parsed.ts';
import { CommandError } from './failure.ts';
import type { Row } from './output.ts';
import { readName } from './read.ts';

export type MailOptions = {
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

/** Reads a value, or `none` as an empty text: a null, commander would take for an option without a value. */
function orNone(parse: (text: string) => string): (text: string) => string {
  return (text) => (text === 'none' ? '' : parse(text));
}

function reading<T>(parse: (text: string) => Parsed<T>): (text: string) => T {
  return (text) => {
    const parsed = parse(text);
    if (!parsed.ok) throw new InvalidArgumentError(`It ${parsed.refusal}.`);
    return parsed.value;
  };
}

/** @throws CommandError that lists the known languages. */
function readLocale(text: string): string {
  const locale = parseKnownLocale(text);
  if (!locale.ok) throw new CommandError(`--mail-language ${locale.refusal}`);
  return locale.value;
}

export function addMailSettings(command: Command): Command {
  const option = (flags: string, description: string, parse: (text: string) => unknown): void =>
    void command.addOption(new Option(flags, description).argParser(parse));
  command
    .option('--mail', 'send mails: a new card to its recipient, and what goes with it (so unless told)')
    .option('--no-mail', 'send no mails');
  option('--mail-name <name>', "the sender's name; none: the store's", orNone(readName));
  option(
    '--mail-address <address>',
    "the sender's address; none: MAIL_FROM",
    orNone(reading(parseSenderAddress)),
  );
  option(
    '--mail-reply-to <address>',
    'where replies go; none: to the sender',
    orNone(reading(parseSenderAddress)),
  );
  option('--mail-logo <url>', 'an image, https only, or none', orNone(reading(parseLogoUrl)));
  option('--mail-colour <colour>', 'such as #1f4d3f; none: the usual one', orNone(reading(parseColour)));
  option('--mail-language <tag>', 'such as de or pt-BR; default en', readLocale);
  option(
    '--mail-page <url>',
    "the store's page for gift cards, which mails link to, or none",
    orNone(reading(parsePageUrl)),
  );
  option(
    '--mail-expiry-reminders <days>',
    'days before the expiry, such as 30,7, or none (so unless told)',
    reading(parseReminderDays),
  );
  option(
    '--mail-balance-reminders <days>',
    'days after the issue, such as 180,365, or none (so unless told)',
    reading(parseReminderDays),
  );
  return command
    .option('--mail-tell-failures', 'tell the buyer of a mail that the recipient did not get')
    .option('--no-mail-tell-failures', 'tell nobody but the store (so unless told)');
}

/** What is named of the settings. */
export function mailChangesOf(options: MailOptions): Partial<MailSettings> {
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
    tellFailures: options.mailTellFailures,
  };
  const given = Object.entries(named).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === '' ? null : value]));
}

export function mailRowOf(settings: MailSettings): Row {
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
    mail_tell_failures: settings.tellFailures,
  };
}
