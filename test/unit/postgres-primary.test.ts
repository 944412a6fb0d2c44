/** Selects the primary among several servers that accept writes. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  primaryOf,
  reasonAgainst,
  serversOf,
  type WritableHost,
} from '../../src/database/postgres/primary.ts';

function host(name: string, timeline: number, { system = '7', startedAt = name } = {}): WritableHost {
  return { host: name, server: { system, timeline, startedAt } };
}

function primary(hosts: readonly WritableHost[], current?: string): string | undefined {
  return primaryOf(hosts, current)?.host;
}

test('the newest timeline is the primary, in any order and whatever server is in use', () => {
  const hosts = [host('a', 1), host('b', 12), host('c', 9)];
  for (const order of [hosts, hosts.toReversed()]) {
    for (const current of [undefined, 'a', 'b', 'c', 'gone']) assert.equal(primary(order, current), 'b');
    assert.deepEqual(
      serversOf(order).map((server) => server.host),
      ['b', 'c', 'a'],
    );
  }
});

test('if two servers have the newest timeline, the one in use remains; otherwise none is selected', () => {
  const hosts = [host('a', 1), host('b', 2), host('c', 2)];
  assert.equal(primary(hosts, 'c'), 'c');
  assert.equal(primary(hosts, 'b'), 'b');
  assert.equal(primary(hosts, 'a'), undefined);
  assert.equal(primary(hosts), undefined);
});

test('servers of different clusters are not compared', () => {
  const hosts = [host('a', 1), host('b', 2, { system: '8' })];
  assert.equal(primary(hosts), undefined);
  assert.equal(primary(hosts, 'a'), undefined);
});

test('a server with two names is one server, and keeps the name in use', () => {
  const hosts = [host('a', 2, { startedAt: '5' }), host('b', 2, { startedAt: '5' })];
  assert.equal(serversOf(hosts).length, 1);
  assert.equal(primary(hosts), 'a');
  assert.equal(primary(hosts, 'b'), 'b');
});

test('without a host that accepts writes there is no primary', () => {
  assert.equal(primary([]), undefined);
});

test('an older timeline or another cluster is rejected with a remedy; the same or a newer one is accepted', () => {
  const seen = { system: '7', timeline: 10 };
  const against = (system: string, timeline: number) => reasonAgainst({ system, timeline }, seen, 'the file');
  assert.equal(against('7', 10), undefined);
  assert.equal(against('7', 11), undefined);
  assert.match(
    against('7', 9) ?? '',
    /timeline 9, and timeline 10 .* stop every process and remove the file$/,
  );
  assert.match(
    against('8', 11) ?? '',
    /\(system identifier 8, not 7\).* stop every process and remove the file$/,
  );
  assert.equal(reasonAgainst({ system: '8', timeline: 1 }, undefined, 'the file'), undefined);
  assert.match(reasonAgainst({ system: '7', timeline: 9 }, seen, undefined) ?? '', /stop every process$/);
});
