/**
 * A receiver of webhooks: verifies each message and prints what happened to which card, a line an event.
 *
 *   WEBHOOK_SECRET=whsec_… npx node examples/webhook-receiver.ts --port 4000
 *
 * Two rules make a receiver right. A message may come twice, so what was seen is left out. Messages may overtake each
 * other, so the record of a card counts only if its sequence is higher than the last one.
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
if (!secret) throw new Error('WEBHOOK_SECRET takes the secret that "largesse webhook create" shows');
const verifier = new Webhook(secret);
const bodyBytesMax = 262_144;

/** A real receiver keeps both in its database, written together with what it does about the event. */
const seen = new Set<number>();
const latest = new Map<number, number>();

function tell({ id, type, sequence, data }: Event): void {
  if (seen.has(id)) return;
  seen.add(id);
  const { gift_card: card, transaction, hold } = data;
  if (!card) {
    console.log(type);
    return;
  }
  const isNews = sequence >= (latest.get(card.id) ?? 0);
  if (isNews) latest.set(card.id, sequence);
  const what = [
    type,
    `card ${card.id}`,
    `sequence ${sequence}`,
    ...(transaction ? [transaction.amount] : []),
    ...(hold ? [`hold of ${hold.amount} ${hold.status}`] : []),
    `balance ${card.balance} ${card.currency}`,
    ...(isNews ? [] : ['(older than what is known)']),
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
    // Exactly the bytes that came: another way to write the same JSON has another signature.
    const body = Buffer.concat(chunks).toString();
    try {
      verifier.verify(body, request.headers as Record<string, string>);
    } catch {
      response.writeHead(401).end('the signature is not valid');
      return;
    }
    tell(JSON.parse(body) as Event);
    response.writeHead(204).end();
  });
});
server.listen(Number(options.port), '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening on port ${typeof address === 'object' ? address?.port : address}`);
});
