/**
 * Kills a service repeatedly while customers use every operation on their cards, and compares the
 * acknowledged requests with the database.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Environment } from '../support/engine-database.ts';
import { engine } from '../support/engine.ts';
import { newCustomer, nothingAcknowledged, type Acknowledged, type Customer } from './customer.ts';
import { newStore } from './open-books.ts';
import { openMoneyClient, type MoneyClient } from './client.ts';
import { commandLine, sourceCommandLine } from '../support/program.ts';

export type CrashPlan = {
  readonly rounds: number;
  readonly random: () => number;
  /** The time until the service is killed, in ms. */
  readonly killAfter?: { readonly min: number; readonly max: number };
  /** Modules that are loaded before the service, such as one that replaces a part of it. */
  readonly imports?: readonly string[];
};

export type CrashReport = {
  /** Lost requests, repeated requests, and errors of the ledger. */
  readonly complaints: readonly string[];
  readonly acknowledged: number;
  /** Requests without a response, and how many of them were executed. */
  readonly left: number;
  readonly done: number;
};

const customersAtOnce = 16;
const sharedCards = 3;

export async function crash({
  rounds,
  random,
  killAfter = { min: 30, max: 800 },
  imports = [],
}: CrashPlan): Promise<CrashReport> {
  await using made = await engine.createDatabase();
  const environment = { ...made.environment, PORT: '0', RATE_LIMIT: 'off' };
  const complaints: string[] = [];
  const complain = (complaint: string): void => void complaints.push(complaint);
  const acknowledged = nothingAcknowledged();
  let left = 0;
  let done = 0;
  const token = await openStore(environment);
  let customers: readonly Customer[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const { process: service, url } = await serve(environment, imports);
    try {
      const client = openMoneyClient(url, token);
      if (round === 0) {
        const shared = await issueShared(client, acknowledged);
        customers = Array.from({ length: customersAtOnce }, (_, place) =>
          newCustomer(`customer-${place}`, { shared, acknowledged, random, complain }),
        );
      }
      left += customers.filter((customer) => customer.open()).length;
      const decided = await Promise.all(customers.map((customer) => customer.decide(client)));
      done += decided.filter(Boolean).length;
      await compare(environment, acknowledged, { openRequests: 0, complain });
      if (round === rounds) break;

      const working = Promise.all(customers.map((customer) => customer.work(client)));
      await wait(killAfter.min + random() * (killAfter.max - killAfter.min));
      service.kill('SIGKILL');
      await working;
    } finally {
      await end(service);
    }
    const openRequests = customers.filter((customer) => customer.open()).length;
    await compare(environment, acknowledged, { openRequests, complain });
  }
  return { complaints, acknowledged: acknowledged.requests, left, done };
}

async function openStore(environment: Environment): Promise<string> {
  await using database = await openDatabase(readConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, { ...newStore, issueLimit: null }));
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}

async function issueShared(client: MoneyClient, { balances }: Acknowledged): Promise<readonly number[]> {
  for (let made = 0; made < sharedCards; made += 1) {
    const { card } = await client({ line: 'POST /gift_card', json: { initial_value: '1000.00' } });
    if (card) balances.set(card.id, card.balance);
  }
  return [...balances.keys()];
}

async function serve(
  environment: Environment,
  imports: readonly string[],
): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const options = imports.flatMap((path) => ['--import', path]);
  const program = imports.length > 0 ? sourceCommandLine : commandLine;
  const { NODE_OPTIONS } = process.env;
  const child = spawn(process.execPath, [...options, program, 'serve'], {
    env: { ...(NODE_OPTIONS !== undefined && { NODE_OPTIONS }), ...environment, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const url = new Promise<string>((resolve, reject) => {
    const hear = (part: Buffer): void => {
      said += part.toString();
      const [, address] = /"url":"([^"]+)".*"largesse serves"/.exec(said) ?? [];
      if (address !== undefined) resolve(address);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', () => reject(new Error(`the service ended: ${said}`)));
  });
  return { process: child, url: await url };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** The content of the database, while the service runs or after it. */
function* stored(): Script<{
  readonly mismatches: readonly unknown[];
  readonly cards: readonly { id: bigint; balance: bigint; disabled_at: bigint | null }[];
  readonly transfers: readonly { id: bigint; kind: string; effect: bigint }[];
  readonly holds: readonly { id: bigint; status: string }[];
}> {
  const { mismatches } = yield* verify(5);
  return {
    mismatches,
    cards: yield* all(sql`select id, balance, disabled_at from gift_cards`),
    transfers: yield* all(sql`
      select id, kind, case credit_account when 'card' then amount else -amount end as effect from transfers`),
    holds: yield* all(sql`select id, status from holds`),
  };
}

/**
 * Compares the acknowledged requests with the database. It can contain as many more as have no response.
 * Verifying the ledger shows that none of them is partly executed.
 */
async function compare(
  environment: Environment,
  acknowledged: Acknowledged,
  { openRequests, complain }: { readonly openRequests: number; readonly complain: (complaint: string) => void },
): Promise<void> {
  await using database = await openDatabase(readConfig(environment), { prepare: false });
  const { mismatches, cards, transfers, holds } = await database.storage.read(stored);
  if (mismatches.length > 0) complain(`the ledger does not agree: ${JSON.stringify(mismatches)}`);

  const { publicIds } = database.ctx.keys;
  const publicId = (id: bigint): number => publicIds.of(Number(id));
  const effects = new Map(transfers.map(({ id, effect }) => [publicId(id), effect]));
  for (const [id, { card, amount }] of acknowledged.transactions) {
    if (effects.get(id) !== amount) complain(`lost: transaction ${id} of ${amount} on the card ${card}`);
  }
  const count = (...kinds: readonly string[]): number =>
    transfers.filter(({ kind }) => kinds.includes(kind)).length;
  const there = {
    transactions: count('debit', 'credit', 'capture', 'reversal'),
    adjustments: count('adjustment'),
    cards: cards.length,
    holds: holds.length,
  };
  const confirmed = {
    transactions: acknowledged.transactions.size,
    adjustments: acknowledged.adjustments,
    cards: acknowledged.balances.size,
    holds: acknowledged.holds.size,
  };
  const others = Object.keys(confirmed).map((name) => there[name as keyof typeof confirmed] - confirmed[name as keyof typeof confirmed]);
  if (others.some((more) => more < 0) || others.reduce((sum, more) => sum + more, 0) > openRequests)
    complain(`${JSON.stringify(confirmed)} were acknowledged, ${openRequests} have no response, ${JSON.stringify(there)} are stored`);
  // The exact state of each card and hold is known once no request is open.
  if (openRequests > 0) return;
  const held = new Map(holds.map(({ id, status }) => [publicId(id), status]));
  for (const [id, status] of acknowledged.holds) {
    if (held.get(id) !== status) complain(`the hold ${id} is ${held.get(id)}, not ${status}`);
  }
  const balances = new Map(cards.map((card) => [publicId(card.id), card]));
  for (const [id, balance] of acknowledged.balances) {
    const card = balances.get(id);
    if (card?.balance !== balance) complain(`the card ${id} has ${card?.balance}, not ${balance}`);
    if (card && (card.disabled_at !== null) !== acknowledged.disabled.has(id)) complain(`the card ${id} is disabled, or not, unlike its acknowledged state`);
  }
} // prettier-ignore
