/**
 * The baseline: the least that an HTTP server on this Node.js does. It reads and parses JSON bodies and responds to
 * each method with as many bytes as the service does.
 *
 * `PATCH {"GET":420,"POST":450}` sets these lengths. With `DATABASE`, the path of a new file, it also inserts each POST's
 * body into a table of SQLite, and responds when the commit is durable.
 */

import { fdatasync, openSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

const statuses: Readonly<Record<string, number>> = { GET: 200, POST: 201, PUT: 200, PATCH: 200 };
const contentType = 'application/json; charset=utf-8';
const { PORT: port, DATABASE: file } = process.env;
const insert = file === undefined ? undefined : insertInto(file);

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

/** Inserts a body, with those that arrive in the same turn or during a sync in one transaction, as the service does. */
function insertInto(path: string): (body: string, respondWhenDurable: () => void) => void {
  const database = new DatabaseSync(path);
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = normal;
    create table bodies (id integer primary key, body text not null) strict`);
  const log = openSync(`${path}-wal`, 'r+');
  const statements = ['begin immediate', 'insert into bodies (body) values (?)', 'commit'] as const;
  const [begin, add, commit] = statements.map((text) => database.prepare(text));
  let waiting: { readonly body: string; readonly durable: () => void }[] = [];
  let isBusy = false;
  const write = (): void => {
    const group = waiting;
    waiting = [];
    begin?.run();
    for (const { body } of group) add?.run(body);
    commit?.run();
    fdatasync(log, (error) => {
      if (error) throw error;
      for (const { durable } of group) durable();
      isBusy = waiting.length > 0;
      if (isBusy) write();
    });
  };
  return (body, durable) => {
    waiting.push({ body, durable });
    if (isBusy) return;
    isBusy = true;
    setImmediate(write);
  };
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
    const text = Buffer.concat(chunks).toString();
    const body: unknown = JSON.parse(text);
    if (method === 'PATCH') bodies = bodiesOf(body);
    if (method === 'POST' && insert) insert(text, () => respond(method, response));
    else respond(method, response);
  });
});
// Connections stay open while another server is measured.
server.keepAliveTimeout = 0;
server.listen(Number(port), '127.0.0.1');
