import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseWebhookUrl } from '../../../src/features/webhooks/delivery/url.ts';
import { rejectedUrls } from './rejected-urls.ts';

const production = { allowLoopback: false };
const development = { allowLoopback: true };

for (const [error, urls] of Object.entries(rejectedUrls)) {
  test(`rejected: ${error}`, () => {
    for (const url of urls) assert.deepEqual(parseWebhookUrl(url, production), { ok: false, error }, url);
  });
}

test('a value that is not a string is rejected', () => {
  for (const value of [undefined, null, 5, {}, ['https://receiver.example.com/']]) {
    assert.deepEqual(parseWebhookUrl(value, production), { ok: false, error: 'must be a string' });
  }
});

test('URLs on the internet are accepted and normalized', () => {
  const expected: Readonly<Record<string, readonly [url: string, host: string, port: number, path: string]>> =
    {
      'https://receiver.example.com': ['https://receiver.example.com/', 'receiver.example.com', 443, '/'],
      'HTTPS://Receiver.Example.COM:443/Hook?a=1&b=%20': [
        'https://receiver.example.com/Hook?a=1&b=%20',
        'receiver.example.com',
        443,
        '/Hook?a=1&b=%20',
      ],
      'https://receiver.example.com./x': [
        'https://receiver.example.com/x',
        'receiver.example.com',
        443,
        '/x',
      ],
      'https://receiver.example.com.:8443/x': [
        'https://receiver.example.com:8443/x',
        'receiver.example.com',
        8443,
        '/x',
      ],
      'https://receiver.example.com:1024/': [
        'https://receiver.example.com:1024/',
        'receiver.example.com',
        1024,
        '/',
      ],
      'https://receiver.example.com:65535/': [
        'https://receiver.example.com:65535/',
        'receiver.example.com',
        65_535,
        '/',
      ],
      'https://blumen.köln/ü': ['https://blumen.xn--kln-sna/%C3%BC', 'blumen.xn--kln-sna', 443, '/%C3%BC'],
      'https://a.b/x@y/../z': ['https://a.b/z', 'a.b', 443, '/z'],
      'https://127.0.0.1.nip.io/': ['https://127.0.0.1.nip.io/', '127.0.0.1.nip.io', 443, '/'],
      'https://localhost.example.com/': ['https://localhost.example.com/', 'localhost.example.com', 443, '/'],
      'https://notlocal.com/': ['https://notlocal.com/', 'notlocal.com', 443, '/'],
    };
  for (const [address, [url, host, port, path]] of Object.entries(expected)) {
    for (const rules of [production, development]) {
      const value = { url, isSecure: true, host, port, path, isLoopback: false };
      assert.deepEqual(parseWebhookUrl(address, rules), { ok: true, value }, address);
    }
  }
});

test('development accepts this machine, with and without TLS, and no other private host', () => {
  const taken = [
    'http://127.0.0.1:4000/hook',
    'http://localhost:4000/',
    'http://localhost./',
    'http://app.localhost/',
    'http://[::1]:4000/',
    'https://127.0.0.1/',
    'https://localhost:8443/',
    'http://127.1/',
    'http://127.0.0.1:80/',
  ];
  for (const address of taken) {
    const parsed = parseWebhookUrl(address, development);
    assert.ok(parsed.ok && parsed.value.isLoopback, address);
    assert.equal(parseWebhookUrl(address, production).ok, false, address);
  }
  const rejected = [
    'http://receiver.example.com/',
    'http://10.0.0.1/',
    'http://0.0.0.0:4000/',
    'http://0/',
    'http://169.254.169.254/',
    'https://10.0.0.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::]/',
    'http://notlocalhost/',
    'http://localhost.example.com/',
    'http://127.0.0.1.nip.io/',
    'http://user@localhost/',
    'http://localhost:22/',
    'http://localhost:443/',
    'http://localhost:6/',
    'https://localhost:80/',
  ];
  for (const address of rejected) assert.equal(parseWebhookUrl(address, development).ok, false, address);
});

test('an accepted URL is accepted again unchanged', () => {
  const text = fc.oneof(fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }), fc.string());
  fc.assert(
    fc.property(text, (address) => {
      const parsed = parseWebhookUrl(address, production);
      if (!parsed.ok) return;
      assert.deepEqual(parseWebhookUrl(parsed.value.url, production), parsed);
      const { hostname, username, hash, protocol } = new URL(parsed.value.url);
      assert.deepEqual(
        { hostname, username, hash, protocol },
        { hostname: parsed.value.host, username: '', hash: '', protocol: 'https:' },
      );
    }),
    { numRuns: 2_000 },
  );
});
