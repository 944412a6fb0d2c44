/** The line writer writes whole lines in order. With a stalled reader it drops lines and counts them. */

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { lineWriter, type LineLimits } from '../../src/platform/line-writer.ts';

const folder = mkdtempSync(join(tmpdir(), 'largesse-lines-'));
after(() => rmSync(folder, { recursive: true }));

const limits: LineLimits = {
  batchLength: 1_000,
  writeBytesMax: Number.POSITIVE_INFINITY,
  waitingLengthMax: 100_000,
  periodMs: 20,
  retryMaxMs: 5,
  flushMaxMs: 2_000,
  beforeWrite() {},
};

const neverDropped = (): never => assert.fail('lines were dropped');

function linesOf(count: number, from = 0): readonly string[] {
  return Array.from({ length: count }, (_, index) => `line ${from + index} – with more than ASCII: ß€😀\n`);
}

test('flush writes every line whole and in order', async () => {
  const path = join(folder, 'order');
  const fd = openSync(path, 'w');
  const writer = lineWriter(fd, neverDropped, limits);
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
  lineWriter(fd, neverDropped, limits).write('alone\n');
  assert.equal(readFileSync(path, 'utf8'), '');
  const deadline = Date.now() + 5_000;
  while (readFileSync(path, 'utf8') === '' && Date.now() < deadline) await wait(5);
  assert.equal(readFileSync(path, 'utf8'), 'alone\n');
  closeSync(fd);
});

test('flushSync writes waiting lines after those of the current write', () => {
  const path = join(folder, 'end');
  const fd = openSync(path, 'w');
  const writer = lineWriter(fd, neverDropped, limits);
  const lines = linesOf(100);
  for (const line of lines) writer.write(line);
  writer.flushSync();
  assert.equal(readFileSync(path, 'utf8'), lines.join(''));
  closeSync(fd);
});

test('with a stalled reader, flush ends, lines over the limit are dropped, and their number is reported', async () => {
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

test('a slow reader receives the rest at once, although a stalled reader is retried slowly', async () => {
  const path = join(folder, 'slow');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = lineWriter(fd, neverDropped, {
    ...limits,
    waitingLengthMax: 1_000_000,
    retryMaxMs: 3_600_000,
  });
  const lines = linesOf(20_000);
  for (const line of lines) writer.write(line);
  assert.equal(await readUntil(fd, (text) => text.length >= lines.join('').length), lines.join(''));
  closeSync(fd);
});

test('flushSync waits for a slow reader of the current and the waiting lines, and gives up on a stalled one', async () => {
  const path = join(folder, 'exit');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const copy = join(folder, 'copy');
  const reader = spawn('sh', ['-c', `sleep 0.2; head -c 300000 ${path} > ${copy}`], { stdio: 'inherit' });
  const hasRead = once(reader, 'exit');
  const patient = lineWriter(fd, neverDropped, {
    ...limits,
    waitingLengthMax: 1_000_000,
    flushMaxMs: 30_000,
  });
  // The pipe accepts 64 KiB of the first line at once.
  patient.write('a'.repeat(200_000));
  patient.write('b'.repeat(100_000));
  patient.flushSync();
  await hasRead;
  assert.ok(readFileSync(copy, 'utf8') === 'a'.repeat(200_000) + 'b'.repeat(100_000));

  const hasty = lineWriter(fd, neverDropped, {
    ...limits,
    batchLength: 1_000_000,
    waitingLengthMax: 1_000_000,
    flushMaxMs: 20,
  });
  hasty.write('x'.repeat(300_000));
  hasty.flushSync();
  closeSync(fd);
});

test('two writers to a full pipe do not mix their lines if a write has at most 4,096 bytes', async () => {
  const path = join(folder, 'shared');
  execFileSync('mkfifo', [path]);
  const reading = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const lines = ['a', 'b'].map((text) => `${text.repeat(700)}\n`);
  const count = 400;
  const writers = lines.map((line) => {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    // Each batch is larger than the pipe.
    const batches = { ...limits, batchLength: 200_000, waitingLengthMax: 1_000_000, writeBytesMax: 4_096 };
    return { fd, line, writer: lineWriter(fd, neverDropped, batches) };
  });
  const whole = lines.join('').length * count;
  const tookTurns = (text: string): boolean =>
    text.indexOf('b') < text.lastIndexOf('a') && text.indexOf('a') < text.lastIndexOf('b');
  // One writer can be done before the system lets the other one write.
  for (let isMixed = false; !isMixed;) {
    for (const { line, writer } of writers)
      for (let number = 0; number < count; number += 1) writer.write(line);
    const text = await readUntil(reading, ({ length }) => length >= whole);
    const found = text.split(/(?<=\n)/);
    assert.equal(found.length, 2 * count);
    assert.ok(found.every((line) => lines.includes(line)));
    isMixed = tookTurns(text);
  }
  for (const { fd } of [...writers, { fd: reading }]) closeSync(fd);
});

/** Reads a pipe until the text is complete. */
async function readUntil(fd: number, isComplete: (text: string) => boolean): Promise<string> {
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
    if (isComplete(text)) return text;
  }
  return assert.fail(`read only ${Buffer.concat(chunks).length} bytes`);
}
