/** `largesse mail text` */

import { Argument, Option, type Command } from 'commander';
import { languages, localePartsOf } from '../delivery/language.ts';
import { emailKinds, type EmailKind } from '../../../core/emails/domain/email.ts';
import {
  emailTextLengths,
  emailTextParts,
  placeholdersOf,
  readEmailText,
  textsIn,
  type EmailTextChange,
  type EmailTextPart,
  type EmailTextProblem,
} from '../domain/wording.ts';
import { changeEmailTexts } from '../service/wording.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { listEmailTexts } from '../storage/wording.ts';
import { storeOption, openStore } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { printFields, printJson } from '../../../cli/output.ts';

type Options = Readonly<Partial<Record<EmailTextPart, string>>> & {
  readonly store?: string;
  readonly language?: string;
  readonly json?: boolean;
};

const descriptions: Readonly<Record<EmailTextPart, string>> = {
  subject: 'the subject',
  heading: 'the heading',
  greeting: 'the line above the first lines',
  intro: 'the first lines; an empty line starts a paragraph',
  closing: 'the last lines, which the standard emails do not have',
};

function messageOf(problem: EmailTextProblem, kind: EmailKind, part: EmailTextPart): string {
  switch (problem) {
    case 'length':
      return `must have at most ${emailTextLengths[part].toLocaleString('en')} characters`;
    case 'characters':
      return 'must not contain control or invisible characters';
    case 'placeholder':
      return `can contain braces only in the placeholders ${placeholdersOf(kind)}`;
  }
}

/** @throws CommandError */
function changesOf(options: Options, kind: EmailKind, language: string): readonly EmailTextChange[] {
  return emailTextParts.flatMap((part) => {
    const typed = options[part];
    if (typed === undefined) return [];
    const read = readEmailText({ kind, part }, typed === 'none' ? '' : typed);
    if (!read.ok) throw new CommandError(`--${part} ${messageOf(read.problem, kind, part)}`);
    return [{ kind, language, part, text: read.text }];
  });
}

export function addEmailTextCommand(email: Command): void {
  const command = email
    .command('text')
    .description("show or change a store's own texts of a kind of email; the others are standard texts")
    .addArgument(new Argument('<kind>', 'the kind of email').choices(emailKinds))
    .addOption(storeOption('the store of the emails'))
    .addOption(
      new Option(
        '--language <tag>',
        "the language of the texts; default: that of the store's emails",
      ).choices(languages),
    );
  for (const part of emailTextParts)
    command.option(`--${part} <text>`, `${descriptions[part]}; none: the standard text`);
  command
    .option('--json', 'print JSON')
    .addHelpText('after', `\nPlaceholders, if the email has them: ${placeholdersOf('gift_card')}`)
    .action(async (kind: EmailKind, options: Options) => {
      await using database = await openStore(options.store);
      const { ctx, storage, store } = database;
      const { locale } = await storage.read(() => findEmailSettings(store.id));
      const language = options.language ?? localePartsOf(locale).language;
      const changes = changesOf(options, kind, language);
      if (changes.length > 0) await storage.write(() => changeEmailTexts(ctx, store.id, changes));
      const stored = await storage.read(() => listEmailTexts(store.id));
      const texts = textsIn(stored, language)[kind] ?? {};
      const parts = emailTextParts.map((part) => [part, texts[part] ?? null] as const);
      const row = { kind, language, ...Object.fromEntries(parts) };
      if (options.json) printJson(row);
      else printFields(row);
    });
}
