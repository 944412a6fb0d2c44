/** The environment of the process does not change requests and their receivers. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import test from 'node:test';
import { responding, receive } from './receiver.ts';

test('proxies and TLS settings of the environment are ignored', async () => {
  await using receiver = await receive(responding(200));
  await using plain = await receive(responding(201), { isSecure: false });
  await using proxy = await receive(responding(299), { isSecure: false });
  const script = `
    const { outboundHere } = await import('./test/delivery/webhooks/receiver.ts');
    const { expiredCertificate } = await import('./test/delivery/webhooks/certificates.ts');
    using outbound = outboundHere();
    using untrusting = outboundHere({ ca: expiredCertificate });
    const post = async (url, by) => {
      const result = await by.post({ url, headers: {}, body: '{}', allowLoopback: true });
      return result.status ?? result.reason;
    };
    console.log(await post('${receiver.url}', outbound), await post('${plain.url}', outbound), await post('${receiver.url}', untrusting));
  `;
  const at = `http://127.0.0.1:${proxy.port}`;
  const proxies = Object.fromEntries(
    ['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
      [name, at],
      [name.toUpperCase(), at],
    ]),
  );
  const environment = {
    ...proxies,
    NODE_USE_ENV_PROXY: '1',
    NO_PROXY: '',
    no_proxy: '',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_NO_WARNINGS: '1',
  };
  // The control uses the proxy, which shows that the environment is set.
  const control = `await fetch('http://receiver.example.com/', { method: 'POST', body: 'x' }).catch(() => undefined);`;
  const { stdout } = await run(`${script}; ${control}`, environment);
  assert.equal(stdout.trim(), '200 201 tls');
  assert.equal(receiver.received.length, 1);
  assert.equal(proxy.connections(), 1);
});

async function run(
  script: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly stdout: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stdout = (await Array.fromAsync(child.stdout.setEncoding('utf8') as AsyncIterable<string>)).join('');
  return { stdout };
}
