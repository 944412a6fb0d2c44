/** The service's log on standard output, and the end of a process that cannot write to it. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import type { LoggedRequest } from '../../src/platform/log.ts';

const request: LoggedRequest = {
  request_id: 'a-1',
  method: 'GET',
  route: '/gift_card/:gift_card_id',
  status: 200,
  duration_ms: 1.234,
  client: '::1',
  store: 'bücher.example "quoted" \\ \u2028',
  actor: 'api_client:1',
};

/**
 * Returns the arguments of a process that creates a log and runs a script with it.
 * @param terminal a script that imitates a terminal; the log is then that of development.
 * @param isShared whether other processes write to the same output.
 */
function argumentsOf(script: string, logLevel = 'info', { terminal = '', isShared = false } = {}): string[] {
  const setUp =
    `${terminal}import { createLog } from '${join(import.meta.dirname, '../../src/platform/log.ts')}';` +
    `const options = { logLevel: '${logLevel}', isProduction: ${terminal === ''} };` +
    `const log = await createLog(options, { isShared: ${isShared} });` +
    `const request = ${JSON.stringify(request)};`;
  return ['--input-type=module', '--eval', setUp + script];
}

/** Returns the output lines and the exit code of such a process. */
function printed(
  script: string,
  logLevel?: string,
  terminal?: string,
): { readonly lines: readonly string[]; readonly code: number | null } {
  const { stdout, status } = spawnSync(process.execPath, argumentsOf(script, logLevel, { terminal }), {
    encoding: 'utf8',
  });
  const lines = stdout.split('\n');
  assert.equal(lines.pop(), '', 'the last line ends with a line feed');
  return { lines, code: status };
}

test('the line of a request equals the line of the logger', () => {
  const { lines } = printed(
    `log.request(request); log.logger.info(request, 'request');
     const { store, actor, ...other } = request;
     log.request({ ...other, store: undefined, actor: undefined }); log.logger.info(other, 'request');
     await log.flush();`,
  );
  const timeless = lines.map((line) => line.replace(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, '"time":""'));
  const [withStore, logged, bare, bareLogged] = timeless;
  assert.equal(lines.length, 4);
  assert.equal(withStore, logged);
  assert.equal(bare, bareLogged);
  assert.deepEqual(JSON.parse(withStore ?? ''), { level: 'info', time: '', ...request, message: 'request' });
}); // prettier-ignore

test('on a terminal a response is one line', () => {
  const { lines } = printed(
    `log.request(request);
     const { store, actor, ...other } = request;
     log.request({ ...other, store, actor: undefined }); log.logger.info({ lines: 3 }, 'other');`,
    'info',
    `process.stdout.isTTY = true;`,
  );
  const plain = lines.map((line) => stripVTControlCharacters(line).replace(/^\[[\d:]{8}\] /, ''));
  assert.deepEqual(plain, [
    'INFO: GET /gift_card/:gift_card_id 200, 1 ms, api_client:1',
    'INFO: GET /gift_card/:gift_card_id 200, 1 ms',
    'INFO: other {"lines":3}',
  ]);
});

test('a level above info omits the lines of requests', () => {
  const { lines } = printed(`log.request(request); log.logger.warn('warned'); await log.flush();`, 'warn');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"message":"warned"/);
});

for (const [end, code, expected] of [
  ['an exit', 'process.exit(3);', 3],
  ['an uncaught error', `setImmediate(() => { throw new Error('a fault'); });`, 1],
] as const) {
  test(`${end} loses no line and keeps their order`, () => {
    const { lines, code: exit } = printed(
      `for (let number = 0; number < 5_000; number += 1)
         if (number % 2) log.request({ ...request, status: number }); else log.logger.info({ status: number }, 'other');
       ${code}`,
    );
    assert.equal(exit, expected);
    const numbers = lines.map((line) => (JSON.parse(line) as { readonly status: number }).status);
    assert.deepEqual(numbers, [...numbers.keys()]);
    assert.equal(numbers.length, 5_000);
  });
}

/** Runs such a process with another standard output. @returns its exit code; null if it was killed. */
async function exitCodeOf(
  script: string,
  stdout: 'pipe' | number,
  { isShared = false } = {},
): Promise<number | null> {
  const stdio: StdioOptions = ['ignore', stdout, 'inherit'];
  const child = spawn(process.execPath, argumentsOf(script, 'info', { isShared }), {
    stdio,
    timeout: 300_000,
    killSignal: 'SIGKILL',
  });
  child.stdout?.destroy();
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

const fewLines = `log.logger.info('one'); log.logger.info('two');`;
const manyLines = `for (let count = 0; count < 50_000; count += 1) log.request(request);`;

for (const [written, script] of [
  ['a few lines', fewLines],
  ['more lines than the limit', manyLines],
] as const) {
  for (const [end, exit] of [
    ['exits', 'process.exit(3);'],
    ['flushes and exits', 'await log.flush(); process.exit(3);'],
  ] as const) {
    test(`a process that has logged ${written} ${end} without a reader of the pipe`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'largesse-log-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      // A blocking pipe, as from a supervisor, with space for 64 KiB.
      const pipe = openSync(path, constants.O_RDWR);
      assert.equal(await exitCodeOf(script + exit, pipe), 3);
      closeSync(pipe);
    });

    test(`a process that has logged ${written} ${end} after the reader has closed the pipe`, async () => {
      assert.equal(await exitCodeOf(script + exit, 'pipe'), 3);
    });

    test(`a process that has logged ${written} ${end} with a full disk`, async () => {
      const full = openSync('/dev/full', 'w');
      assert.equal(await exitCodeOf(script + exit, full), 3);
      closeSync(full);
    });
  }
}

/** Runs a script that logs more lines than a pipe holds, without a reader. @returns its exit code. */
async function exitCodeWhenStalled(
  t: TestContext,
  before: string,
  isShared: boolean,
): Promise<number | null> {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-log-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR);
  const turns = `for (let turn = 0; turn < 100; turn += 1) {
    for (let count = 0; count < 100; count += 1) log.request(request);
    await new Promise((resolve) => { setTimeout(resolve, 1); });
  }`;
  try {
    return await exitCodeOf(`${before} ${turns} process.exit(3);`, pipe, { isShared });
  } finally {
    closeSync(pipe);
  }
}

test('a stalled reader does not block the event loop', async (t) => {
  assert.equal(await exitCodeWhenStalled(t, '', false), 3);
});

test('a stalled reader does not block the event loop after another process with the same output has started and ended', async (t) => {
  // Both make the pipe blocking, for this process as well.
  const other = `const { spawnSync } = await import('node:child_process');
    spawnSync(process.execPath, ['--eval', ''], { stdio: 'inherit' });`;
  assert.equal(await exitCodeWhenStalled(t, other, true), 3);
});
