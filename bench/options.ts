/** The command line, and the plan of a run that follows from it. */

import { parseArgs } from 'node:util';
import { operationNames, type OperationName } from './operations.ts';
import type { EngineName } from './results.ts';

export type Plan = {
  readonly engines: readonly EngineName[];
  /** Cards in the database before anything is measured: one fixture for each number. */
  readonly cards: readonly number[];
  readonly operations: readonly OperationName[];
  readonly connections: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  /** Requests of each operation before its first round, so that the code is compiled. */
  readonly warmUpRequests: number;
  /** The same for the first operation, whose requests also compile what all operations share. */
  readonly firstWarmUpRequests: number;
  /** Cards that are issued in batches, in an empty database; 0: none. */
  readonly importCards: number;
  /** Length of each open loop, and of the time without requests. */
  readonly openLoopSeconds: number;
  /** Rounds in a store whose other cards use features that the measured cards do not; 0: none. */
  readonly featureRounds: number;
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
  /** The folder or commit whose service runs in turn with this one, instead of the baseline. */
  readonly against: string | null;
};

/** The results that the repository keeps. */
export const recordedFile = 'bench/recorded.json';

/** Fewer rounds or warm-up requests are not enough for a record. */
export const roundsMin = 15;
export const warmUpRequestsMin = 50_000;

const engineNames: readonly EngineName[] = ['embedded', 'postgres'];
const fewCards = 10_000;
const usualCards = [fewCards, 1_000_000];
const fullCards = [...usualCards, 10_000_000];
/** Two services that hardly differ need more rounds than a service and the baseline. */
const roundsAgainst = 21;
const secondsPerRound = 0.3;
/** An effect near 0 needs more rounds than others. */
const featureRounds = { quick: 21, usual: 61 } as const;
const openLoopSeconds = { usual: 10, quick: 2 } as const;
/** Fewer cards than these hardly say how long a million take. */
const importCards = { quick: 10_000, usual: 100_000, full: 1_000_000 } as const;
/** By then the first operation has compiled most of the code. */
const quickWarmUpRequests = 10_000;

/** @throws Error that names the option and what it accepts. */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      engine: { type: 'string' },
      cards: { type: 'string' },
      operation: { type: 'string', multiple: true, default: [] },
      import: { type: 'string' },
      features: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      connections: { type: 'string', default: '64' },
      from: { type: 'string', multiple: true, default: [] },
      json: { type: 'string' },
      record: { type: 'boolean', default: false },
      compare: { type: 'boolean', default: false },
      against: { type: 'string' },
    },
    allowPositionals: true,
  });
  const [compared, ...others] = positionals;
  if (others.length > 0 || (compared !== undefined && !values.compare))
    throw new Error(`unknown argument ${positionals.join(' ')}: only --compare accepts a file`);
  if (values.against !== undefined && (values.compare || values.record || values.from.length > 0))
    throw new Error('--against excludes --compare, --record and --from');
  const rounds = values.against === undefined ? roundsMin : roundsAgainst;
  const warmUp = values['warm-up'];
  const warmUpRequests =
    warmUp === undefined ? warmUpRequestsMin : integer('warm-up', { text: warmUp, minimum: 0 });
  const plan: Plan = {
    engines: enginesOf(values),
    cards: cardsOf(values),
    operations: operationsOf(values.operation, values.against !== undefined),
    connections: integer('connections', { text: values.connections, minimum: 1 }),
    rounds: integer('rounds', { text: values.rounds ?? String(rounds), minimum: 1 }),
    secondsPerRound: positive('seconds', values.seconds ?? String(secondsPerRound)),
    warmUpRequests: values.quick ? Math.min(quickWarmUpRequests, warmUpRequests) : warmUpRequests,
    firstWarmUpRequests: warmUpRequests,
    importCards: importCardsOf(values),
    openLoopSeconds: openLoopSeconds[values.quick ? 'quick' : 'usual'],
    featureRounds: featureRoundsOf(values),
  };
  return {
    plan,
    from: values.from,
    json: values.json ?? null,
    record: values.record,
    compareWith: values.compare ? (compared ?? recordedFile) : null,
    against: values.against ?? null,
  };
}

type Values = {
  readonly quick: boolean;
  readonly full: boolean;
  readonly compare: boolean;
  readonly against?: string | undefined;
  readonly cards?: string | undefined;
  readonly engine?: string | undefined;
  readonly import?: string | undefined;
  readonly features?: string | undefined;
  readonly operation: readonly string[];
};

/** A comparison uses the smallest fixture, unless the run is about the number of cards. */
function cardsOf({ cards, quick, full, compare, against }: Values): readonly number[] {
  if (cards === 'none') return [];
  if (cards !== undefined) return cards.split(',').map((text) => integer('cards', { text, minimum: 1 }));
  if (full) return fullCards;
  return quick || compare || against !== undefined ? [fewCards] : usualCards;
}

/** A comparison, and a run of chosen operations, import nothing. */
function importCardsOf({ import: chosen, quick, full, compare, against, operation }: Values): number {
  if (chosen !== undefined) return integer('import', { text: chosen, minimum: 0 });
  if (compare || against !== undefined || operation.length > 0) return 0;
  if (full) return importCards.full;
  return quick ? importCards.quick : importCards.usual;
}

/** A comparison, and a run of chosen operations, measure none. */
function featureRoundsOf({ features: chosen, quick, compare, against, operation }: Values): number {
  if (chosen !== undefined) return integer('features', { text: chosen, minimum: 0 });
  if (compare || against !== undefined || operation.length > 0) return 0;
  return featureRounds[quick ? 'quick' : 'usual'];
}

function enginesOf({ engine, quick }: Values): readonly EngineName[] {
  const chosen = engineNames.filter((name) =>
    engine === undefined ? !quick || name === 'embedded' : name === engine,
  );
  if (chosen.length === 0) throw new Error(`--engine must be one of ${engineNames.join(', ')}`);
  return chosen;
}

/** In the order in which they are measured. Lists are compared on request only: earlier versions do not have them. */
function operationsOf(names: readonly string[], isComparison: boolean): readonly OperationName[] {
  const unknown = names.find((name) => !operationNames.some((known) => known === name));
  if (unknown !== undefined)
    throw new Error(`--operation ${unknown} must be one of ${operationNames.join(', ')}`);
  return operationNames.filter((name) =>
    names.length === 0 ? name !== 'list' || !isComparison : names.includes(name),
  );
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`--${name} must be a number greater than 0`);
  return number;
}

function integer(
  name: string,
  { text, minimum }: { readonly text: string; readonly minimum: number },
): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < minimum)
    throw new Error(`--${name} must be an integer from ${minimum}`);
  return number;
}
