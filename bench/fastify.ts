/**
 * As `ceiling.ts` for GET, through Fastify with one route: beside the ceiling it shows what the framework costs.
 *
 * `PATCH {"GET":420}` sets how many bytes it answers. `PORT=4000 node bench/fastify.ts`
 */

import Fastify from 'fastify';

let answer = Buffer.alloc(0);

const app = Fastify();
app.get('/*', (_request, reply) => {
  reply.header('content-type', 'application/json; charset=utf-8').send(answer);
});
app.patch('/', (request, reply) => {
  const { GET: bytes } = JSON.parse(String(request.body)) as { readonly GET: number };
  answer = Buffer.alloc(bytes, 'x');
  reply.send();
});
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
