/** `largesse card issue|suspend|resume|import|export` */

import { csvOfTable } from '../../../core/tables/service/csv-parts.ts';
import type { Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { parseBatch } from '../../batches/domain/batch.ts';
import {
  cardFields,
  listedFields,
  type CardField,
  type CardFieldName,
  type FieldKind,
} from '../../../core/cards/domain/fields.ts';
import { integerFromText, newCardFromText, type NewCardField } from '../../../core/cards/domain/new-card.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { resultOf } from '../../../core/domain/paused.ts';
import { recordOf, statedRecordOf } from '../../../core/cards/domain/record.ts';
import { parseText, textLengthMax } from '../../../core/domain/text.ts';
import { issue } from '../../../core/cards/service/issue.ts';
import { resumeCard, suspendCard } from '../../../core/cards/service/suspension.ts';
import { today } from '../../../core/stores/service/day.ts';
import { cardExport } from '../../../core/cards/service/export.ts';
import { filterOf } from '../../../core/cards/service/filter.ts';
import { addImportCommand } from './card-import.ts';
import { writeText } from './card-output.ts';
import { canSendEmails } from '../../emails/cli/can-send.ts';
import { chooseStore, storeOption, openStore } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { printFields, printJson } from '../../../cli/output.ts';

const placeholders: Readonly<Record<FieldKind, (name: string) => string>> = {
  day: () => 'day',
  line: (name) => name.slice(name.lastIndexOf('_') + 1),
  text: () => 'text',
  tags: () => 'list',
  id: () => 'id',
  choice: () => 'name',
};

type Option = readonly [field: NewCardField, flags: string, description: string];

function optionOf(name: CardFieldName): Option {
  const {
    kind,
    about,
    brief = `${about.charAt(0).toLowerCase()}${about.slice(1)}`,
  }: CardField = cardFields[name];
  return [name, `--${name.replaceAll('_', '-')} <${placeholders[kind](name)}>`, brief];
}

/** The options of `issue`, by the fields that they set. */
const options: readonly Option[] = [
  optionOf('expires_on'),
  ['email', '--email <address>', "the customer's email address"],
  ['recipient_email', '--recipient-email <address>', "the recipient's email address"],
  ...listedFields.map(optionOf),
  ['send_on', '--send-on <time>', 'when the card is emailed: a day, or a date and time with an offset'],
  ['code', '--code <code>', 'a code of your own, or of a printed card in stock; optional'],
];

export function addCardCommands(root: Command): void {
  const card = root.command('card').description('issue, suspend, resume, import and export gift cards');
  addIssueCommand(card);
  addSuspensionCommands(card);
  addImportCommand(card);
  card
    .command('export')
    .description('print all gift cards of a store as CSV, without their codes')
    .addOption(storeOption('the store of the gift cards'))
    .option('--output <file>', 'write to a new file')
    .action(async ({ store: domain, output }: { readonly store?: string; readonly output?: string }) => {
      await using database = await openStore(domain);
      const { ctx, storage, store } = database;
      await writeText(csvOfTable(cardExport({ ctx, storage }, store, filterOf({}, null))), output);
    });
}

function addIssueCommand(card: Command): void {
  const command = card
    .command('issue')
    .description('issue one gift card, and print its code, which is not shown again')
    .addOption(storeOption('the store of the gift card'))
    .requiredOption('--value <amount>', "the value in the store's currency, such as 25.00");
  for (const [, flags, description] of options) command.option(flags, description);
  command
    .option('--no-notify', 'do not email the card')
    .option('--suspend', 'suspend the card until it is resumed, and do not email it before')
    .option('--json', 'print JSON')
    .action(async (given: Readonly<Record<string, string | boolean | undefined>>) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const domain = given['store'];
      const { store } = await storage.read(() =>
        chooseStore(typeof domain === 'string' ? domain : undefined),
      );
      const canSend = await canSendEmails(storage, store.id);
      const parsed = resultOf(parseBatch([fieldsOf(given)], { store, now: ctx.clock.now(), canSend }));
      if (!parsed.ok)
        throw new CommandError(
          parsed.errors.map(({ field, message }) => `${field ?? 'it'} ${message}`).join('; '),
        );
      const [found] = parsed.cards;
      if (!found) throw new Error('a card without fields');
      const issued = await storage.write(() =>
        issue(ctx, { ...found, store, apiClientId: null, actor: 'command_line', stock: 'optional' }),
      );
      const record = recordOf(ctx.keys.publicIds, issued.card);
      const code = issued.code.reveal();
      if (given['json'] === true) printJson({ ...record, code });
      else {
        const { id, initial_value: value, currency, expires_on: expiresOn } = record;
        printFields({ code, id, value: `${value} ${currency}`, expires_on: expiresOn, store: store.domain });
      }
    });
}

type SuspensionOptions = { readonly store?: string; readonly reason?: string; readonly json?: boolean };

function addSuspensionCommands(card: Command): void {
  const addCommand = (name: 'suspend' | 'resume', description: string): Command =>
    card
      .command(name)
      .description(description)
      .argument('<id>', 'the id of the gift card')
      .addOption(storeOption('the store of the gift card'))
      .option('--json', 'print JSON')
      .action(async (id: string, given: SuspensionOptions) => changeSuspension(name, id, given));
  addCommand('suspend', 'suspend a gift card, so that it cannot be used until it is resumed').option(
    '--reason <text>',
    'why, for the store only',
  );
  addCommand('resume', 'resume a suspended gift card, and send the emails that waited for it');
}

/** @throws CommandError if the store has no such card, or it is disabled. */
async function changeSuspension(
  name: 'suspend' | 'resume',
  id: string,
  { store: domain, reason: sentReason = '', json = false }: SuspensionOptions,
): Promise<void> {
  const reason = parseText(sentReason, textLengthMax);
  if (!reason.ok) throw new CommandError(`--reason ${reason.error}`);
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const { publicIds } = ctx.keys;
  const number = integerFromText(id);
  const cardId = typeof number === 'number' ? publicIds.read(number) : undefined;
  if (cardId === undefined) throw new CommandError(`the store ${store.domain} has no gift card ${id}`);
  const command = { store, cardId, actor: 'command_line', versions: null };
  const changed = await storage
    .write(() =>
      name === 'suspend' ? suspendCard(ctx, { ...command, reason: reason.value }) : resumeCard(ctx, command),
    )
    .catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      if (error.code === 'card-disabled') throw new CommandError(`the gift card ${id} is disabled`);
      throw new CommandError(`the store ${store.domain} has no gift card ${id}`);
    });
  const moment = { today: today(ctx, store), emailStatus: changed.emailStatus };
  const record = statedRecordOf(publicIds, changed.card, moment);
  if (json) printJson(record);
  else {
    const { balance, currency, state } = record;
    printFields({ id: record.id, state, balance: `${balance} ${currency}`, store: store.domain });
  }
}

function fieldsOf(given: Readonly<Record<string, string | boolean | undefined>>): Record<string, unknown> {
  const fields: Record<string, unknown> = { initial_value: given['value'] };
  for (const [field] of options) {
    const text = given[field.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof text === 'string') fields[field] = newCardFromText[field]?.(text) ?? text;
  }
  if (given['notify'] === false) fields['notify'] = false;
  if (given['suspend'] === true) fields['suspend'] = true;
  return fields;
}
