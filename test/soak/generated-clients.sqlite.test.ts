/** Clients that generators make from the served OpenAPI document: they compile, and drive the service. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '../../generators');
const build = join(folder, 'build');

/** A program of `generators`, which is compiled. */
type Program = {
  readonly drive: (baseUrl: string, token: string) => Promise<unknown>;
  readonly readEvent: (body: string) => string;
};

const stores = ['openapi-fetch', 'hey-api'].map((name) => ({ domain: `${name}.example` }));
const service = await startService({ stores });
after(() => service[Symbol.asyncDispose]());

/** Runs a program of an installed package. */
async function runTool(path: string, ...args: readonly string[]): Promise<void> {
  await run(process.execPath, [join(folder, 'node_modules', path), ...args], { cwd: folder });
}

test('the clients of both generators compile with tsc --strict', async () => {
  // The generators are not dependencies of the repository: they need another TypeScript, and a newer Node.js than 20.
  await run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], {
    cwd: folder,
  });
  rmSync(build, { recursive: true, force: true });
  const url = `${service.url}/openapi.json`;
  await runTool('openapi-typescript/bin/cli.js', url, '--output', 'build/openapi-typescript.ts');
  const options = ['--input', url, '--output', 'build/hey-api', '--no-log-file'];
  await runTool('@hey-api/openapi-ts/bin/run.js', ...options);
  await runTool('typescript/bin/tsc', '--strict');
});

for (const { domain } of stores) {
  const name = domain.replace('.example', '');
  test(`a program with ${name} sells, finds, changes and redeems gift cards`, async () => {
    const shop = await shopOf(service, domain);
    const { drive, readEvent } = (await import(join(build, `compiled/${name}.js`))) as Program;

    assert.deepEqual(await drive(service.url, shop.token), {
      issued: { balance: '25.00', codeLength: 16 },
      retrieved: '25.00',
      found: true,
      changed: 'A client changed it',
      redeemed: { amount: '-10.00', balance: '15.00' },
      reversed: { kind: 'reversal', balance: '25.00' },
      isDisabled: true,
      rejected: { status: 422, type: '/docs/problems/card-disabled', errors: 'Unprocessable Content' },
      activated: { balance: '50.00', expiresOn: null },
      stock: { sold: 1, left: 1 },
    });

    const { json } = await shop.ask('GET /events');
    const { events } = json as { readonly events: readonly object[] };
    assert.deepEqual(
      events.map((event) => readEvent(JSON.stringify(event))),
      [
        'customer.created',
        'gift_card.created',
        'gift_card.updated',
        'gift_card.redeemed -10.00 15.00',
        'gift_card.reversed',
        'gift_card.disabled',
        'stock.completed 2',
        'stock.codes_read',
        'gift_card.created',
      ],
    );
  });
}
