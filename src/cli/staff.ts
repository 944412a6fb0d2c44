/** `largesse staff invite|list` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { readConfig, readDatabaseConfig } from '../config.ts';
import { openDatabase } from '../database.ts';
import { formatInstantOrNull } from '../domain/day.ts';
import { parseEmail, type EmailAddress } from '../domain/email-address.ts';
import { isRole, parseStaffName, roles, type Role, type StaffMember } from '../domain/staff.ts';
import { createLink, inviteStaff, recordAction } from '../service/staff.ts';
import { findAccountByEmail, listStaff } from '../storage/staff.ts';
import { chooseStore, storeOption } from './choose-store.ts';
import { print, printJson, printTable, type OutputRow } from './output.ts';

type Options = {
  readonly store?: string;
  readonly role: Role;
  readonly name?: string;
  readonly json?: boolean;
};

function readEmail(text: string): EmailAddress {
  const address = parseEmail(text);
  if (!address.ok) throw new InvalidArgumentError(`An email ${address.error}.`);
  return address.value;
}

function readRole(text: string): Role {
  if (!isRole(text)) throw new InvalidArgumentError(`It must be one of ${roles.join(', ')}.`);
  return text;
}

function readStaffName(text: string): string {
  const name = parseStaffName(text);
  if (!name.ok) throw new InvalidArgumentError(`A name ${name.error}.`);
  return name.value;
}

export function addStaffCommands(root: Command): void {
  const staff = root.command('staff').description('manage the people who use the pages of a store');

  staff
    .command('invite')
    .description('create a link to join, or for a person who has joined, a link for a new password')
    .argument('<email>', 'such as ada@flowers.example', readEmail)
    .addOption(new Option('--role <role>', roles.join(', ')).argParser(readRole).default('owner'))
    .addOption(new Option('--name <name>', "the person's name").argParser(readStaffName))
    .addOption(storeOption('the store of the person'))
    .option('--json', 'print JSON')
    .action(async (email: EmailAddress, options: Options) => {
      const { publicUrl, port, basePath } = readConfig();
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const { member, token } = await storage.write(function* invite() {
        const { store } = yield* chooseStore(options.store);
        const account = yield* findAccountByEmail(store, email);
        if (account && account.member.joinedAt !== null) {
          const { member: joined } = account;
          const entry = { storeId: store.id, subjectId: joined.id, details: { link: true } };
          yield* recordAction(ctx, null, { ...entry, action: 'staff-invited' });
          return { member: joined, token: yield* createLink(ctx, joined, null) };
        }
        const name = options.name ?? email.address.split('@', 1)[0] ?? email.address;
        const limits = { saleLimit: null, refundLimit: null };
        return yield* inviteStaff(ctx, { store, by: null, name, email, role: options.role, ...limits });
      });
      const origin = publicUrl?.origin ?? `http://localhost:${port}`;
      const link = `${origin}${basePath}/join/${token.reveal()}`;
      if (options.json) printJson({ ...rowOf(member), link });
      else print(`${link}\nThe link works once, for seven days.`);
    });

  staff
    .command('list')
    .description('list the people of a store')
    .addOption(storeOption('the store'))
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const members = await database.storage.read(function* list() {
        const { store } = yield* chooseStore(options.store);
        return yield* listStaff(store);
      });
      const rows = members.map(rowOf);
      if (options.json) printJson(rows);
      else printTable(rows, { none: 'There are no people.' });
    });
}

function rowOf({ name, email, role, joinedAt, disabledAt }: StaffMember): OutputRow {
  return {
    name,
    email,
    role,
    joined_at: formatInstantOrNull(joinedAt),
    disabled_at: formatInstantOrNull(disabledAt),
  };
}
