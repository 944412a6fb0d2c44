/**
 * The baseline: the least that an HTTP server on this Node.js does. It reads and parses JSON bodies and responds to
 * each method with as many bytes as the service does.
 *
 * `PATCH {"GET":420,"POST":450}` sets these lengths. `PORT=4000 node bench/baseline.ts [fastify]`; with `fastify`
 * the same through Fastify with one route.
 */

import { createServer, type ServerResponse } from 'node:http';
import Fastify, { type FastifyRequest } from 'fastify';

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

function serveBare(): void {
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
}

async function serveFastify(): Promise<void> {
  const app = Fastify();
  app.route({
    method: ['GET', 'POST', 'PUT', 'PATCH'],
    url: '/*',
    handler: (request: FastifyRequest, reply) => {
      if (request.method === 'PATCH') bodies = bodiesOf(JSON.parse(String(request.body)));
      reply.code(statuses[request.method] ?? 200).header('content-type', contentType);
      reply.send(bodies.get(request.method));
    },
  });
  await app.listen({ port, host: '127.0.0.1' });
}

if (process.argv[2] === 'fastify') await serveFastify();
else serveBare();
