/** The import of 5,000 cards from a file is killed halfway, repeatedly: nothing is lost, and nothing is issued twice. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { assertVerified } from '../support/kills.ts';
import { startProgram } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';
import { commandLine } from '../support/program.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const rows = Number(process.env['BATCH_ROWS'] ?? 5_000);
const kills = Number(process.env['BATCH_KILLS'] ?? 2);

for (const withService of [false, true])
  test(`an import that is killed repeatedly${withService ? ', as the service is,' : ''} issues each card once`, async (t) => {
    t.diagnostic(`seed ${seed} (CRASH_SEED)`);
    await using database = await databaseToServe();
    const { environment } = database;
    await openShop(environment, 'flowers.example');
    const folder = makeScratchFolder('batch-');
    t.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'cards.csv');
    const output = join(folder, 'codes.csv');
    const line = (place: number) =>
      `${(place % 500) + 1}.00,buyer-${place % 700}@example.com,false,"row ${place}"`;
    writeFileSync(
      file,
      [
        'initial_value,email,notify,note',
        ...Array.from({ length: rows }, (_, place) => line(place)),
        '',
      ].join('\n'),
    );
    const total = Array.from({ length: rows }, (_, place) => (place % 500) + 1).reduce(
      (sum, each) => sum + each,
      0,
    );
    const args = [
      'card',
      'import',
      file,
      '--expect-count',
      `${rows}`,
      '--expect-total',
      `${total}.00`,
      '--output',
      output,
    ];
    const issued = async (): Promise<number> => {
      const [row] = await database.query('select count(*) as cards from gift_cards');
      return Number(row?.['cards']);
    };
    let killedHalfway = 0;
    for (let round = 0; ; round += 1) {
      await using service = withService ? await serve(environment) : undefined;
      await using program = startProgram(process.execPath, [commandLine, ...args], { environment });
      if (round < kills) {
        // Kills after some cards were issued, at a random moment.
        const target = Math.floor((rows * (round + 1)) / (kills + 1));
        while ((await issued()) < target) await wait(5);
        await wait(random.between(0, 20));
        program.kill('SIGKILL');
        service?.kill('SIGKILL');
        const reached = await issued();
        if (reached > 0 && reached < rows) killedHalfway += 1;
        await program.ended();
        continue;
      }
      const { code } = await program.ended();
      assert.equal(code, 0, program.errors());
      break;
    }
    assert.ok(killedHalfway > 0, 'no kill was halfway');
    t.diagnostic(`${killedHalfway} kills halfway`);
    assert.equal(await issued(), rows);
    const [batch] = await database.query('select * from batches');
    assert.deepEqual(
      [
        batch?.['state'],
        Number(batch?.['issued']),
        Number(batch?.['issued_total']),
        Number(batch?.['failed']),
      ],
      ['complete', rows, total * 100, 0],
    );
    const [sums] = await database.query(
      'select count(distinct note) as notes, sum(initial_value) as total, count(*) as cards from gift_cards',
    );
    assert.deepEqual(
      [Number(sums?.['notes']), Number(sums?.['total']), Number(sums?.['cards'])],
      [rows, total * 100, rows],
    );
    const [, ...codes] = readFileSync(output, 'utf8').trimEnd().split('\r\n');
    assert.equal(new Set(codes.map((each) => each.split(',')[1])).size, rows);
    assert.deepEqual(
      codes.map((each) => each.split(',').at(-1)),
      Array.from({ length: rows }, (_, place) => `row ${place}`),
    );
    assert.equal((await database.query('select 1 from batch_parts where lines is not null')).length, 0);
    await assertVerified(environment);
  });
