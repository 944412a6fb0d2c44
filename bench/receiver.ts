/**
 * Receives webhooks, each answered after so many ms. `GET /` tells how many it has answered.
 * `PORT=4000 node bench/receiver.ts <ms>`
 */

import { createServer } from 'node:http';

const answerAfterMs = Number(process.argv[2]);
let count = 0;

createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ count }));
    return;
  }
  request.resume().on('end', () => {
    setTimeout(() => {
      count += 1;
      response.writeHead(204).end();
    }, answerAfterMs);
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
