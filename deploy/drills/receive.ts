/**
 * Receives webhooks on a free port of this machine, and writes a line for each: the time, the id of the event and the
 * status of the response. It responds 503 to every fiftieth message, which the service then retries.
 *
 *     node receive.ts --output <file>
 */

import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { output: { type: 'string' } } });
const { output } = values;
if (output === undefined) throw new Error('--output is required');

const rejected = new Set<string>();
let received = 0;
const server = createServer((request, response) => {
  const id = String(request.headers['webhook-id']);
  request.resume().on('end', () => {
    received += 1;
    const isRejected = received % 50 === 0 && !rejected.has(id);
    if (isRejected) rejected.add(id);
    const status = isRejected ? 503 : 204;
    appendFileSync(output, `${JSON.stringify({ at: Date.now(), id: Number(id), status })}\n`);
    response.writeHead(status).end();
  });
});
server.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
);
process.on('SIGTERM', () => process.exit());
