/**
 * A receiver of webhooks: verifies each message and prints one line for each event.
 *
 *   WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts --port 4000
 *
 * A receiver follows two rules. A message can arrive twice, so it ignores ids that it has seen. Messages can arrive in
 * another order, so it uses a card's record only if its sequence is not lower than the last one.
 */

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { Webhook } from 'standardwebhooks';

interface Event {
  id: number;
  type: string;
  store: string;
  created_at: string;
  sequence: number;
  data: {
    changed?: string[];
    gift_card?: { id: number; balance: string; currency: string; disabled_at: string | null };
    transaction?: { amount: string };
    hold?: { amount: string; status: string };
  };
}

const { values: options } = parseArgs({ options: { port: { type: 'string', default: '4000' } } });
const secret = process.env['WEBHOOK_SECRET'];
if (!secret) throw new Error('WEBHOOK_SECRET must be the secret that "largesse webhook create" shows');
const verifier = new Webhook(secret);
const bodyBytesMax = 262_144;

/** A real receiver stores both in its database, in the transaction that handles the event. */
const seen = new Set<number>();
const latest = new Map<number, number>();

function print({ id, type, sequence, data }: Event): void {
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

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) request.destroy();
    else chunks.push(chunk);
  });
  request.on('end', () => {
    // The signature covers the exact bytes of the body.
    const body = Buffer.concat(chunks).toString();
    try {
      verifier.verify(body, request.headers as Record<string, string>);
    } catch {
      response.writeHead(401).end('the signature is not valid');
      return;
    }
    print(JSON.parse(body) as Event);
    response.writeHead(204).end();
  });
});
server.listen(Number(options.port), '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening on port ${typeof address === 'object' ? address?.port : address}`);
});
