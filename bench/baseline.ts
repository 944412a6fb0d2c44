/**
 * The baseline: the least that an HTTP server on this Node.js does. It reads and parses JSON bodies and responds to
 * each method with as many bytes as the service does.
 *
 * `PATCH {"GET":420,"POST":450}` sets these lengths.
 */

import { createServer, type ServerResponse } from 'node:http';

const statuses: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200, PATCH: 200 };
const contentType = 'application/json; charset=utf-8';
const port = Number(process.env['PORT']);

let bodies = bodiesOf({});

function bodiesOf(lengths: unknown): ReadonlyMap<string, Buffer> {
  const known = lengths as Readonly<Record<string, number>>;
  return new Map(Object.keys(statuses).map((method) => [method, Buffer.alloc(known[method] ?? 0, 'x')]));
}

function respond(method: string, response: ServerResponse): void {
  const body = bodies.get(method);
  if (!body) response.writeHead(405).end();
  else
    response
      .writeHead(statuses[method] ?? 200, { 'content-type': contentType, 'content-length': body.length })
      .end(body);
}

const server = createServer((request, response) => {
  const { method = '' } = request;
  if (method === 'GET') {
    respond(method, response);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (method === 'PATCH') bodies = bodiesOf(body);
    respond(method, response);
  });
});
// Connections stay open while another server is measured.
server.keepAliveTimeout = 0;
server.listen(port, '127.0.0.1');
