/** `largesse customer show|link|unlink|export|erase` */

import { InvalidArgumentError, type Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { customerRecordOf, type CustomerAccount } from '../../../core/customers/domain/customer.ts';
import type { CustomerRecord } from '../../../core/customers/domain/customer-schemas.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import { linkCustomer, showCustomerByEmail } from '../../../core/customers/service/customer.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { chooseStore, storeOption } from '../../../cli/choose-store.ts';
import { addPrivacyCommands } from './customer-privacy.ts';
import { printFields, printJson } from '../../../cli/output.ts';

type Options = { readonly store?: string; readonly json?: boolean };

function readEmail(text: string): EmailAddress {
  const address = parseEmail(text);
  if (!address.ok) throw new InvalidArgumentError(`An email ${address.error}.`);
  return address.value;
}

function readStorefrontId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new InvalidArgumentError('It must be an integer from 1 to 2^53 - 1.');
  return id;
}

function addCommand(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .addOption(storeOption('the store of the customer'))
    .option('--json', 'print JSON')
    .argument('<email>', 'such as ada@example.com', readEmail);
}

export function addCustomerCommands(root: Command): void {
  const customer = root
    .command('customer')
    .description("manage a store's customers and their storefront ids");

  addCommand(customer, 'show', 'show a customer').action(async (address: EmailAddress, options: Options) => {
    await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
    const { ctx, storage } = database;
    const found = await storage.read(() => findOf(options.store, address));
    show(customerRecordOf(ctx.keys.publicIds, found), options);
  });

  addCommand(customer, 'link', "set a customer's id on the storefront")
    .argument('<storefront-id>', "the customer's id in signed requests of the storefront", readStorefrontId)
    .action(async (address: EmailAddress, storefrontId: number, options: Options) => {
      show(await link(options, address, storefrontId), options);
    });

  addCommand(customer, 'unlink', "remove a customer's id on the storefront").action(
    async (address: EmailAddress, options: Options) => {
      show(await link(options, address, null), options);
    },
  );
  addPrivacyCommands(customer, readEmail);
}

function* findOf(domain: string | undefined, address: EmailAddress): Script<CustomerAccount> {
  const { store } = yield* chooseStore(domain);
  return yield* showCustomerByEmail(store.id, address);
}

async function link(
  { store: domain }: Options,
  address: EmailAddress,
  storefrontId: number | null,
): Promise<CustomerRecord> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { ctx, storage } = database;
  const linked = await storage.write(function* () {
    const { store } = yield* chooseStore(domain);
    const found = yield* showCustomerByEmail(store.id, address);
    return yield* linkCustomer(store.id, found, storefrontId);
  });
  return customerRecordOf(ctx.keys.publicIds, linked);
}

function show(row: CustomerRecord, { json }: Options): void {
  if (json) printJson(row);
  else printFields(row);
}
