/** The command line, and the plan of a run that follows from it. */

import { parseArgs } from 'node:util';
import type { EngineName } from './results.ts';

export type Plan = {
  readonly engines: readonly EngineName[];
  /** Cards in the database before anything is measured: one fixture for each number. */
  readonly cards: readonly number[];
  readonly connections: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  /** Requests of each operation before its first round, so that the code is compiled. */
  readonly warmUpRequests: number;
  /** Length of the open loop at half capacity. */
  readonly openLoopSeconds: number;
};

export type Command = {
  readonly plan: Plan;
  /** Files with results of earlier runs, to be shown instead of a new run. */
  readonly from: readonly string[];
  /** The file that receives the results. */
  readonly json: string | null;
  /** Whether the results are recorded and `docs/performance.md` is written. */
  readonly record: boolean;
  /** The file with the results that the new ones are compared with. */
  readonly compareWith: string | null;
};

/** The results that the repository keeps. */
export const recordedFile = 'bench/recorded.json';

/** Fewer rounds or warm-up requests are not enough for a record. */
export const roundsMin = 15;
export const warmUpRequestsMin = 50_000;

const engineNames: readonly EngineName[] = ['embedded', 'postgres'];
const usual = { cards: [10_000, 1_000_000], rounds: 15, seconds: 0.4 } as const;
const quickly = { cards: [10_000], rounds: 3, seconds: 0.3 } as const;
const fullCards = 10_000_000;

/** @throws Error that names the option and what it accepts. */
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
      connections: { type: 'string', default: '64' },
      from: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      compare: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const [compared, ...others] = positionals;
  if (others.length > 0 || (compared !== undefined && !values.compare))
    throw new Error(`unknown argument ${positionals.join(' ')}: only --compare accepts a file`);
  const { quick, compare } = values;
  const defaults = quick ? quickly : usual;
  const plan: Plan = {
    engines: enginesOf(values.engine),
    cards: cardsOf(values),
    connections: positiveInteger('connections', values.connections),
    rounds: positiveInteger('rounds', values.rounds ?? String(defaults.rounds)),
    secondsPerRound: positive('seconds', values.seconds ?? String(defaults.seconds)),
    warmUpRequests: quick ? 3_000 : warmUpRequestsMin,
    openLoopSeconds: quick ? 1 : 10,
  };
  return {
    plan,
    from: values.from,
    json: values.json ?? null,
    record: values.record,
    compareWith: compare ? (compared ?? recordedFile) : null,
  };
}

/** The cost of a request changes little with the number of cards, so a comparison uses the smallest fixture. */
function cardsOf(values: {
  readonly cards?: string | undefined;
  readonly quick: boolean;
  readonly full: boolean;
  readonly compare: boolean;
}): readonly number[] {
  if (values.cards !== undefined)
    return values.cards.split(',').map((text) => positiveInteger('cards', text));
  if (values.full) return [...usual.cards, fullCards];
  return values.quick || values.compare ? quickly.cards : usual.cards;
}

function enginesOf(name: string | undefined): readonly EngineName[] {
  const chosen = engineNames.filter((engine) => name === undefined || name === engine);
  if (chosen.length === 0) throw new Error(`--engine must be one of ${engineNames.join(', ')}`);
  return chosen;
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`--${name} must be a number greater than 0`);
  return number;
}

function positiveInteger(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`--${name} must be an integer from 1`);
  return number;
}
