/**
 * The ceiling: the least that an HTTP server on this Node.js has to do. It answers as many bytes as the service does
 * to the same method; of a request with a body it reads the body and parses it.
 *
 * `PATCH {"GET":420,"POST":450}` sets how many bytes that is. `PORT=4000 node bench/ceiling.ts`
 */

import { createServer, type ServerResponse } from 'node:http';

const statuses: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200, PATCH: 200 };

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
};

let answers = prepare({});

function prepare(lengths: Readonly<Record<string, number>>): ReadonlyMap<string, Answer> {
  return new Map(
    Object.entries(statuses).map(([method, status]) => {
      const body = Buffer.alloc(lengths[method] ?? 0, 'x');
      const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length };
      return [method, { status, headers, body }];
    }),
  );
}

function respond(method: string | undefined, response: ServerResponse): void {
  const answer = answers.get(method ?? '');
  if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
  else response.writeHead(405).end();
}

createServer((request, response) => {
  if (request.method === 'GET') {
    respond(request.method, response);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
    if (request.method === 'PATCH') answers = prepare(body as Readonly<Record<string, number>>);
    respond(request.method, response);
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');
