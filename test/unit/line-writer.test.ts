/** Lines are written whole and in order; a reader that does not read costs lines, and nothing else. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { lineWriter, type LineLimits } from '../../src/line-writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'largesse-lines-'));
after(() => rmSync(folder, { recursive: true }));

const limits: LineLimits = {
  batchLength: 1_000,
  waitingLengthMax: 100_000,
  periodMs: 20,
  retryAfterMs: 5,
  flushMaxMs: 2_000,
};

const never = (): never => assert.fail('lines were lost');

function linesOf(count: number, from = 0): readonly string[] {
  return Array.from({ length: count }, (_, index) => `line ${from + index} – with more than ASCII: ß€😀\n`);
}

test('every line is written, whole and in its order, once flushing is done', async () => {
  const path = join(folder, 'order');
  const fd = openSync(path, 'w');
  const writer = lineWriter(fd, never, limits);
  const lines = linesOf(2_000);
  for (const [index, line] of lines.entries()) {
    writer.write(line);
    if (index % 100 === 0) await wait(1);
  }
  await writer.flush();
  assert.equal(readFileSync(path, 'utf8'), lines.join(''));
  closeSync(fd);
});

test('a single line is written within the period', async () => {
  const path = join(folder, 'period');
  const fd = openSync(path, 'w');
  lineWriter(fd, never, limits).write('alone\n');
  assert.equal(readFileSync(path, 'utf8'), '');
  const deadline = Date.now() + 5_000;
  while (readFileSync(path, 'utf8') === '' && Date.now() < deadline) await wait(5);
  assert.equal(readFileSync(path, 'utf8'), 'alone\n');
  closeSync(fd);
});

test('a process that ends writes at once what waits, behind what is being written', () => {
  const path = join(folder, 'end');
  const fd = openSync(path, 'w');
  const writer = lineWriter(fd, never, limits);
  const lines = linesOf(100);
  for (const line of lines) writer.write(line);
  writer.flushSync();
  assert.equal(readFileSync(path, 'utf8'), lines.join(''));
  closeSync(fd);
});

test('where nobody reads, flushing ends, lines beyond the maximum are lost, and their number is told in their place', async () => {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const losses: number[] = [];
  const writer = lineWriter(
    fd,
    (count) => {
      losses.push(count);
      writer.write(`${count} were lost\n`);
    },
    { ...limits, flushMaxMs: 50 },
  );
  const lines = linesOf(10_000);
  for (const line of lines) writer.write(line);
  await writer.flush();
  assert.equal(losses.length, 0);

  writer.write('later\n');
  const read = await readUntil(fd, (text) => text.endsWith('later\n'));
  const [lost] = losses;
  assert.equal(losses.length, 1);
  assert.ok(lost !== undefined && lost > 0);
  const kept = lines.slice(0, lines.length - lost);
  assert.equal(read, `${kept.join('')}${lost} were lost\nlater\n`);
  closeSync(fd);
});

/** What a pipe holds, read until it is enough. */
async function readUntil(fd: number, isEnough: (text: string) => boolean): Promise<string> {
  const chunks: Buffer[] = [];
  const buffer = Buffer.alloc(65_536);
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    try {
      chunks.push(Buffer.from(buffer.subarray(0, readSync(fd, buffer))));
    } catch {
      await wait(5);
    }
    const text = Buffer.concat(chunks).toString();
    if (isEnough(text)) return text;
  }
  return assert.fail(`read only ${Buffer.concat(chunks).length} bytes`);
}
