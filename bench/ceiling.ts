/**
 * The ceiling: the least that an HTTP server on this Node.js has to do. It answers as many bytes as the service does
 * to the same method; of a request with a body it reads the body and parses it.
 * `PORT=4000 node bench/ceiling.ts '{"GET":420,"POST":450}'`
 */

import { createServer, type ServerResponse } from 'node:http';

const statuses: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200 };
const lengths = JSON.parse(process.argv[2] ?? '{}') as Readonly<Record<string, number>>;
const answers = new Map(
  Object.entries(statuses).map(([method, status]) => {
    const body = Buffer.alloc(lengths[method] ?? 0, 'x');
    const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length };
    return [method, { status, headers, body }];
  }),
);

function answer(method: string | undefined, response: ServerResponse): void {
  const prepared = answers.get(method ?? '');
  if (prepared) response.writeHead(prepared.status, prepared.headers).end(prepared.body);
  else response.writeHead(405).end();
}

createServer((request, response) => {
  if (request.method === 'GET') {
    answer(request.method, response);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    answer(request.method, response);
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
