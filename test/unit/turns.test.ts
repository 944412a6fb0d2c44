/** The turns of long reads. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import test from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../src/core/domain/fault.ts';
import { createTurns } from '../../src/core/service/turns.ts';

test('the first read starts at once, and each other one in a later turn of the event loop, in order', async () => {
  const turns = createTurns(10);
  const started: number[] = [];
  const reads = [1, 2, 3, 4].map((number) =>
    turns(async () => {
      started.push(number);
      return number;
    }),
  );
  assert.deepEqual(started, [1]);
  for (const expected of [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]) {
    assert.deepEqual(started, expected);
    await turn();
  }
  assert.deepEqual(await Promise.all(reads), [1, 2, 3, 4]);
  let isStarted = false;
  await turn();
  const last = turns(async () => void (isStarted = true));
  assert.ok(isStarted);
  await last;
});

test('what arrives on a socket is received between two reads', async () => {
  const turns = createTurns(1_000);
  const order: string[] = [];
  await using server = createServer((socket) => void socket.on('data', () => order.push('request')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { readonly port: number };
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  // The server has accepted the connection.
  await wait(20);
  socket.write('x');
  const reads = Array.from({ length: 200 }, (_, index) =>
    turns(async () => {
      // As a read that blocks the thread.
      const until = performance.now() + 1;
      while (performance.now() < until);
      order.push(`read ${index}`);
    }),
  );
  await Promise.all(reads);
  socket.destroy();
  const place = order.indexOf('request');
  assert.ok(place >= 0 && place < 100, `the request was received after ${place} of 200 reads`);
});

test('a read that fails does not hold up the others, and too many that wait are rejected', async () => {
  const turns = createTurns(2);
  const failing = turns(() => Promise.reject(new Error('failed')));
  const waiting = [turns(async () => 1), turns(async () => 2)];
  await assert.rejects(
    turns(async () => 3),
    (error) => error instanceof Fault && error.code === 'overloaded',
  );
  await assert.rejects(failing, /failed/);
  assert.deepEqual(await Promise.all(waiting), [1, 2]);
});
