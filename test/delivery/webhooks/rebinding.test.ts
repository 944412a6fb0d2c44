/** The addresses of a host: forbidden ones, DNS rebinding, and attempts to evade the check. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openOutbound, type PostResult } from '../../../src/features/webhooks/delivery/post.ts';
import { authority } from './certificates.ts';
import { responding, outboundHere, publicAddress, receive } from './receiver.ts';

const request = { headers: {}, body: '{}' };

function reasonOf(result: PostResult): string {
  return result.kind === 'failed' ? result.reason : `responded ${result.status}`;
}

test('a host with one forbidden address gets no connection', async (t) => {
  await using receiver = await receive(responding(200));
  const responses: readonly (readonly string[])[] = [
    ['127.0.0.1'],
    ['::1'],
    ['0.0.0.0'],
    ['::'],
    ['10.0.0.1'],
    ['192.168.0.1'],
    ['169.254.169.254'],
    ['fd00:ec2::254'],
    ['::ffff:127.0.0.1'],
    ['64:ff9b::7f00:1'],
    ['fe80::1%lo'],
    ['100.64.0.1'],
    ['localhost'],
    ['2130706433'],
    [publicAddress, '127.0.0.1'],
    ['127.0.0.1', publicAddress],
    [publicAddress, '2606:4700:4700::1111', '::1'],
    [...Array.from({ length: 50 }, () => publicAddress), '10.0.0.1'],
  ];
  for (const addresses of responses) {
    await t.test(addresses.slice(-2).join(', '), async () => {
      // Without rerouting: the forbidden address is this machine.
      using outbound = openOutbound({
        ca: authority,
        resolve: () => Promise.resolve(addresses),
      });
      const result = await outbound.post({ ...request, url: receiver.url });
      assert.equal(reasonOf(result), 'forbidden-address');
      assert.ok(result.kind === 'failed' && addresses.every((address) => !result.detail.includes(address)));
    });
  }
  assert.equal(receiver.connections(), 0);
});

test('a host name cannot lead to this machine, not even in development', async () => {
  await using receiver = await receive(responding(200));
  using outbound = openOutbound({
    ca: authority,
    resolve: () => Promise.resolve(['127.0.0.1']),
  });
  const here = { ...request, allowLoopback: true };
  assert.equal(reasonOf(await outbound.post({ ...here, url: receiver.url })), 'forbidden-address');
  assert.equal(
    reasonOf(await outbound.post({ ...here, url: `https://127.0.0.1:${receiver.port}/` })),
    'responded 200',
  );
  assert.equal(receiver.connections(), 1);
});

test('an invalid URL gets no connection', async () => {
  await using receiver = await receive(responding(200), { isSecure: false });
  let resolved = 0;
  using outbound = openOutbound({
    resolve: () => {
      resolved += 1;
      return Promise.resolve(['127.0.0.1']);
    },
  });
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::1]',
    '2130706433',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
    '0',
    'receiver.example.com',
  ]) {
    const result = await outbound.post({ ...request, url: `http://${host}:${receiver.port}/` });
    assert.equal(reasonOf(result), 'forbidden-target');
    assert.equal(result.kind === 'failed' && result.detail, 'the URL must use https');
  }
  assert.equal(receiver.connections() + resolved, 0);
});

test('a changed DNS response has no effect on a connection, and the next connection checks it', async () => {
  await using good = await receive(responding(200, 'good'));
  let resolved = 0;
  const connectedTo: string[] = [];
  using outbound = outboundHere({
    limits: { ageMaxMs: -1 },
    resolve: () => {
      resolved += 1;
      return Promise.resolve([resolved === 1 ? publicAddress : '127.0.0.1']);
    },
    rerouteForTests: (address) => {
      connectedTo.push(address);
      return '127.0.0.1';
    },
  });
  assert.equal(reasonOf(await outbound.post({ ...request, url: good.url })), 'responded 200');
  assert.deepEqual([resolved, good.connections(), connectedTo], [1, 1, [publicAddress]]);
  // The next connection checks the host again, and fails.
  for (let count = 0; count < 3; count += 1) {
    assert.equal(reasonOf(await outbound.post({ ...request, url: good.url })), 'forbidden-address');
  }
  assert.deepEqual([resolved, good.connections(), connectedTo], [4, 1, [publicAddress]]);
});

test('a keep-alive connection stays with its checked address', async () => {
  await using receiver = await receive(responding(200));
  const responses = [[publicAddress]];
  using outbound = outboundHere({ resolve: () => Promise.resolve(responses.shift() ?? ['10.0.0.1']) });
  for (let count = 0; count < 5; count += 1) {
    assert.equal(reasonOf(await outbound.post({ ...request, url: receiver.url })), 'responded 200');
  }
  assert.equal(receiver.connections(), 1);
});

test('a keep-alive connection is not used for another host with the same address', async () => {
  const names: string[] = [];
  await using receiver = await receive(responding(200), {
    tls: {
      SNICallback: (name, done) => {
        names.push(name);
        done(null);
      },
    },
  });
  using outbound = outboundHere();
  for (const name of ['receiver', 'second', 'receiver', 'second', 'third']) {
    await outbound.post({ ...request, url: `https://${name}.example.com:${receiver.port}/` });
  }
  assert.deepEqual(names, ['receiver.example.com', 'second.example.com', 'third.example.com']);
  assert.deepEqual(
    receiver.received.map(({ text }) => /^host: ([^:]*)/im.exec(text)?.[1]),
    ['receiver', 'second', 'receiver', 'second'].map((name) => `${name}.example.com`),
  );
});

test('a request skips a public address without a listener', async () => {
  await using receiver = await receive(responding(200));
  using outbound = outboundHere({
    resolve: () => Promise.resolve(['93.184.215.15', publicAddress]),
    // Nothing listens at 127.0.0.2.
    rerouteForTests: (address) => (address === publicAddress ? '127.0.0.1' : '127.0.0.2'),
  });
  assert.equal(reasonOf(await outbound.post({ ...request, url: receiver.url })), 'responded 200');
});

test('failed and slow lookups have different reasons', async () => {
  const failing = Object.assign(new Error('query to 10.0.0.53 failed'), { code: 'ENOTFOUND' });
  using none = outboundHere({ resolve: () => Promise.resolve([]) });
  using unknown = outboundHere({ resolve: () => Promise.reject(failing) });
  using silent = outboundHere({
    resolve: () => Promise.withResolvers<string[]>().promise,
    limits: { timeoutMs: 100 },
  });
  const url = 'https://receiver.example.com/';
  const results = await Promise.all(
    [none, unknown, silent].map((outbound) => outbound.post({ ...request, url })),
  );
  assert.deepEqual(
    results.map((result) => (result.kind === 'failed' ? [result.reason, result.detail] : [])),
    [
      ['dns', 'the host has no address'],
      ['dns', 'the host cannot be resolved (ENOTFOUND)'],
      ['timeout', 'no connection in time'],
    ],
  );
});
