/** The options of `largesse store create|update` for a store's emails. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseColour } from '../delivery/colour.ts';
import { parseKnownLocale } from '../delivery/language.ts';
import { parsePageUrl } from '../delivery/sender.ts';
import { parseDesign } from '../../../core/cards/domain/design.ts';
import { parseSenderAddress } from '../../../core/domain/email-address.ts';
import { parseOpeningHours, parseLink, parsePhone } from '../../../core/stores/domain/identity.ts';
import {
  defaultEmailSettings,
  parseReminderDays,
  type EmailSettings,
} from '../../../core/emails/domain/email.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { CommandError } from '../../../cli/failure.ts';
import type { OutputRow } from '../../../cli/output.ts';
import { readName } from '../../../cli/read.ts';

/** The settings that options set. An empty text is `none`. */
export type EmailOptions = { readonly [Name in keyof EmailSettings]?: unknown };

/** An option whose value commander returns under the name of a setting. */
class SettingOption extends Option {
  readonly #setting: keyof EmailSettings;

  constructor(setting: keyof EmailSettings, flags: string, description: string) {
    super(flags, description);
    this.#setting = setting;
  }

  override attributeName(): string {
    return this.#setting;
  }
}

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
  const add = (
    setting: keyof EmailSettings,
    flags: string,
    description: string,
    parse?: (text: string) => unknown,
  ): void => {
    const option = new SettingOption(setting, flags, description);
    command.addOption(parse ? option.argParser(parse) : option);
  };
  add('enabled', '--mail', 'send emails about gift cards (default)');
  add('enabled', '--no-mail', 'do not send emails');
  add('senderName', '--mail-name <name>', "the sender's name; none: the store's name", orNone(readName));
  add(
    'address',
    '--mail-address <address>',
    "the sender's address; none: MAIL_FROM",
    orNone(reading(parseSenderAddress)),
  );
  add(
    'replyTo',
    '--mail-reply-to <address>',
    "the address for replies; none: the sender's address",
    orNone(reading(parseSenderAddress)),
  );
  add(
    'colour',
    '--mail-colour <colour>',
    'a colour such as #1f4d3f; none: the default colour',
    orNone(reading(parseColour)),
  );
  add(
    'design',
    '--card-design <name>',
    'the design of cards without a design of their own; default plain',
    reading(parseDesign),
  );
  add(
    'website',
    '--website <url>',
    "the https URL of the shop's website, or none",
    orNone(reading(parseLink)),
  );
  add('phone', '--phone <number>', 'the phone number for customers, or none', orNone(reading(parsePhone)));
  add(
    'hours',
    '--hours <lines>',
    'the opening hours, at most 7 lines, or none',
    orNone(reading(parseOpeningHours)),
  );
  add(
    'terms',
    '--terms <url>',
    'the https URL of the terms of gift cards, or none',
    orNone(reading(parseLink)),
  );
  add('locale', '--mail-language <tag>', 'a language such as de or pt-BR; default en', readLocale);
  add(
    'pageUrl',
    '--mail-page <url>',
    "the URL of the store's page for gift cards, which emails link to, or none",
    orNone(reading(parsePageUrl)),
  );
  add(
    'expiryReminderDays',
    '--mail-expiry-reminders <days>',
    'when to send expiry reminders, in days before the expiry, such as 30,7, or none (default)',
    reading(parseReminderDays),
  );
  add(
    'balanceReminderDays',
    '--mail-balance-reminders <days>',
    'when to send balance reminders, in days after the issue, such as 180,365, or none (default)',
    reading(parseReminderDays),
  );
  add(
    'notifyFailures',
    '--mail-tell-failures',
    'email the buyer if an email to the recipient cannot be delivered',
  );
  add('notifyFailures', '--no-mail-tell-failures', 'do not email the buyer about failed emails (default)');
  return command;
}

/** The settings that the options set. */
export function emailChangesOf(options: EmailOptions): Partial<EmailSettings> {
  const names = Object.keys(defaultEmailSettings) as (keyof EmailSettings)[];
  const changes = names
    .filter((name) => options[name] !== undefined)
    .map((name) => [name, options[name] === '' ? null : options[name]]);
  return Object.fromEntries(changes) as Partial<EmailSettings>;
}

export function emailRowOf(settings: EmailSettings): OutputRow {
  return {
    mail: settings.enabled,
    mail_name: settings.senderName,
    mail_address: settings.address,
    mail_reply_to: settings.replyTo,
    mail_colour: settings.colour,
    card_design: settings.design,
    website: settings.website,
    phone: settings.phone,
    hours: settings.hours,
    terms: settings.terms,
    mail_language: settings.locale,
    mail_page: settings.pageUrl,
    mail_expiry_reminders: settings.expiryReminderDays.join(',') || null,
    mail_balance_reminders: settings.balanceReminderDays.join(',') || null,
    mail_tell_failures: settings.notifyFailures,
  };
}
