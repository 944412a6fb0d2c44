/** Caches: a cached read returns the same rows as an uncached read. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReadCache, Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { seeded, type Seeded } from '../support/seeded.ts';
import { addTo, counterOf, hasRow, insertRow } from '../support/row-counts.ts';

const names = ['one', 'two', 'three'];
const entriesMax = 2;

/** A counter that any engine increments: the acknowledged sum, and the sum of all started writes. */
type Counts = { acknowledged: number; started: number };

export function testCaches(factory: StorageFactory): void {
  test('a read that starts after an acknowledged write finds it, whichever process wrote', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    await using opened = await openMigrated(factory);
    const own = opened.storage;
    await using foreign = opened.database.open();
    for (const [index, name] of names.entries()) await own.write(() => insertRow(index + 1, name));
    const countsByName = new Map(
      names.map((name): [string, Counts] => [name, { acknowledged: 0, started: 0 }]),
    );
    const cache = own.cache<number>({ entriesMax });

    const caller = async (random: Seeded): Promise<void> => {
      for (let step = 0; step < 40; step += 1) {
        const name = names[random.between(0, names.length - 1)] ?? '';
        const counts = countsByName.get(name);
        assert.ok(counts);
        const dice = random();
        if (dice < 0.6)
          for (let looks = random.between(1, 3); looks > 0; looks -= 1) await visit(cache, name, counts);
        else if (dice < 0.7) await failToAdd(own, name);
        else if (dice < 0.8) for (let turns = random.between(0, 3); turns > 0; turns -= 1) await turn();
        else await add(dice < 0.9 ? own : foreign, name, counts);
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, index) => caller(seeded(seed + index)))).catch(
      (error: unknown) => assert.fail(`seed ${seed}: ${String(error)}`),
    );
    for (const [name, { acknowledged }] of countsByName)
      assert.equal(await cache.read(name, () => counterOf(name)), acknowledged);
  });

  test('a missing row is looked up each time', async () => {
    await using opened = await openMigrated(factory);
    const cache = opened.storage.cache<true>({ entriesMax });
    const look = () =>
      cache.read('one', function* () {
        return (yield* hasRow('one')) ? true : undefined;
      });
    assert.equal(await look(), undefined);
    await opened.storage.write(() => insertRow(1, 'one'));
    assert.equal(await look(), true);
  });

  test('an error of a script reaches its caller, and the next caller runs its own script', async () => {
    await using opened = await openMigrated(factory);
    const cache = opened.storage.cache<number>({ entriesMax });
    const defect = new TypeError('a defect');
    const failing = cache.read('one', function* () {
      yield* hasRow('one');
      throw defect;
    });
    await assert.rejects(failing, (caught) => caught === defect);
    await opened.storage.write(() => insertRow(1, 'one'));
    assert.equal(await cache.read('one', () => counterOf('one')), 0);
  });
}

async function visit(cache: ReadCache<number>, name: string, counts: Counts): Promise<void> {
  const acknowledged = counts.acknowledged;
  const found = cache.find(name) ?? (await cache.read(name, () => counterOf(name)));
  assert.ok(
    found !== undefined && found >= acknowledged && found <= counts.started,
    `${name} was ${found}, after ${acknowledged} and before ${counts.started}`,
  );
}

async function add(storage: Storage, name: string, counts: Counts): Promise<void> {
  counts.started += 1;
  await storage.write(() => addTo(name, 1));
  counts.acknowledged += 1;
}

async function failToAdd(storage: Storage, name: string): Promise<void> {
  const failing = storage.write(function* () {
    yield* addTo(name, 1_000);
    throw new TypeError('a defect');
  });
  await assert.rejects(failing, TypeError);
}
