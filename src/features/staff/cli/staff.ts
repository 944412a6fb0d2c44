/** `largesse staff invite|list|limit|disable|enable` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { readConfig, readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { formatInstantOrNull } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import {
  isRole,
  parseStaffName,
  roles,
  type Role,
  type StaffMember,
} from '../../../core/staff/domain/staff.ts';
import {
  changeStaff,
  createLink,
  inviteStaff,
  recordAction,
  type StaffChanges,
} from '../../../core/staff/service/staff.ts';
import { listStaff } from '../../../core/staff/storage/staff.ts';
import { chooseStore, openStore, storeOption } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { idParser } from '../../../cli/read.ts';

type Options = {
  readonly store?: string;
  readonly role?: Role;
  readonly name?: string;
  readonly json?: boolean;
};

type LimitOptions = {
  readonly store?: string;
  readonly location?: readonly number[];
  readonly everywhere?: boolean;
};

const readLocation = idParser('location list');

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
    .addOption(
      new Option(
        '--role <role>',
        `${roles.join(', ')}; required for a new person, except for the first owner`,
      ).argParser(readRole),
    )
    .addOption(new Option('--name <name>', "the person's name").argParser(readStaffName))
    .addOption(storeOption('the store of the person'))
    .option('--json', 'print JSON')
    .action(invite);

  for (const [name, disabled, description] of [
    ['disable', true, 'disable a person, who is signed out everywhere'],
    ['enable', false, 'enable a person who was disabled'],
  ] as const)
    staff
      .command(name)
      .description(description)
      .argument('<email>', 'such as ada@flowers.example', readEmail)
      .addOption(storeOption('the store of the person'))
      .action(async (email: EmailAddress, options: Pick<Options, 'store'>) => {
        await changePerson(email, options.store, { disabled });
        print(`${email.address} is ${name}d.`);
      });

  staff
    .command('limit')
    .description(
      'limit a person to locations, or let the person work at all of them; the person is signed out',
    )
    .argument('<email>', 'such as ada@flowers.example', readEmail)
    .addOption(
      new Option('--location <id...>', 'the locations at which the person works').argParser(
        (text: string, before: readonly number[] | undefined) => [...(before ?? []), readLocation(text)],
      ),
    )
    .addOption(new Option('--everywhere', 'the person works at all locations').conflicts('location'))
    .addOption(storeOption('the store of the person'))
    .action(limit);

  staff
    .command('list')
    .description('list the people of a store')
    .addOption(storeOption('the store'))
    .option('--json', 'print JSON')
    .action(list);
}

async function invite(email: EmailAddress, options: Options): Promise<void> {
  const { publicUrl, port, basePath } = readConfig();
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { ctx, storage } = database;
  let replaced: Role | undefined;
  const { member, token } = await storage.write(function* () {
    const { store } = yield* chooseStore(options.store);
    const members = yield* listStaff(store);
    const existing = members.find(isAt(email));
    const hasOwner = members.some(isActiveOwner);
    if (existing && existing.disabledAt !== null)
      throw new CommandError(`${existing.email} is disabled: run \`largesse staff enable\` first`);
    if (existing && existing.joinedAt !== null) {
      if (options.role !== undefined && options.role !== existing.role)
        throw new CommandError(
          `${existing.email} has joined as ${existing.role}: an owner changes the role on the page Staff`,
        );
      const entry = { storeId: store.id, subjectId: existing.id, details: { link: true } };
      yield* recordAction(ctx, null, { ...entry, action: 'staff-invited' });
      return { member: existing, token: yield* createLink(ctx, existing, null) };
    }
    const name = options.name ?? existing?.name ?? email.address.split('@', 1)[0] ?? email.address;
    const role = options.role ?? existing?.role ?? (hasOwner ? undefined : 'owner');
    if (role === undefined)
      throw new CommandError(
        `no person of ${store.domain} has the email ${email.address}: to invite a new person, name the role, such as --role cashier`,
      );
    replaced = existing && existing.role !== role ? existing.role : undefined;
    const { saleLimit = null, refundLimit = null, locationIds = null } = existing ?? {};
    const limits = { saleLimit, refundLimit, locationIds };
    return yield* inviteStaff(ctx, { store, by: null, name, email, role, ...limits });
  });
  const origin = publicUrl?.origin ?? `http://localhost:${port}`;
  const link = `${origin}${basePath}/join/${token.reveal()}`;
  if (options.json) printJson({ ...rowOf(member), link });
  else {
    print(`${link}\nThe link works once, for seven days, for ${member.email} as ${member.role}.`);
    if (replaced !== undefined) print(`The earlier invitation as ${replaced} and its link have ended.`);
    if (!publicUrl)
      print(
        'It opens only in a browser on this machine. PORT must have the value that the service has; with PUBLIC_URL, the link opens elsewhere.',
      );
  }
}

async function limit(
  email: EmailAddress,
  { store: domain, location, everywhere }: LimitOptions,
): Promise<void> {
  if (!location && everywhere !== true)
    throw new CommandError('name the locations with --location, or use --everywhere');
  const changed = await changePerson(email, domain, { locationIds: location ?? null });
  const places = location ? `only at ${location.join(', ')}` : 'at all locations';
  print(`${changed.email} works ${places}.`);
}

async function list(options: Options): Promise<void> {
  await using database = await openStore(options.store);
  const { storage, store } = database;
  const rows = (await storage.read(() => listStaff(store))).map(rowOf);
  if (options.json) printJson(rows);
  else printTable(rows, { none: 'There are no people.' });
}

/** @throws CommandError if there is no such person, or the change is not possible. */
async function changePerson(
  email: EmailAddress,
  domain: string | undefined,
  changes: StaffChanges,
): Promise<StaffMember> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { ctx, storage } = database;
  return await storage.write(function* () {
    const { store } = yield* chooseStore(domain);
    const member = (yield* listStaff(store)).find(isAt(email));
    if (!member) throw new CommandError(`the store has no person with the email ${email.address}`);
    try {
      return yield* changeStaff(ctx, { store, id: member.id, changes, by: null });
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'invalid-parameter') throw error;
      const [message] = error.errors?.['locations'] ?? [];
      throw new CommandError(
        message === undefined
          ? `${member.email} is the only owner who can sign in`
          : `The locations ${message}`,
      );
    }
  });
}

/** Whether a member has the address. */
function isAt({ key }: EmailAddress): (member: StaffMember) => boolean {
  return (member) => {
    const address = parseEmail(member.email);
    return address.ok && address.value.key === key;
  };
}

function isActiveOwner({ role, joinedAt, disabledAt }: StaffMember): boolean {
  return role === 'owner' && joinedAt !== null && disabledAt === null;
}

function rowOf({ name, email, role, locationIds, joinedAt, disabledAt }: StaffMember): OutputRow {
  return {
    name,
    email,
    role,
    location_ids: locationIds?.join(' ') ?? null,
    joined_at: formatInstantOrNull(joinedAt),
    disabled_at: formatInstantOrNull(disabledAt),
  };
}
