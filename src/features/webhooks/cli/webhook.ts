/** `largesse webhook create|list|update|delete|rotate-secret|test|deliveries` */

import { setTimeout as wait } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readLocalUse } from '../../../start/config.ts';
import { loopbackRule, webhookUrlsOf } from '../delivery/webhooks.ts';
import { generateSigningSecret } from '../delivery/signature.ts';
import { eventTypes } from '../../../core/events/domain/event-type.ts';
import { eventPatterns, parsePatterns, type Delivery, type Webhook } from '../domain/webhook.ts';
import { deliveryRecordOf, webhookRecordOf } from '../domain/webhook-record.ts';
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
} from '../service/webhook.ts';
import type { Database } from '../../../start/database.ts';
import { openStore, storeOption } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printFields, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { idParser } from '../../../cli/read.ts';

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
/** The longest wait of `test` for a running service. */
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
    .action(create);

  command(webhook, 'list', "list a store's webhooks, without their secrets").action(listWebhooks);

  command(webhook, 'update', 'update a webhook')
    .argument('<id>', 'the id from webhook list', readId)
    .option('--url <url>', 'the URL that receives events')
    .addOption(new Option('--events <patterns>', 'event types such as gift_card.*').argParser(readEvents))
    .addOption(new Option('--pause', 'pause deliveries until the webhook is resumed').conflicts('resume'))
    .option('--resume', 'resume deliveries, the waiting ones first')
    .action(update);

  command(webhook, 'delete', 'delete a webhook and the log of its deliveries')
    .argument('<id>', 'the id from webhook list', readId)
    .action(remove);

  command(
    webhook,
    'rotate-secret',
    'create a new secret and show it only once; requests are also signed with the old one for 24 hours',
  )
    .argument('<id>', 'the id from webhook list', readId)
    .action(rotateSecret);

  command(webhook, 'test', 'send a test event through the running service, and show its delivery')
    .argument('<id>', 'the id from webhook list', readId)
    .action(sendTest);

  command(webhook, 'deliveries', "list a webhook's newest deliveries")
    .argument('<id>', 'the id from webhook list', readId)
    .addOption(
      new Option('--limit <count>', 'the maximum number of deliveries').argParser(readLimit).default(50),
    )
    .action(listDeliveries);
}

async function create(options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { ctx, storage, store } = database;
  const url = await readUrl(database, options.url ?? '');
  const secret = generateSigningSecret(ctx.random);
  const patterns = options.events ?? [];
  showOnce(await storage.write(() => addWebhook(ctx, { storeId: store.id, url, patterns, secret })), options);
}

async function listWebhooks(options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { storage, store } = database;
  const webhooks = await storage.read(() => listStoreWebhooks(store.id));
  if (options.json) printJson(webhooks.map(webhookRecordOf));
  else printTable(webhooks.map(rowOf), { none: `${store.domain} has no webhooks.` });
}

async function update(id: number, options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { ctx, storage, store } = database;
  const { url, events, pause, resume } = options;
  const changes = {
    ...(url !== undefined && { url: await readUrl(database, url) }),
    ...(events !== undefined && { patterns: events }),
    ...((pause || resume) && { paused: pause === true }),
  };
  show(
    await storage.write(() => changeWebhook(ctx, { storeId: store.id, id, versions: null, changes })),
    options,
  );
}

async function remove(id: number, options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { storage, store } = database;
  await storage.write(() => removeWebhook({ storeId: store.id, id, versions: null }));
  if (options.json) printJson({ deleted: id });
  else print(`The webhook ${id} is deleted.`);
}

async function rotateSecret(id: number, options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { ctx, storage, store } = database;
  const secret = generateSigningSecret(ctx.random);
  showOnce(
    await storage.write(() => replaceWebhookSecret(ctx, { storeId: store.id, id, versions: null, secret })),
    options,
  );
}

async function sendTest(id: number, options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { ctx, storage, store } = database;
  const { eventId } = await storage.write(() => sendTestEvent(ctx, { storeId: store.id, id }));
  const readDelivery = (): Promise<{ readonly delivery: Delivery }> =>
    storage.read(() => showDelivery(store.id, { webhookId: id, eventId }));
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
}

async function listDeliveries(id: number, options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { storage, store } = database;
  const request = { limit: options.limit ?? 50, before: null, after: null };
  const page = await storage.read(() => listWebhookDeliveries(store.id, id, request));
  const records = page.items.map(deliveryRecordOf);
  if (options.json) printJson(records);
  else printTable(records.map(deliveryRow), { none: 'There are no deliveries.' });
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
