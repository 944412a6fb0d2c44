/** Lookups with the name servers of the system. */

import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import test from 'node:test';
import { systemResolve } from '../../../src/delivery/public-lookup.ts';
import type { PostResult } from '../../../src/features/webhooks/delivery/post.ts';
import { responding, outboundHere, publicAddress, receive } from './receiver.ts';

const request = { headers: {}, body: '{}' };

function reasonOf(result: PostResult): string {
  return result.kind === 'failed' ? result.reason : `responded ${result.status}`;
}

/** A name server with the IPv4 addresses of some names. */
async function nameServer(
  known: Readonly<Record<string, readonly string[]>>,
): Promise<AsyncDisposable & { readonly at: string }> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    const labels: string[] = [];
    for (let at = 12; at < end; at += 1 + (query[at] ?? 0))
      labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)));
    const question = query.subarray(12, end + 5);
    const isA = query.readUInt16BE(end + 1) === 1;
    const addresses = isA ? (known[labels.join('.')] ?? []) : [];
    const records = addresses.map((ip) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)]),
    );
    const header = Buffer.from([
      query[0] ?? 0,
      query[1] ?? 0,
      0x81,
      0x80,
      0,
      1,
      0,
      addresses.length,
      0,
      0,
      0,
      0,
    ]);
    socket.send(Buffer.concat([header, question, ...records]), port, address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve);
  });
  return {
    at: `127.0.0.1:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

test('a lookup queries all addresses of a host', async () => {
  await using server = await nameServer({
    'receiver.example.com': [publicAddress, '93.184.215.15'],
    'inside.example.com': ['10.0.0.1'],
  });
  const resolve = systemResolve([server.at]);
  assert.deepEqual(
    (await resolve('receiver.example.com')).toSorted(),
    [publicAddress, '93.184.215.15'].toSorted(),
  );
  await assert.rejects(resolve('unknown.example.com'), /ENODATA|ENOTFOUND/);
  await using receiver = await receive(responding(200));
  using outbound = outboundHere({ resolve });
  assert.equal(reasonOf(await outbound.post({ ...request, url: receiver.url })), 'responded 200');
  const inside = `https://inside.example.com:${receiver.port}/`;
  assert.equal(reasonOf(await outbound.post({ ...request, url: inside })), 'forbidden-address');
  const unknown = `https://unknown.example.com:${receiver.port}/`;
  assert.equal(reasonOf(await outbound.post({ ...request, url: unknown })), 'dns');
  assert.equal(receiver.connections(), 1);
});
