/** The receiver of examples/ gets the events of a card from a service, in separate processes. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { until } from '../support/delivering.ts';
import { freePort } from '../support/postgres-port.ts';
import { startProgram } from '../support/programs.ts';
import { ask, cardOf, makeHome } from './largesse.ts';

const receiver = join(import.meta.dirname, '../../examples/webhook-receiver.ts');
const domain = 'flowers.example';
const demonstration = 'demo.localhost';

test('the example receiver prints the verified events of a card, from its creation on', async () => {
  await using home = await makeHome();
  const port = await freePort();
  // Creates the demonstration store, whose webhooks can use this machine.
  const service = await home.serve();
  const { token } = await home.json<{ readonly token: string }>('token', 'create', '--store', demonstration);
  const of = ['--store', demonstration] as const;
  const url = `http://127.0.0.1:${port}/`;
  const made = await home.json<{ readonly id: number; readonly secret: string }>(
    'webhook', 'create', ...of, '--url', url, '--events', 'gift_card.*,customer.*',
  ); // prettier-ignore
  await using program = startProgram(process.execPath, [receiver, '--port', String(port)], {
    environment: { WEBHOOK_SECRET: made.secret },
  });
  await program.written(/listening on port/);

  const card = cardOf(
    await ask(`${service.url}/gift_card`, { token, json: { initial_value: 25, email: 'ada@example.com' } }),
    201,
  );
  const path = `${service.url}/gift_card/${card.id}`;
  const debit = await ask(`${path}/debit`, { token, json: { amount: '4.50' } });
  const { transaction } = debit.json as { readonly transaction: { readonly id: number } };
  await ask(`${service.url}/transactions/${transaction.id}/reverse`, { token, json: { amount: '1.50' } });
  const held = await ask(`${path}/holds`, { token, json: { amount: 5 } });
  const { hold } = held.json as { readonly hold: { readonly id: number } };
  await ask(`${service.url}/holds/${hold.id}/capture`, { token, json: { amount: 3 } });
  await ask(`${path}/credit`, { token, json: { amount: 10 } });
  await ask(path, { method: 'PUT', token, json: { note: 'x' } });
  await ask(path, { method: 'PUT', token, json: { disable: true } });
  const lines = (): readonly string[] => program.output().trim().split('\n').slice(1);
  await until(() => lines().length >= 10);

  // Events can overtake each other.
  assert.deepEqual(
    lines()
      .map((line) => line.replace(/, \(older than what is known\)$/, ''))
      .toSorted(),
    [
      'customer.created',
      `gift_card.created, card ${card.id}, sequence 1, balance 25.00 USD`,
      `gift_card.redeemed, card ${card.id}, sequence 2, -4.50, balance 20.50 USD`,
      `gift_card.reversed, card ${card.id}, sequence 3, 1.50, balance 22.00 USD`,
      `gift_card.held, card ${card.id}, sequence 4, hold of 5.00 open, balance 22.00 USD`,
      `gift_card.redeemed, card ${card.id}, sequence 5, -3.00, hold of 5.00 captured, balance 19.00 USD`,
      `gift_card.hold_released, card ${card.id}, sequence 5, hold of 5.00 captured, balance 19.00 USD`,
      `gift_card.credited, card ${card.id}, sequence 6, 10.00, balance 29.00 USD`,
      `gift_card.updated, card ${card.id}, sequence 7, balance 29.00 USD`,
      `gift_card.disabled, card ${card.id}, sequence 8, balance 29.00 USD`,
    ].toSorted(),
  );

  // An unsigned message is not printed.
  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);

  // The commands about the webhook, during the running service.
  const id = String(made.id);
  const tested = await home.json<{ readonly status: string }>('webhook', 'test', id, ...of);
  assert.equal(tested.status, 'delivered');
  const deliveries = await home.json<readonly { readonly status: string }[]>(
    'webhook',
    'deliveries',
    id,
    ...of,
  );
  assert.equal(deliveries.length, 11);
  assert.ok(deliveries.every(({ status }) => status === 'delivered'));
  const { secret, status } = await home.json<{ readonly secret: string; readonly status: string }>(
    'webhook', 'rotate-secret', id, ...of,
  ); // prettier-ignore
  assert.notEqual(secret, made.secret);
  assert.equal(status, 'active');
  await ask(path, { method: 'PUT', token, json: { note: 'signed by both' } });
  await program.written(/gift_card\.updated, card \d+, sequence 9/);
  const paused = await home.json<{ readonly status: string }>('webhook', 'update', id, ...of, '--pause');
  assert.equal(paused.status, 'paused');
  const { errors, code } = await home.run(['webhook', 'test', id, ...of]);
  assert.equal(code, 1);
  assert.match(errors, /paused/);
  await home.json('webhook', 'update', id, ...of, '--resume', '--events', '*');
  const [listed] = await home.json<readonly { readonly events: readonly string[] }[]>(
    'webhook',
    'list',
    ...of,
  );
  assert.deepEqual(listed?.events, ['*']);
  await home.json('webhook', 'delete', id, ...of);
  assert.deepEqual(await home.json('webhook', 'list', ...of), []);
  assert.equal((await service.stop()).code, 0);
});

test('a webhook in production, or of a real store, can only use the public internet', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'USD');
  const of = ['webhook', 'create', '--store', domain, '--events', '*', '--url'] as const;
  for (const environment of [{ NODE_ENV: 'production' }, {}]) {
    for (const url of [
      'http://127.0.0.1:4000/',
      'https://localhost/',
      'https://[::1]/',
      'https://10.1.2.3/',
      'x',
    ]) {
      const { code, errors } = await home.run([...of, url], environment);
      assert.equal(code, 1, url);
      assert.match(errors, /--url must/);
    }
    const { code } = await home.run([...of, 'https://shop.example.com/'], environment);
    assert.equal(code, 0);
  }
});
