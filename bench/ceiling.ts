/**
 * The ceiling: the least that an HTTP server on this Node.js has to do. It answers a body of so many bytes; of a POST
 * it reads the body and parses it. `PORT=4000 node bench/ceiling.ts <bytes>`
 */

import { createServer } from 'node:http';

const answer = Buffer.alloc(Number(process.argv[2]), 'x');
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': answer.length };

createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, headers).end(answer);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(201, headers).end(answer);
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
