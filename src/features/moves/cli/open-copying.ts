/**
 * Moves a store out of a file while it is open: copies its rows, then those that have changed since, compares both sides in
 * one state of the source, and closes the store only for its last changes.
 */

import assert from 'node:assert/strict';
import {
  applyStep,
  differingTables,
  readStep,
  takeFigures,
  verifyChanged,
  type CopyStep,
  type StepWish,
} from '../service/moving-changes.ts';
import {
  closeStore,
  failArrival,
  findArrival,
  recordMoved,
  type ArrivalCommand,
  type MovedStore,
  type StoreInventory,
} from '../service/store-copy.ts';
import { appendEntries } from '../../proofs/service/log.ts';
import type { StoreState } from '../storage/store-copy.ts';
import { beginRecording, deleteChanges, endRecording, findLastChange } from '../storage/moving-changes.ts';
import type { Key, Table } from '../../../database/sql/table.ts';
import type { Storage } from '../../../database/storage.ts';
import { lastStoreKey, type StoreTables } from '../../../core/stores/storage/table.ts';
import { atTarget, fromSource, nameSide } from './copy-sides.ts';
import { compareSides, countAll, learn, openInTarget, prepareTarget, type Arrival } from './store-arrival.ts';
import { closeFully, openAgain } from './store-closing.ts';
import { commandOf, noted, type Move, type MoveOutcome } from './moving.ts';

/** Changes that a step reads, apart from the step that is compared and the last ones. */
const stepMax = 1_000;
/** The changes are caught up with until a pass is as short as this, but at most so often. */
const passMs = 500;
const passesMax = 10;

/** The tables of a store, each after those that it references. */
export function allTables({ stores, ofStore }: StoreTables): readonly Table[] {
  return [stores, ...ofStore];
}

/** Ends the recording of the changes of a store. @returns whether there was one. */
export async function endRecordingOf(storage: Storage, storeId: number): Promise<boolean> {
  const isEnded = await storage.write(() => endRecording(storeId));
  if (isEnded) while (await storage.write(() => deleteChanges(storeId)));
  return isEnded;
}

type OpenMove = {
  readonly tables: StoreTables;
  readonly state: StoreState;
  /** The id of the recording of its changes; undefined: they are not recorded. */
  readonly recording: number | undefined;
};

/** Moves a store that is open, or was closed by an interrupted run. */
export async function moveWhileOpen(
  move: Move,
  { tables, state, recording }: OpenMove,
): Promise<MoveOutcome> {
  const { domain, source, target } = move;
  let isOpen = state.status === 'open';
  try {
    isOpen ||= await openAgain(source.storage, domain);
    const command = await beginCopy(move, { tables, state, recording });
    const resumed = await prepareTarget(move, { command, tables });
    await nameSide('source', appendEntries(source));
    const copy = new OpenCopy(move, { command, tables });
    const copied = await copy.copyTables();
    await copy.catchUp();
    const { inventory, differences } = await copy.compareAll();
    const outcome = { resumed, copied, source: inventory, reordered: 0 };
    if (differences.length === 0) {
      // The logs of both sides are completed and copied while the store is still open.
      await nameSide('source', appendEntries(source));
      await copy.catchUp();
      await atTarget(appendEntries(target));
      isOpen = false;
      const closed = await closeAndConclude(move, { command, tables, copy });
      isOpen = closed.late.length > 0;
      if (!isOpen) {
        await openInTarget(move, command);
        const closedSeconds = (source.ctx.clock.now() - closed.store.closedAt) / 1_000;
        await endRecordingOf(source.storage, state.id);
        return { ...outcome, closedSeconds, isSourceOpen: false, differences };
      }
      differences.push(...closed.late);
    }
    await atTarget(target.storage.write(() => failArrival(target.ctx, command)));
    return { ...outcome, closedSeconds: 0, isSourceOpen: true, differences };
  } catch (error) {
    if (!isOpen) isOpen = await openAgain(source.storage, domain).catch(() => false);
    throw noted(
      error,
      isOpen
        ? `${domain} is open in the source, and its changes are recorded: run the same command again to continue, or give up the move with "largesse store reopen"`
        : `${domain} is closed: run the same command again to continue`,
    );
  }
}

/**
 * Records the changes of the store from now on, unless a copy in the target continues from an earlier run.
 * @returns the copy, with the id of the recording instead of the time of a closing.
 */
async function beginCopy(move: Move, { tables, state, recording }: OpenMove): Promise<ArrivalCommand> {
  const { ctx, storage } = move.source;
  if (recording !== undefined) {
    const command = await commandOf(move, { ...state, closedAt: recording });
    const { store, source } = command;
    if ((await atTarget(move.target.storage.read(() => findArrival(store, source)))) === 'continued')
      return command;
  }
  // Not the time: a clock can be set back.
  const id = ctx.random.id();
  await nameSide('source', endRecordingOf(storage, state.id));
  // An interrupted end can have left changes.
  while (
    await nameSide(
      'source',
      storage.write(() => deleteChanges(state.id)),
    )
  );
  await nameSide(
    'source',
    storage.write(() => beginRecording(state.id, { tables: allTables(tables), recording: id })),
  );
  return await commandOf(move, { ...state, closedAt: id });
}

/**
 * Closes the store, copies its last changes, and records that it was moved.
 * @returns what differs. Then the store is open again.
 */
async function closeAndConclude(
  move: Move,
  { tables, copy }: Arrival & { readonly copy: OpenCopy },
): Promise<{ readonly store: MovedStore; readonly late: readonly string[] }> {
  const { source, target, domain } = move;
  const store = await nameSide(
    'source',
    source.storage.write(() => closeStore(source.ctx, domain)),
  );
  await closeFully(move, { store, tables });
  const late = await copy.conclude();
  if (late.length > 0) await openAgain(source.storage, domain);
  else
    await nameSide(
      'source',
      source.storage.write(() => recordMoved(store, target.shown)),
    );
  return { store, late };
}

/** The copy of a store whose changes are recorded. */
class OpenCopy {
  readonly #move: Move;
  readonly #arrival: Arrival;
  readonly #all: readonly Table[];
  readonly #wallets: Table;
  /** The last recorded change that was read. */
  #last = 0;
  /** Keys of a complete table that changed while it was copied. */
  #also = new Map<string, ReadonlySet<string>>();
  /** Tables with a row that is not what was written, and cards that have changed, since all was compared. */
  readonly #differing = new Set<string>();
  readonly #changedCards = new Set<bigint>();

  constructor(move: Move, arrival: Arrival) {
    this.#move = move;
    this.#arrival = arrival;
    this.#all = allTables(arrival.tables);
    const wallets = this.#all.find(({ name }) => name === 'wallet_cards');
    assert(wallets, 'there is no table wallet_cards');
    this.#wallets = wallets;
  }

  /** Copies the rows that the target does not have, and those that change in tables that are complete. */
  async copyTables(): Promise<MoveOutcome['copied']> {
    const { source, target, progress } = this.#move;
    const { command, tables } = this.#arrival;
    const startedAt = performance.now();
    const { id } = command.store;
    const total = await fromSource(source.storage, () => countAll(tables, id));
    const done = await atTarget(target.storage.read(() => countAll(tables, id)));
    progress.begin('copied', { total, done });
    let [rows, rowsBefore] = [0, 0];
    const steps = this.#readPages();
    for (let reading = steps.next(); ;) {
      const read = await reading;
      if (read.done === true) break;
      // The next step is read while this one is written.
      reading = steps.next();
      reading.catch(() => undefined);
      await this.#apply(read.value);
      const { page } = read.value;
      rows += page?.rows.rows.length ?? 0;
      progress.reach(done + rows);
      if (page && !page.rows.next && rows > rowsBefore) {
        await atTarget(learn(target.storage, page.table));
        rowsBefore = rows;
      }
    }
    progress.end();
    return { rows, seconds: (performance.now() - startedAt) / 1_000 };
  }

  /** Copies what has changed, until little is left. */
  async catchUp(): Promise<void> {
    const { id } = this.#arrival.command.store;
    for (let pass = 0; pass < passesMax; pass += 1) {
      const startedAt = performance.now();
      const until = await fromSource(this.#move.source.storage, () => findLastChange(id));
      do await this.#apply(await this.#read({ limit: stepMax }));
      while (this.#last < until);
      if (performance.now() - startedAt < passMs) return;
    }
  }

  /** Compares all rows in one state of the source, and verifies the ledger. */
  async compareAll(): Promise<{ readonly inventory: StoreInventory; readonly differences: string[] }> {
    const wish = { after: this.#last, limit: Number.MAX_SAFE_INTEGER, also: this.#also };
    const compared = await compareSides(this.#move, this.#arrival, {
      first: () => readStep(this.#arrival.command, this.#all, wish),
      between: async (step) => {
        this.#last = step.last;
        this.#also = new Map();
        await this.#apply(step);
        this.#differing.clear();
        this.#changedCards.clear();
      },
    });
    return { inventory: compared.inventory, differences: [...compared.differences] };
  }

  /**
   * Copies the last changes of the closed store. Returns what differs: of the rows that have changed since all were compared,
   * of their cards, or of the numbers of rows and the sum of the balances.
   */
  async conclude(): Promise<readonly string[]> {
    const { source, target } = this.#move;
    const { command, tables } = this.#arrival;
    const { id } = command.store;
    for (let count = stepMax; count === stepMax;) {
      const step = await this.#read({ limit: stepMax });
      count = step.count;
      await this.#apply(step);
    }
    const figures = await fromSource(source.storage, () => takeFigures(id, tables));
    const copied = await atTarget(target.storage.read(() => takeFigures(id, tables)));
    const problems = await atTarget(target.storage.read(() => verifyChanged(id, [...this.#changedCards])));
    const numbers = tables.ofStore.filter((_, place) => figures.rows[place] !== copied.rows[place]);
    return [
      ...[...this.#differing].map((name) => `${name} has different content in the source and in the target`),
      ...numbers.map(({ name }) => `${name} has another number of rows in the source and in the target`),
      ...(figures.outstanding === copied.outstanding ? [] : ['the totals of the stores differ']),
      ...problems.map((problem) => `target: ${problem}`),
    ];
  }

  /** Reads the pages of all tables, one after another. */
  async *#readPages(): AsyncGenerator<CopyStep, void> {
    // The row of the store was inserted before.
    const [stores, ...others] = this.#all;
    const begun = new Map<string, Key>();
    for (const table of others) {
      const key = await this.#findLastKey(table);
      if (key) begun.set(table.name, key);
    }
    const waiting = new Map<string, Set<string>>();
    const complete = stores ? [stores] : [];
    for (const table of others) {
      let after = begun.get(table.name);
      for (let isComplete = false; !isComplete;) {
        const step: CopyStep = await this.#read({ complete, limit: stepMax, page: { table, after } });
        for (const [name, keys] of step.waiting) {
          // A table that is empty in the target is read later, with its changes.
          if (name !== table.name && !begun.has(name)) continue;
          const ofTable = waiting.get(name) ?? new Set();
          for (const key of keys) ofTable.add(key);
          waiting.set(name, ofTable);
        }
        yield step;
        after = step.page?.rows.next ?? after;
        isComplete = step.page !== undefined && step.page.rows.next === undefined;
      }
      complete.push(table);
      this.#also = new Map([[table.name, waiting.get(table.name) ?? new Set()]]);
      waiting.delete(table.name);
    }
  }

  async #findLastKey(table: Table): Promise<Key | undefined> {
    const { id } = this.#arrival.command.store;
    return await atTarget(this.#move.target.storage.read(() => lastStoreKey(table, id)));
  }

  /** Reads the next step. */
  async #read(wish: Omit<StepWish, 'after' | 'also'>): Promise<CopyStep> {
    const step = await fromSource(this.#move.source.storage, () =>
      readStep(this.#arrival.command, this.#all, { ...wish, after: this.#last, also: this.#also }),
    );
    this.#last = step.last;
    this.#also = new Map();
    return step;
  }

  /** Writes a step, and compares the changed rows with what was written. */
  async #apply(step: CopyStep): Promise<void> {
    const { storage } = this.#move.target;
    const { changes, page } = step;
    if (changes.length === 0 && (page?.rows.rows.length ?? 0) === 0) return;
    await atTarget(storage.write(() => applyStep(this.#arrival.command, step, this.#wallets)));
    if (changes.length === 0) return;
    for (const name of await atTarget(storage.read(() => differingTables(changes))))
      this.#differing.add(name);
    for (const { keys } of changes.filter(({ table }) => table.name === 'gift_cards'))
      for (const [, cardId] of keys) if (typeof cardId === 'bigint') this.#changedCards.add(cardId);
  }
}
