/**
 * Receives webhooks, each answered after so many ms. `GET /` tells how many it has answered, and when the first and the
 * last came. `PORT=4000 node bench/receiver.ts <ms>`
 */

import { createServer } from 'node:http';

const answerAfterMs = Number(process.argv[2]);
const received = { count: 0, firstAt: 0, lastAt: 0 };

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify(received));
    return;
  }
  request.resume().on('end', () => {
    setTimeout(() => {
      received.lastAt = performance.now();
      if (received.count === 0) received.firstAt = received.lastAt;
      received.count += 1;
      response.writeHead(204).end();
    }, answerAfterMs);
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
