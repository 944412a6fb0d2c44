/**
 * Runs the marked commands of README.md and docs/store.md in a clean copy and compares their responses with
 * the printed ones. Only ids, times and codes can differ.
 */

import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn, inTime } from '../support/deadline.ts';
import { responsesIn, assertResponse, commandsIn } from '../e2e/readme.ts';

const root = join(import.meta.dirname, '../..');
const readmePort = 3000;
const startWithinMs = 240_000;
const stopWithinMs = 10_000;

/** Copies the files that a clone would have, from the working tree. */
function copyTree(target: string): void {
  let files: readonly string[];
  try {
    const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8', stdio: 'pipe' });
    files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
  } catch {
    // The root is not a repository but a copy of one, which can also have files that npm and the service
    // created.
    const made = new Set(['node_modules', 'data']);
    cpSync(root, target, { recursive: true, filter: (path) => !made.has(basename(path)) });
    return;
  }
  for (const file of files) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, file), join(target, file));
  }
}

/**
 * The environment of a new terminal: without the variables of npm and the test runner, and without the
 * Node.js that npm puts first in PATH.
 */
function environment(): Record<string, string | undefined> {
  const own =
    /^(?:HOME|LANG|TMPDIR|(?:npm_config_)?(?:https?_|no_?)?proxy|.*_CA_CERTS|npm_config_(?:registry|cache|userconfig|cafile))$/i;
  const path = (process.env['PATH'] ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => own.test(name))),
    PATH: path.join(':'),
    npm_config_prefer_offline: 'true',
  };
}

/** Returns the README's port if it is free, or any other free port. */
async function choosePort(): Promise<number> {
  for (const port of [readmePort, 0]) {
    const server = createServer().listen(port, '127.0.0.1');
    const isListening = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    const address = server.address();
    server.close();
    if (isListening && typeof address === 'object' && address !== null) return address.port;
  }
  assert.fail('there is no free port');
}

/** Runs bash in its own process group, to signal everything that it starts. */
function startBash(
  script: string,
  { folder, output, port }: { readonly folder: string; readonly output: string; readonly port: number },
): ChildProcess {
  const file = openSync(output, 'w');
  const env = { ...environment(), ...(port !== readmePort && { PORT: String(port) }) };
  return spawn('bash', ['-c', script], { cwd: folder, detached: true, stdio: ['ignore', file, file], env });
}

/** Returns a function that signals the whole group, and kills the group at the end of this process. */
function killerOf({ pid }: ChildProcess): (signal: NodeJS.Signals) => void {
  assert.ok(pid !== undefined);
  const kill = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // All have ended.
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      kill('SIGKILL');
      process.kill(process.pid, signal);
    });
  }
  return kill;
}

async function ready(child: ChildProcess, port: number, output: string): Promise<void> {
  const deadline = deadlineIn(startWithinMs);
  while (!deadline.isOver() && child.exitCode === null) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (response?.status === 200) return;
    await wait(100);
  }
  assert.fail(`the service did not start:\n${readFileSync(output, 'utf8')}`);
}

/**
 * Runs the commands in one shell, because later ones use the variables of earlier ones, and returns the
 * output of each.
 */
async function callAsWritten(
  calls: Readonly<Record<string, string>>,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<ReadonlyMap<string, string>> {
  const written = Object.entries(calls).map(([name, command]) => `{\n${command}\n} > ${name}.response`);
  const script = written.join('\n').replaceAll(`localhost:${readmePort}`, `localhost:${port}`);
  const output = join(folder, 'shell.log');
  const bash = startBash(`set -euo pipefail\n${script}`, { folder, output, port });
  const [code] = (await once(bash, 'exit')) as [number | null];
  assert.equal(code, 0, readFileSync(output, 'utf8'));
  return new Map(
    Object.keys(calls).map((name) => [name, readFileSync(join(folder, `${name}.response`), 'utf8')]),
  );
}

const title = 'the commands of README.md and docs/store.md return the responses that they print';

test(title, async (t) => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const guide = readFileSync(join(root, 'docs/store.md'), 'utf8');
  const { start = '', ...calls } = { ...commandsIn(readme), ...commandsIn(guide) };
  const responses = { ...responsesIn(readme), ...responsesIn(guide) };
  const named = ['create', 'retrieve', 'search', 'update'];
  const ofOwnStore = ['own-store', 'own-create', 'own-retrieve', 'own-emails'];
  const clone = /^git clone \S.* (?<name>\S+)(?: && |\n)cd \k<name>(?: && |\n)/;
  assert.match(start, clone, 'README.md has no block marked "e2e: start" that clones it');
  assert.deepEqual(Object.keys(calls), [...named, ...ofOwnStore], 'the marked commands');
  const withResponse = [...named, 'own-create', 'own-retrieve'];
  assert.deepEqual(Object.keys(responses), withResponse, 'the marked responses');
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, calls[name] ?? '']));

  const folder = mkdtempSync(join(tmpdir(), 'largesse-readme-'));
  const copy = join(folder, 'largesse');
  const shell = join(folder, 'shell');
  const log = join(folder, 'start.log');
  copyTree(copy);
  mkdirSync(shell);
  const port = await choosePort();
  // A shell that handles the signal after its command has ended: its exit code is that of npm start.
  const script = `trap : TERM\n${start.replace(clone, '')}`;
  const service = startBash(script, { folder: copy, output: log, port });
  const killAll = killerOf(service);
  try {
    await t.test('npm ci && npm start', () => ready(service, port, log));

    const first = await callAsWritten(pick(named), { folder: shell, port });
    // docs/store.md runs these in the folder of the service.
    const second = await callAsWritten(pick(ofOwnStore), { folder: copy, port });
    const given = new Map([...first, ...second]);
    const known = new Map<string, unknown>();
    for (const [name, printed] of Object.entries(responses)) {
      await t.test(name, () => assertResponse(given.get(name) ?? '', printed, known));
    }

    await t.test('the emails of the demonstration store and of a real one are kept', async () => {
      const kept = (): number => {
        const inFolder = join(copy, 'data', 'mails');
        const emails = readdirSync(inFolder).filter((name) => name.endsWith('.json'));
        return emails.filter((name) =>
          readFileSync(join(inFolder, name), 'utf8').includes('"grace@example.com"'),
        ).length;
      };
      const deadline = deadlineIn(10_000);
      while (kept() < 2 && !deadline.isOver()) await wait(100);
      assert.equal(kept(), 2);
      assert.ok(readdirSync(join(copy, 'preview')).some((file) => file.endsWith('.html')));
    });

    await t.test('SIGTERM to the process group of npm start ends it with code 0', async () => {
      const ended = once(service, 'exit');
      killAll('SIGTERM');
      assert.deepEqual(await inTime(ended, stopWithinMs, 'npm start'), [0, null], readFileSync(log, 'utf8'));
      assert.match(readFileSync(log, 'utf8'), /"message":"stopped"\}\n$/);
      const left = readdirSync(join(copy, 'data')).toSorted();
      assert.deepEqual(
        left,
        ['largesse.db', 'largesse.keys.json', 'mails'],
        'its log was moved into the database',
      );
    });
  } finally {
    killAll('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});
