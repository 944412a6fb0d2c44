/** The service's own log on standard output: the lines of requests are those of the logger, and none is lost at an end. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'node:test';
import type { AnsweredRequest } from '../../src/log.ts';

const request: AnsweredRequest = {
  request_id: 'a-1',
  method: 'GET',
  route: '/gift_card/:gift_card_id',
  status: 200,
  duration_ms: 1.234,
  client: '::1',
  store: 'bücher.example "quoted" \\ \u2028',
  actor: 'api_client:1',
};

/** What a process prints that makes a log and then runs a few lines of JavaScript with it. */
function printed(
  script: string,
  logLevel = 'info',
): { readonly lines: readonly string[]; readonly code: number | null } {
  const setUp =
    `import { createLog } from '${join(import.meta.dirname, '../../src/log.ts')}';` +
    `const log = await createLog({ logLevel: '${logLevel}', isProduction: true });` +
    `const request = ${JSON.stringify(request)};`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', setUp + script], {
    encoding: 'utf8',
  });
  const lines = stdout.split('\n');
  assert.equal(lines.pop(), '', 'the last line has its end');
  return { lines, code: status };
}

test('the line of a request is the one that the logger would write', () => {
  const { lines } = printed(
    `log.answered(request); log.logger.info(request, 'request');
     const { store, actor, ...other } = request;
     log.answered({ ...other, store: undefined, actor: undefined }); log.logger.info(other, 'request');
     await log.flush();`,
  );
  const timeless = lines.map((line) => line.replace(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/, '"time":""'));
  const [answered, logged, bareAnswered, bareLogged] = timeless;
  assert.equal(lines.length, 4);
  assert.equal(answered, logged);
  assert.equal(bareAnswered, bareLogged);
  assert.deepEqual(JSON.parse(answered ?? ''), { level: 'info', time: '', ...request, message: 'request' });
}); // prettier-ignore

test('a level above info leaves the lines of requests out', () => {
  const { lines } = printed(`log.answered(request); log.logger.warn('warned'); await log.flush();`, 'warn');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"message":"warned"/);
});

for (const [end, code, expected] of [
  ['an exit', 'process.exit(3);', 3],
  ['a fault that nobody catches', `setImmediate(() => { throw new Error('a fault'); });`, 1],
] as const) {
  test(`${end} loses no line and keeps their order`, () => {
    const { lines, code: exit } = printed(
      `for (let number = 0; number < 5_000; number += 1)
         if (number % 2) log.answered({ ...request, status: number }); else log.logger.info({ status: number }, 'other');
       ${code}`,
    );
    assert.equal(exit, expected);
    const numbers = lines.map((line) => (JSON.parse(line) as { readonly status: number }).status);
    assert.deepEqual(numbers, [...numbers.keys()]);
    assert.equal(numbers.length, 5_000);
  });
}
