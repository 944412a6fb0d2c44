/** `largesse webhook create|list|update|delete|rotate-secret|test|deliveries` */

import { setTimeout as wait } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readDatabaseConfig, readLocalUse } from '../start/config.ts';
import { openDatabase, type Database } from '../start/database.ts';
import { loopbackRule, webhookUrlsOf } from '../delivery/webhooks/webhooks.ts';
import { generateSigningSecret } from '../delivery/webhooks/signature.ts';
import { eventTypes } from '../domain/events/event-type.ts';
import { eventPatterns, parsePatterns, type Delivery, type Webhook } from '../domain/events/webhook.ts';
import { deliveryRecordOf, webhookRecordOf } from '../domain/events/webhook-record.ts';
import type { DeliveryRecord } from '../domain/webhook-schemas.ts';
import {
  changeWebhook,
  addWebhook,
  listWebhookDeliveries,
  listStoreWebhooks,
  removeWebhook,
  replaceWebhookSecret,
  showDelivery,
  sendTestEvent,
  type WebhookWithSecret,
} from '../service/events/webhook.ts';
import { chooseStore, storeOption } from './choose-store.ts';
import { CommandError } from './failure.ts';
import { print, printFields, printJson, printTable, type OutputRow } from './output.ts';
import { idParser } from './read.ts';

type Options = {
  readonly store?: string;
  readonly url?: string;
  readonly events?: readonly string[];
  readonly pause?: boolean;
  readonly resume?: boolean;
  readonly limit?: number;
  readonly json?: boolean;
};

const limitMax = 250;
/** How long `test` waits for a running service. */
const testWaitMs = 15_000;
const testPollMs = 100;

function readEvents(text: string): readonly string[] {
  const patterns = parsePatterns(text, eventPatterns(eventTypes));
  if (!patterns.ok) throw new InvalidArgumentError(`The list ${patterns.error}.`);
  return patterns.value;
}

const readId = idParser('webhook list');

function readLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(limit >= 1 && limit <= limitMax))
    throw new InvalidArgumentError(`It must be an integer from 1 to ${limitMax}.`);
  return limit;
}

/** The normalized webhook URL. @throws CommandError if it is invalid. */
async function readUrl({ ctx, storage }: Database, text: string): Promise<string> {
  const parseUrl = await webhookUrlsOf(ctx, loopbackRule(readLocalUse(), storage)).urlParser();
  const url = parseUrl(text);
  if (!url.ok) throw new CommandError(`--url ${url.error}`);
  return url.value;
}

/** A command of `largesse webhook`, with the common options. */
function command(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .addOption(storeOption('the store of the webhook'))
    .option('--json', 'print JSON');
}

/** Runs an action with the database and the store that the options name. */
async function withStore<T>(
  { store: domain }: Options,
  action: (database: Database, storeId: number, domain: string) => Promise<T>,
): Promise<T> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { store } = await database.storage.read(() => chooseStore(domain));
  return await action(database, store.id, store.domain);
}

export function addWebhookCommands(root: Command): void {
  const webhook = root.command('webhook').description("manage the webhooks that receive a store's events");

  command(webhook, 'create', 'create a webhook and show its signing secret only once')
    .requiredOption('--url <url>', 'the URL that receives events: https, on the public internet')
    .addOption(
      new Option(
        '--events <patterns>',
        'event types such as gift_card.* or gift_card.redeemed,customer.created',
      )
        .argParser(readEvents)
        .makeOptionMandatory(),
    )
    .action((options: Options) =>
      withStore(options, async (database, storeId) => {
        const { ctx, storage } = database;
        const url = await readUrl(database, options.url ?? '');
        const secret = generateSigningSecret(ctx.random);
        const patterns = options.events ?? [];
        showOnce(await storage.write(() => addWebhook(ctx, { storeId, url, patterns, secret })), options);
      }),
    );

  command(webhook, 'list', "list a store's webhooks, without their secrets").action((options: Options) =>
    withStore(options, async ({ storage }, storeId, domain) => {
      const webhooks = await storage.read(() => listStoreWebhooks(storeId));
      if (options.json) printJson(webhooks.map(webhookRecordOf));
      else printTable(webhooks.map(rowOf), { none: `${domain} has no webhooks.` });
    }),
  );

  command(webhook, 'update', 'update a webhook')
    .argument('<id>', 'the id from webhook list', readId)
    .option('--url <url>', 'the URL that receives events')
    .addOption(new Option('--events <patterns>', 'event types such as gift_card.*').argParser(readEvents))
    .addOption(new Option('--pause', 'pause deliveries until the webhook is resumed').conflicts('resume'))
    .option('--resume', 'resume deliveries, the waiting ones first')
    .action((id: number, options: Options) =>
      withStore(options, async (database, storeId) => {
        const { ctx, storage } = database;
        const { url, events, pause, resume } = options;
        const changes = {
          ...(url !== undefined && { url: await readUrl(database, url) }),
          ...(events !== undefined && { patterns: events }),
          ...((pause || resume) && { paused: pause === true }),
        };
        show(
          await storage.write(() => changeWebhook(ctx, { storeId, id, versions: null, changes })),
          options,
        );
      }),
    );

  command(webhook, 'delete', 'delete a webhook and the log of its deliveries')
    .argument('<id>', 'the id from webhook list', readId)
    .action((id: number, options: Options) =>
      withStore(options, async ({ storage }, storeId) => {
        await storage.write(() => removeWebhook({ storeId, id, versions: null }));
        if (options.json) printJson({ deleted: id });
        else print(`The webhook ${id} is deleted.`);
      }),
    );

  command(
    webhook,
    'rotate-secret',
    'create a new secret and show it only once; requests are also signed with the old one for 24 hours',
  )
    .argument('<id>', 'the id from webhook list', readId)
    .action((id: number, options: Options) =>
      withStore(options, async ({ ctx, storage }, storeId) => {
        const secret = generateSigningSecret(ctx.random);
        showOnce(
          await storage.write(() => replaceWebhookSecret(ctx, { storeId, id, versions: null, secret })),
          options,
        );
      }),
    );

  command(webhook, 'test', 'send a test event through the running service, and show its delivery')
    .argument('<id>', 'the id from webhook list', readId)
    .action((id: number, options: Options) =>
      withStore(options, async ({ ctx, storage }, storeId) => {
        const { eventId } = await storage.write(() => sendTestEvent(ctx, { storeId, id }));
        const readDelivery = (): Promise<{ readonly delivery: Delivery }> =>
          storage.read(() => showDelivery(storeId, { webhookId: id, eventId }));
        let { delivery } = await readDelivery();
        for (let waitedMs = 0; delivery.attempts === 0 && waitedMs < testWaitMs; waitedMs += testPollMs) {
          await wait(testPollMs);
          ({ delivery } = await readDelivery());
        }
        if (options.json) printJson(deliveryRecordOf(delivery));
        else printFields(deliveryRow(deliveryRecordOf(delivery)));
        if (delivery.status !== 'delivered') process.exitCode = 1;
        if (delivery.attempts === 0 && !options.json)
          print('\nThe delivery is queued, but no process has sent it: check that the service is running.');
      }),
    );

  command(webhook, 'deliveries', "list a webhook's newest deliveries")
    .argument('<id>', 'the id from webhook list', readId)
    .addOption(
      new Option('--limit <count>', 'the maximum number of deliveries').argParser(readLimit).default(50),
    )
    .action((id: number, options: Options) =>
      withStore(options, async ({ storage }, storeId) => {
        const request = { limit: options.limit ?? 50, before: null, after: null };
        const page = await storage.read(() => listWebhookDeliveries(storeId, id, request));
        const records = page.items.map(deliveryRecordOf);
        if (options.json) printJson(records);
        else printTable(records.map(deliveryRow), { none: 'There are no deliveries.' });
      }),
    );
}

function show(webhook: Webhook, { json }: Options): void {
  if (json) printJson(webhookRecordOf(webhook));
  else printFields(rowOf(webhook));
}

function showOnce({ webhook, secret }: WebhookWithSecret, { json }: Options): void {
  if (json) {
    printJson({ ...webhookRecordOf(webhook), secret: secret.reveal() });
    return;
  }
  printFields({ ...rowOf(webhook), secret: secret.reveal() });
  print('\nSave it now: it is not shown again.');
}

function rowOf(webhook: Webhook): OutputRow {
  const { id, url, events, status, pause_reason, failing_since } = webhookRecordOf(webhook);
  return { id, url, events: events.join(','), status, pause_reason, failing_since };
}

function deliveryRow({
  event_id,
  event_type,
  status,
  attempts,
  next_attempt_at,
  last_attempt,
}: DeliveryRecord): OutputRow {
  return {
    event_id,
    event_type,
    status,
    attempts,
    next_attempt_at,
    response: last_attempt?.response?.status ?? null,
    failure: last_attempt?.failure?.detail ?? null,
  };
}
