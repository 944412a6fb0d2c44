/** Processes that hang, and connections of a process that ends, under the process that supervises them. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { until } from '../support/delivering.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const folder = join(import.meta.dirname, '../../src/start/processes');

type FixtureOptions = {
  readonly pingsMax: number;
  readonly stopMaxMs: number;
  /** The starts of processes that fail, from 1. */
  readonly failingStarts: readonly number[];
};

/** Processes that respond to a connection with their id. The log, and the port of each, is the output. */
const scriptWith = ({ failingStarts, ...patience }: FixtureOptions): string => `
  import cluster from 'node:cluster';
  import { createServer } from 'node:net';
  import { openChannel } from ${JSON.stringify(join(folder, 'channel.ts'))};
  import { supervise } from ${JSON.stringify(join(folder, 'supervisor.ts'))};
  const failingStarts = ${JSON.stringify(failingStarts)};
  const write = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
  if (cluster.isPrimary) {
    const fork = cluster.fork.bind(cluster);
    let forks = 0;
    cluster.fork = (...started) => {
      forks += 1;
      if (failingStarts.includes(forks)) throw Object.assign(new Error('spawn'), { code: 'ENOMEM' });
      return fork(...started);
    };
    const error = (fields, message) => write({ ...fields, message });
    const { stop } = supervise(2, { error }, { pingPeriodMs: 20, ...${JSON.stringify(patience)} });
    process.on('SIGTERM', () => void stop().then(() => process.exit(0)));
  } else {
    process.on('SIGTERM', () => process.exit(0));
    const server = createServer((socket) => socket.end(String(process.pid)));
    server.listen(0, '127.0.0.1', () => {
      write({ pid: process.pid, port: server.address().port });
      openChannel(process.env).serving(false);
    });
  }`;

const forEver = 2 ** 31 - 1;

type Started = { readonly program: Program; readonly pids: readonly [number, number]; readonly port: number };

/** The processes that have started, in this order. */
function startsIn({ output }: Program): readonly { readonly pid: number; readonly port: number }[] {
  return Array.from(output().matchAll(/\{"pid":(\d+),"port":(\d+)\}/g), ([, pid, port]) => ({
    pid: Number(pid),
    port: Number(port),
  }));
}

/** Starts two processes, and waits until both serve. */
async function startTwo(t: TestContext, options: Partial<FixtureOptions>): Promise<Started> {
  const scratch = makeScratchFolder('largesse-supervisor-');
  t.after(() => rmSync(scratch, { recursive: true }));
  const path = join(scratch, 'main.mjs');
  writeFileSync(path, scriptWith({ pingsMax: forEver, stopMaxMs: forEver, failingStarts: [], ...options }));
  const program = startProgram(process.execPath, [path]);
  t.after(() => program[Symbol.asyncDispose]());
  await until(() => startsIn(program).length === 2);
  const [first = assert.fail(), second = assert.fail()] = startsIn(program);
  return { program, pids: [first.pid, second.pid], port: first.port };
}

test('a process that no longer responds is killed, and started again', async (t) => {
  const { program, pids } = await startTwo(t, { pingsMax: 250 });
  process.kill(pids[0], 'SIGSTOP');
  await program.written(new RegExp(`"pid":${pids[0]},"message":"a process does not respond, and is killed"`));
  await program.written(new RegExp(`"pid":${pids[0]},.*"signal":"SIGKILL".*is started again`));
  await until(() => startsIn(program).length === 3);
  assert.equal(program.output().match(/does not respond/g)?.length, 1);
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
});

test('a process that does not end is killed', async (t) => {
  const { program, pids } = await startTwo(t, { stopMaxMs: 200 });
  process.kill(pids[1], 'SIGSTOP');
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
  assert.match(
    program.output(),
    new RegExp(`"pid":${pids[1]},"message":"a process does not end, and is killed"`),
  );
});

test('a connection that a process has not accepted is closed when it is killed', async (t) => {
  const { program, pids, port } = await startTwo(t, {});
  process.kill(pids[0], 'SIGSTOP');
  const connections = Array.from({ length: 4 }, () => {
    const socket = connect(port, '127.0.0.1');
    const connection = { text: '', isClosed: false };
    socket.setEncoding('utf8').on('data', (part: string) => (connection.text += part));
    socket.on('error', () => undefined).on('close', () => (connection.isClosed = true));
    t.after(() => socket.destroy());
    return connection;
  });
  const openOnes = () => connections.filter(({ isClosed }) => !isClosed);
  // The process that runs serves the others.
  await until(() => openOnes().length === 1);
  process.kill(pids[0], 'SIGKILL');
  await until(() => openOnes().length === 0);
  const texts = connections.map(({ text }) => text);
  assert.deepEqual(texts.toSorted(), ['', ...Array.from({ length: 3 }, () => String(pids[1]))]);
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
});

test('a process that the system cannot start is started again later', async (t) => {
  const { program, pids } = await startTwo(t, {});
  // A new process needs more descriptors than those that are open.
  execFileSync('prlimit', ['--pid', String(program.pid), '--nofile=8:']);
  process.kill(pids[0], 'SIGKILL');
  await program.written(/"code":"EMFILE".*"message":"a process failed"/);
  execFileSync('prlimit', ['--pid', String(program.pid), '--nofile=1024:']);
  await until(() => startsIn(program).length === 3);
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
});

test('a start without free memory is repeated, and does not end the others', async (t) => {
  const { program, pids } = await startTwo(t, { failingStarts: [2, 4] });
  assert.equal(program.output().match(/"code":"ENOMEM".*"a process failed"/g)?.length, 1);
  process.kill(pids[0], 'SIGKILL');
  await until(() => startsIn(program).length === 3);
  assert.equal(program.output().match(/"code":"ENOMEM".*"a process failed"/g)?.length, 2);
  program.kill('SIGTERM');
  assert.deepEqual(await program.ended(), { code: 0, signal: null });
});
