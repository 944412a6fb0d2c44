/** What a run measures, read from the command line. */

import { parseArgs } from 'node:util';
import type { EngineName } from './results.ts';

export type Plan = {
  readonly engines: readonly EngineName[];
  /** Cards that are there before anything is measured: each number is a run of its own. */
  readonly cards: readonly number[];
  readonly rounds: number;
  /** Length of a round of the service. */
  readonly seconds: number;
  /** Length of a round of the bare server, which varies less. */
  readonly ceilingSeconds: number;
  /** Of mixed calls to new processes, before anything is measured. */
  readonly warmUpSeconds: number;
  /** Of an operation, before its first round. */
  readonly settleSeconds: number;
  readonly connections: number;
  readonly startUps: number;
  /** Connections of `pgbench`: a series for each number. */
  readonly pgbenchClients: readonly number[];
  /** Null: deliveries are not measured. */
  readonly delivery: DeliveryPlan | null;
};

export type DeliveryPlan = {
  /** That wait when the service starts. */
  readonly events: number;
  readonly rounds: number;
  readonly receiverAnswersAfterMs: number;
  /** At which callers ask meanwhile: half of them creations and half of them retrievals. */
  readonly requestsPerSecond: number;
  readonly seconds: number;
};

export type Command = {
  readonly plan: Plan;
  /** The results of earlier runs, joined, instead of a new run; none: a new one. */
  readonly from: readonly string[];
  /** Where the results go as JSON. */
  readonly json: string | null;
  /** Whether the results become the recorded ones, and the page in `docs/` is written. */
  readonly record: boolean;
  /** Results that the new ones may not be worse than. */
  readonly compareWith: string | null;
};

/** The results that the repository keeps. */
export const recordedFile = 'bench/recorded.json';

/** Processor time is counted in hundredths of a second. */
const ceilingSecondsMin = 0.4;
const settleSecondsMin = 0.2;

const engineNames: readonly EngineName[] = ['embedded', 'postgres'];
const usualCards = [10_000, 1_000_000] as const;
const fullCards = 10_000_000;
/** What a process of the service has to a database server, unless told otherwise. */
const serviceConnections: readonly number[] = [16];
const usualDelivery: DeliveryPlan = {
  events: 10_000,
  rounds: 3,
  receiverAnswersAfterMs: 5,
  requestsPerSecond: 200,
  seconds: 2,
};

const quickDelivery: DeliveryPlan = { ...usualDelivery, events: 4_000, rounds: 1, seconds: 1 };

/** What concerns the plan of all that may be on the command line. */
type Options = {
  readonly quick: boolean;
  readonly full: boolean;
  readonly compare: boolean;
  readonly engine?: string | undefined;
  readonly cards?: string | undefined;
  readonly rounds?: string | undefined;
  readonly seconds?: string | undefined;
  readonly connections?: string | undefined;
};

function planOf(options: Options): Plan {
  const { quick } = options;
  const engines = enginesOf(options.engine);
  const seconds = numberOf('seconds', options.seconds, quick ? 0.4 : 2);
  const connections = wholeOf('connections', options.connections ?? '64');
  return {
    engines,
    cards: cardsOf(options),
    rounds: wholeOf('rounds', options.rounds ?? (quick ? '2' : '5')),
    seconds,
    ceilingSeconds: Math.max(ceilingSecondsMin, seconds / 2),
    warmUpSeconds: quick ? 2 : 4,
    settleSeconds: Math.max(settleSecondsMin, seconds / 4),
    connections,
    startUps: quick ? 2 : 5,
    pgbenchClients: quick ? serviceConnections : [...serviceConnections, connections],
    delivery: deliveryOf(options, engines),
  };
}

function cardsOf({ cards, quick, full, compare }: Options): readonly number[] {
  if (cards !== undefined) return cards.split(',').map((text) => wholeOf('cards', text));
  if (full) return [...usualCards, fullCards];
  // What a request costs changes little with the number of cards: a comparison need not wait for a million.
  return quick || compare ? usualCards.slice(0, 1) : usualCards;
}

/** Deliveries are measured on the embedded engine, and are not compared. */
function deliveryOf({ quick, compare }: Options, engines: readonly EngineName[]): DeliveryPlan | null {
  if (compare || !engines.includes('embedded')) return null;
  return quick ? quickDelivery : usualDelivery;
}

/** @throws Error that names the option and what it takes. */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      engine: { type: 'string' },
      cards: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      from: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      compare: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [compared, ...others] = positionals;
  if (others.length > 0 || (compared !== undefined && !values.compare))
    throw new Error(`what is ${positionals.join(' ')}? Only --compare takes a file behind it`);
  const plan = planOf(values);
  return {
    plan,
    from: values.from,
    json: values.json ?? null,
    record: values.record,
    compareWith: values.compare ? (compared ?? recordedFile) : null,
  };
}

function enginesOf(name: string | undefined): readonly EngineName[] {
  const chosen = engineNames.filter((engine) => name === undefined || name === engine);
  if (chosen.length === 0) throw new Error(`--engine takes one of ${engineNames.join(', ')}`);
  return chosen;
}

function numberOf(name: string, text: string | undefined, usual: number): number {
  const number = text === undefined ? usual : Number(text);
  if (!(number > 0)) throw new Error(`--${name} takes a number greater than 0`);
  return number;
}

function wholeOf(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} takes whole numbers from 1`);
  return number;
}
