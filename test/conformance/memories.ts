/** Caches: a cached read returns the same rows as an uncached read. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReadCache, Storage } from '../../src/storage/storage.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { seeded, type Seeded } from '../support/seeded.ts';
import { addTo, counterOf, hasRow, insertRow } from '../support/row-counts.ts';

const names = ['one', 'two', 'three'];
const entriesMax = 2;

/** A counter that any engine increments: the acknowledged sum, and the sum of all started writes. */
type Tally = { acknowledged: number; started: number };

export function testMemories(factory: StorageFactory): void {
  test('a read that starts after an acknowledged write finds it, whichever process wrote', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    await using opened = await openMigrated(factory);
    const own = opened.storage;
    await using foreign = opened.database.open();
    for (const [index, name] of names.entries()) await own.write(() => insertRow(index + 1, name));
    const tallies = new Map(names.map((name): [string, Tally] => [name, { acknowledged: 0, started: 0 }]));
    const memory = own.memory<number>({ entriesMax });

    const caller = async (random: Seeded): Promise<void> => {
      for (let step = 0; step < 40; step += 1) {
        const name = names[random.between(0, names.length - 1)] ?? '';
        const tally = tallies.get(name);
        assert.ok(tally);
        const dice = random();
        if (dice < 0.6)
          for (let looks = random.between(1, 3); looks > 0; looks -= 1) await lookAt(memory, name, tally);
        else if (dice < 0.7) await failToAdd(own, name);
        else if (dice < 0.8) for (let turns = random.between(0, 3); turns > 0; turns -= 1) await turn();
        else await add(dice < 0.9 ? own : foreign, name, tally);
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, index) => caller(seeded(seed + index)))).catch(
      (error: unknown) => assert.fail(`seed ${seed}: ${String(error)}`),
    );
    for (const [name, { acknowledged }] of tallies)
      assert.equal(await memory.read(name, () => counterOf(name)), acknowledged);
  });

  test('a missing row is looked up each time', async () => {
    await using opened = await openMigrated(factory);
    const memory = opened.storage.memory<true>({ entriesMax });
    const look = () =>
      memory.read('one', function* () {
        return (yield* hasRow('one')) ? true : undefined;
      });
    assert.equal(await look(), undefined);
    await opened.storage.write(() => insertRow(1, 'one'));
    assert.equal(await look(), true);
  });

  test('an error of a script reaches its caller, and the next caller runs its own script', async () => {
    await using opened = await openMigrated(factory);
    const memory = opened.storage.memory<number>({ entriesMax });
    const defect = new TypeError('a defect');
    const failing = memory.read('one', function* () {
      yield* hasRow('one');
      throw defect;
    });
    await assert.rejects(failing, (caught) => caught === defect);
    await opened.storage.write(() => insertRow(1, 'one'));
    assert.equal(await memory.read('one', () => counterOf('one')), 0);
  });
}

async function lookAt(memory: ReadCache<number>, name: string, tally: Tally): Promise<void> {
  const acknowledged = tally.acknowledged;
  const found = memory.find(name) ?? (await memory.read(name, () => counterOf(name)));
  assert.ok(
    found !== undefined && found >= acknowledged && found <= tally.started,
    `${name} was ${found}, after ${acknowledged} and before ${tally.started}`,
  );
}

async function add(storage: Storage, name: string, tally: Tally): Promise<void> {
  tally.started += 1;
  await storage.write(() => addTo(name, 1));
  tally.acknowledged += 1;
}

async function failToAdd(storage: Storage, name: string): Promise<void> {
  const failing = storage.write(function* () {
    yield* addTo(name, 1_000);
    throw new TypeError('a defect');
  });
  await assert.rejects(failing, TypeError);
}
