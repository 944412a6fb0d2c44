/**
 * As `ceiling.ts` for GET, through Fastify with one route: `PORT=4000 node bench/fastify.ts`. Beside the ceiling it
 * shows what the framework costs.
 */

import Fastify from 'fastify';

const answer = Buffer.alloc(Number(process.argv[2] ?? 0), 'x');

const app = Fastify();
app.get('/*', (_request, reply) => {
  reply.header('content-type', 'application/json; charset=utf-8').send(answer);
});
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
