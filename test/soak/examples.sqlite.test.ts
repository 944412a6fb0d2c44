/** The example of examples/, run as its README says. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';

const script = join(import.meta.dirname, '../../examples/import-csv.sh');

interface Outcome {
  exitCode: number | string | null;
  stdout: string;
  stderr: string;
}

function runExample(): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile('bash', [script], (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : (error.code ?? error.signal ?? null), stdout, stderr });
    });
  });
}

/** The numbers in each store's line of one run: issued, replayed, recorded, found, updated, disabled. */
function countsOf(output: string): Map<string, number[]> {
  const lines = output.matchAll(/^(\S+\.example\.com|all stores)((?: +\d+){6}) /gm);
  return new Map(
    [...lines].map(([, name = '', counts = '']) => [name, counts.trim().split(/ +/).map(Number)]),
  );
}

test('the CSV import issues every card once, also when it runs again after a crash', async () => {
  const { exitCode, stdout, stderr } = await runExample();
  assert.equal(exitCode, 0, `${stdout}\n${stderr}`);

  const [, firstRun = '', secondRun = ''] = stdout.split(/^== (?:First|Second) run.*$/m);
  const first = countsOf(firstRun);
  assert.deepEqual(
    first,
    new Map([
      ['books.example.com', [155, 0, 0, 143, 19, 18]],
      ['coffee.example.com', [190, 0, 0, 171, 30, 13]],
      ['garden.example.com', [191, 0, 0, 177, 27, 20]],
      ['perfume.example.com', [130, 0, 0, 119, 19, 9]],
      ['all stores', [666, 0, 0, 610, 95, 60]],
    ]),
  );

  const second = countsOf(secondRun);
  assert.deepEqual([...second.keys()], [...first.keys()]);
  const [issued, replayed = 0, recorded = 0, found, updated, disabled] = second.get('all stores') ?? [];
  assert.deepEqual({ issued, found, updated, disabled }, { issued: 0, found: 610, updated: 0, disabled: 0 });
  assert.equal(replayed + recorded, 666);
  assert.ok(replayed > 0 && recorded > 0, 'the second run had both lost and recorded responses');

  // Calculated from the CSV file independently. A repeated update or disabling changes the sum.
  for (const run of [firstRun, secondRun]) {
    for (const owed of ['637169 JPY', '22015.45 USD', '10195.52 EUR', '3813.834 KWD']) {
      assert.ok(run.includes(` ${owed} `), `${owed} is missing in:\n${run}`);
    }
  }
  assert.match(stdout, /^Nothing was issued twice/m);
  assert.match(stdout, /^All done\.$/m);
  assert.doesNotMatch(stdout + stderr, /^row \d+ /m);
});
