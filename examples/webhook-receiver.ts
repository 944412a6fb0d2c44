/**
 * A receiver of webhooks: verifies each message and prints one line for each event.
 *
 *   WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts --port 4000
 *
 * A receiver follows two rules. A message can arrive twice, so it ignores ids that it has seen. Messages can arrive in
 * another order, so it uses a card's record only if its sequence is not lower than the last one.
 */

import { createServer, type IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import { WebhookError, verifyWebhook, type WebhookEvent } from '../packages/client/src/index.ts';

const { values: options } = parseArgs({ options: { port: { type: 'string', default: '4000' } } });
const secrets = process.env['WEBHOOK_SECRET'];
if (!secrets) throw new Error('WEBHOOK_SECRET must be the secret that "largesse webhook create" shows');
const bodyBytesMax = 262_144;

/** A real receiver stores both in its database, in the transaction that handles the event. */
const seen = new Set<number>();
const latest = new Map<number, number>();

function print({ id, type, sequence, data }: WebhookEvent): void {
  if (seen.has(id)) return;
  seen.add(id);
  const { gift_card: card, transaction, hold } = data;
  if (!card) {
    console.log(type);
    return;
  }
  const isCurrent = sequence >= (latest.get(card.id) ?? 0);
  if (isCurrent) latest.set(card.id, sequence);
  const what = [
    type,
    `card ${card.id}`,
    `sequence ${sequence}`,
    ...(transaction ? [transaction.amount] : []),
    ...(hold ? [`hold of ${hold.amount} ${hold.status}`] : []),
    `balance ${card.balance} ${card.currency}`,
    ...(isCurrent ? [] : ['(older than what is known)']),
  ];
  console.log(what.join(', '));
}

/** The status of the response to a message. */
const receive = async (request: IncomingMessage): Promise<number> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return 413;
    chunks.push(chunk);
  }
  try {
    print(await verifyWebhook({ body: Buffer.concat(chunks), headers: request.headers, secrets }));
    return 204;
  } catch (error) {
    if (!(error instanceof WebhookError)) throw error;
    return 401;
  }
};

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(),
  );
});
server.listen(Number(options.port), '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening on port ${typeof address === 'object' ? address?.port : address}`);
});
