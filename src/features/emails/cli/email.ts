/** `largesse mail preview|text|test|list` */

import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { readEmailConfig } from '../../../start/config.ts';
import { createMailer } from '../delivery/smtp.ts';
import { messageIdOf } from '../delivery/message.ts';
import { previewEmail, sampleEmail } from '../delivery/preview.ts';
import { senderOf, type SenderParts } from '../delivery/sender.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { deliveryStates, emailKinds, type EmailKind } from '../../../core/emails/domain/email.ts';
import { emailRecordOf } from '../domain/record.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listEmailTexts } from '../storage/wording.ts';
import { countStoreEmails, findEmailSettings, listStoreEmails } from '../../../core/emails/storage/email.ts';
import { findLogo } from '../../../core/stores/storage/logo.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { storeOption, openStore } from '../../../cli/choose-store.ts';
import { addEmailTextCommand } from './email-text.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson, printTable } from '../../../cli/output.ts';

type Options = { readonly store?: string; readonly json?: boolean };

const listedMax = 50;
/** The default sender of previews, which are never sent. */
const previewFrom = 'gift-cards@largesse.example';

const owner = 'the store of the emails';

function readAddress(text: string): string {
  const address = parseEmail(text);
  if (!address.ok) throw new InvalidArgumentError(`It ${address.error}.`);
  return address.value.address;
}

function* findSenderParts(store: Store): Script<SenderParts> {
  const [settings, texts, logo] = yield* parallel(
    findEmailSettings(store.id),
    listEmailTexts(store.id),
    findLogo(store.id),
  );
  return { store, settings, texts, logo };
}

export function addEmailCommands(root: Command): void {
  const email = root.command('mail').description('preview, word, test and list emails');

  email
    .command('preview')
    .description("write an email with sample data and the store's settings as HTML, text and .eml files")
    .addArgument(new Argument('<kind>', 'the kind of email').choices(emailKinds))
    .addOption(storeOption(owner))
    .option('--out <folder>', 'the folder for the files', '.')
    .option('--json', 'print JSON')
    .action(preview);

  addEmailTextCommand(email);

  email
    .command('test')
    .description('send a gift card email with sample data and show the response of the mail server')
    .addOption(storeOption(owner))
    .addOption(new Option('--to <address>', 'the recipient').argParser(readAddress).makeOptionMandatory())
    .option('--json', 'print JSON')
    .action(test);

  email
    .command('list')
    .description("count a store's emails by status, and list the emails of its newest cards")
    .addOption(storeOption(owner))
    .option('--json', 'print JSON')
    .action(list);
}

async function preview(
  kind: EmailKind,
  { store: domain, out, json }: Options & { readonly out: string },
): Promise<void> {
  await using database = await openStore(domain);
  const { storage, store } = database;
  const parts = await storage.read(() => findSenderParts(store));
  const sender = senderOf(parts, readEmailConfig()?.from ?? previewFrom);
  const options = { currency: store.currency, domain: store.domain };
  const folder = resolve(out);
  await mkdir(folder, { recursive: true });
  const files: string[] = [];
  for (const { name, content } of await previewEmail(kind, sender, options)) {
    files.push(join(folder, name));
    await writeFile(join(folder, name), content);
  }
  if (json) printJson({ files });
  else for (const file of files) print(file);
}

async function test({ store: domain, to, json }: Options & { readonly to: string }): Promise<void> {
  const config = readEmailConfig();
  if (!config) throw new CommandError('SMTP_URL is not set: there is no mail server to send it to');
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  if (ctx.testClock) throw new CommandError('the database is a sandbox, which sends no email');
  const parts = await storage.read(() => findSenderParts(store));
  const sample = sampleEmail('gift_card', senderOf(parts, config.from), {
    currency: store.currency,
    domain: store.domain,
  });
  await using mailer = createMailer(config);
  const messageId = messageIdOf(`test.${ctx.random.id()}`, store.domain);
  const outcome = await mailer.send({ ...sample, messageId, date: ctx.clock.now(), to });
  const { kind: status, response, ...rest } = outcome;
  if (json) printJson({ to, status, response, ...rest });
  else print(`${outcome.kind}: ${outcome.response}`);
  if (outcome.kind !== 'sent') process.exitCode = 1;
}

async function list({ store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const counts = await storage.read(() => countStoreEmails(store.id));
  const emails = await storage.read(() => listStoreEmails(store.id, listedMax));
  const records = emails.map((one) =>
    emailRecordOf(ctx.keys.publicIds, one, { domain: store.domain, now: ctx.clock.now() }),
  );
  if (json) {
    const statuses = Object.fromEntries(deliveryStates.map((state) => [state, counts.get(state) ?? 0]));
    printJson({ statuses, deliveries: records });
    return;
  }
  print(deliveryStates.map((state) => `${state} ${counts.get(state) ?? 0}`).join(', '));
  print('');
  printTable(
    records.map(
      ({ gift_card_id, kind, recipient, status, attempts, send_at, last_attempt, cancel_reason }) => ({
        gift_card: gift_card_id,
        kind,
        recipient,
        status,
        attempts,
        send_at,
        response: last_attempt?.response ?? null,
        failure: cancel_reason ?? last_attempt?.failure?.detail ?? null,
      }),
    ),
    { none: `${store.domain} has no emails.` },
  );
}
