/** The settings of a store's books: the VAT of its cards, the names of its accounts, and DATEV. */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDatev, type Datev } from '../../../core/stores/domain/datev.ts';
import {
  journalAccounts,
  type AccountNames,
  type JournalAccount,
} from '../../../core/stores/domain/store.ts';
import { parseText } from '../../../core/domain/text.ts';
import { parseVatRate, type Vat } from '../../../core/money/domain/vat.ts';

const accountNameLengthMax = 100;

/** `none`, `multi_purpose` or `single_purpose:<rate>`. Commander replaces null by an empty text. */
function readVatOption(text: string): Vat | 'none' {
  if (text === 'none') return 'none';
  if (text === 'multi_purpose') return { kind: 'multi_purpose' };
  const [kind, rate, ...rest] = text.split(':');
  const parsed = parseVatRate(rate);
  if (kind !== 'single_purpose' || !parsed.ok || rest.length > 0)
    throw new InvalidArgumentError(
      'It must be none, multi_purpose, or single_purpose:<percent> such as single_purpose:19.',
    );
  return { kind, rate: parsed.value };
}

function readDatevOption(text: string): Datev | 'none' {
  if (text === 'none') return 'none';
  const datev = parseDatev(text);
  if (!datev.ok) throw new InvalidArgumentError(`It ${datev.error}, or none.`);
  return datev.value;
}

function isJournalAccount(name: string): name is JournalAccount {
  return (journalAccounts as readonly string[]).includes(name);
}

/** `<account>=<name>`; an empty name restores the default. */
function readAccountName(text: string, before: AccountNames = {}): AccountNames {
  const separator = text.indexOf('=');
  const account = text.slice(0, Math.max(0, separator));
  if (separator < 0 || !isJournalAccount(account))
    throw new InvalidArgumentError(
      `It must be <account>=<name>, and the account one of ${journalAccounts.join(', ')}.`,
    );
  const name = parseText(text.slice(separator + 1), accountNameLengthMax);
  if (!name.ok || /[\n\t]/.test(name.value ?? ''))
    throw new InvalidArgumentError(`A name must be one line of at most ${accountNameLengthMax} characters.`);
  return { ...before, [account]: name.value ?? '' };
}

export function addBooksOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--vat <kind>',
        'the VAT of new cards: none, multi_purpose (due when redeemed), or single_purpose:<percent> (due when sold)',
      ).argParser(readVatOption),
    )
    .addOption(
      new Option(
        '--account <account=name>',
        `the name of an account in the journal, repeatable; empty: the default. Accounts: ${journalAccounts.join(', ')}`,
      ).argParser(readAccountName),
    )
    .addOption(
      new Option(
        '--datev <consultant/client>',
        'for the journal’s files for DATEV: the accountant’s numbers, such as 29098/55003; with the first month of a fiscal year and the digits of accounts, if they are not 1 and 4: 29098/55003/7/6; or none',
      ).argParser(readDatevOption),
    );
}

/** The names after the changes. */
export function withAccountNames(names: AccountNames, changes: AccountNames = {}): AccountNames {
  return Object.fromEntries(Object.entries({ ...names, ...changes }).filter(([, name]) => name !== ''));
}
