/** The timeline file: its entries, their hosts, and recovery from damage. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { timelineFile, TimelineFileError, type TimelineFile } from '../../src/platform/timeline-file.ts';
import { runProgram } from '../support/programs.ts';

const a = 'db-a.example:5432';
const b = 'db-b.example:5432';
const c = 'db-c.example:5432';

type Place = Disposable & {
  readonly folder: string;
  readonly path: string;
  at(...hosts: readonly string[]): TimelineFile;
};

function place(): Place {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-timelines-'));
  const path = join(folder, 'data', 'largesse.timelines.json');
  return {
    folder,
    path,
    at: (...hosts) => timelineFile({ path, hosts, create: true }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

test('the newest timeline is returned, for any of the hosts, after a restart', async () => {
  using there = place();
  assert.equal(there.at(a, b).read(), undefined);
  await there.at(a, b).record({ system: '7', timeline: 1 });
  await there.at(b, a).record({ system: '7', timeline: 3 });
  await there.at(a, b).record({ system: '7', timeline: 2 });
  for (const hosts of [[a, b], [b, a], [a], [b], [b, c]])
    assert.deepEqual(there.at(...hosts).read(), { system: '7', timeline: 3 }, hosts.join());
  assert.equal(there.at(c).read(), undefined);
  assert.equal(statSync(there.path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(there.folder, 'data')), ['largesse.timelines.json']);
});

test('an added host is stored with the existing ones', async () => {
  using there = place();
  await there.at(a, b).record({ system: '7', timeline: 2 });
  await there.at(b, c).record({ system: '7', timeline: 3 });
  assert.deepEqual(there.at(a).read(), { system: '7', timeline: 3 });
  assert.deepEqual(there.at(c).read(), { system: '7', timeline: 3 });
});

test('each cluster with other hosts has its own entry, even a copy of the same cluster', async () => {
  using there = place();
  await there.at(a).record({ system: '7', timeline: 2 });
  await there.at(b).record({ system: '8', timeline: 1 });
  await there.at(c).record({ system: '7', timeline: 5 });
  assert.deepEqual(there.at(a).read(), { system: '7', timeline: 2 });
  assert.deepEqual(there.at(b).read(), { system: '8', timeline: 1 });
  assert.throws(
    () => there.at(a, b).read(),
    /different clusters \(system identifiers 7 and 8|8 and 7\).*remove/,
  );
});

test('a damaged or too large file, or a folder, is rejected with a remedy', async () => {
  using there = place();
  await there.at(a).record({ system: '7', timeline: 2 });
  const whole = readFileSync(there.path, 'utf8');
  const texts = [
    '',
    whole.slice(0, -5),
    '{}',
    'null',
    '{"clusters":[{"hosts":"x"}]}',
    `${whole}${' '.repeat(70_000)}`,
  ];
  for (const text of [...texts, whole.replace('2', '"2"'), whole.replace('"7"', '7')]) {
    writeFileSync(there.path, text);
    assert.throws(
      () => there.at(a).read(),
      (error) => error instanceof TimelineFileError && /is damaged.*remove the file$/.test(error.message),
      text,
    );
    await assert.rejects(there.at(a).record({ system: '7', timeline: 3 }), TimelineFileError);
    assert.equal(readFileSync(there.path, 'utf8'), text, 'the file was changed');
  }
  const folder = timelineFile({ path: there.folder, hosts: [a], create: true });
  assert.throws(() => folder.read(), /cannot be read/);
});

test('a command that must not create the folder creates nothing', async () => {
  using there = place();
  await timelineFile({ path: there.path, hosts: [a], create: false }).record({ system: '7', timeline: 2 });
  assert.deepEqual(readdirSync(there.folder), []);
});

test('the remains of a process that ended during a write do not block other writes', async () => {
  using there = place();
  await there.at(a).record({ system: '7', timeline: 1 });
  writeFileSync(`${there.path}.lock`, '');
  writeFileSync(`${there.path}.4711`, '{"clu');
  await there.at(a).record({ system: '7', timeline: 2 });
  assert.deepEqual(there.at(a).read(), { system: '7', timeline: 2 });
});

test('concurrent records of several processes are all stored', async () => {
  using there = place();
  const program = `
    import { timelineFile } from ${JSON.stringify(import.meta.resolve('../../src/platform/timeline-file.ts'))};
    const [path, own] = process.argv.slice(1);
    for (let timeline = 1; timeline <= 20; timeline += 1) {
      await timelineFile({ path, hosts: ['shared:1'], create: true }).record({ system: '7', timeline: timeline * 10 + Number(own) });
      await timelineFile({ path, hosts: [own], create: true }).record({ system: own, timeline });
    }`;
  const results = await Promise.all(
    ['1', '2', '3', '4'].map((own) =>
      runProgram(process.execPath, ['--input-type=module', '--eval', program, there.path, own]),
    ),
  );
  for (const { code, errors } of results) assert.equal(code, 0, errors);
  assert.deepEqual(there.at('shared:1').read(), { system: '7', timeline: 204 });
  for (const own of ['1', '2', '3', '4'])
    assert.deepEqual(there.at(own).read(), { system: own, timeline: 20 });
});
