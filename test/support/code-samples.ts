/** Runs the samples of the API reference, and compares the requests that arrive with the documented ones. */

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { operations } from '../../src/api/index.ts';
import type { Operation } from '../../src/api/operation-route.ts';
import { samplesOf } from '../../src/features/reference/docs/samples.ts';

export const sampleToken = 'lgs_sample';

type Received = {
  readonly method: string;
  readonly target: string;
  readonly key: string | undefined;
  readonly token: string | undefined;
  readonly body: unknown;
};

export type SampleServer = AsyncDisposable & {
  readonly url: string;
  /** Writes the samples of a language to a folder, one file for each operation, and returns their names. */
  readonly writeSamples: (folder: string, language: string, extension: string) => readonly string[];
  /** Asserts that each operation has received its documented request. */
  readonly assertReceived: () => void;
};

/** The sample of an operation in a language. */
export function sampleIn(language: string, operation: Operation, baseUrl: string): string {
  const sample = samplesOf(operation, baseUrl).find(({ caption }) => caption === language);
  return sample?.code ?? assert.fail(`no sample in ${language}`);
}

/** A server that responds with the examples of the documentation. Each operation has a base path of its own. */
export async function openSampleServer(): Promise<SampleServer> {
  const received = new Map<string, Received[]>();
  const server = createServer((request, response) => {
    void receivedFrom(request).then(({ id, ...one }) => {
      const earlier = received.get(id) ?? [];
      received.set(id, [...earlier, one]);
      const operation = operations.find((each) => each.id === id) ?? assert.fail(id);
      const { content, status } = operation.documentation.response;
      // A stream that ends is opened again, until it is rejected.
      if (earlier.filter(({ target }) => target === one.target).length > 1)
        return response.writeHead(404).end();
      const isStream = one.target.startsWith('/events/stream');
      response.writeHead(status, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      // The client library asks for the last event before it opens the stream.
      const isBeforeStream = id === 'streamEvents' && !isStream;
      if (isStream) return response.end(`data: {"id":1}\n\n`);
      return response.end(isBeforeStream ? `{"events":[]}` : exampleOf(content));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    writeSamples(folder, language, extension) {
      mkdirSync(folder);
      return operations.map((operation) => {
        const name = `${operation.id}.${extension}`;
        writeFileSync(join(folder, name), `${sampleIn(language, operation, `${url}/${operation.id}`)}\n`);
        return name;
      });
    },
    assertReceived() {
      for (const operation of operations) {
        const expected = documentedRequest(operation);
        const requests = received.get(operation.id) ?? [];
        const found = requests.find(({ target }) => target === expected.target) ?? requests[0];
        assert.deepEqual(found, expected, operation.id);
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function exampleOf({ example }: Operation['documentation']['response']['content']): string {
  return typeof example === 'string' ? example : JSON.stringify(example);
}

async function receivedFrom(request: IncomingMessage): Promise<Received & { readonly id: string }> {
  const [, id = '', target = ''] = /^\/(\w+)(\/.*)$/.exec(request.url ?? '') ?? [];
  const body = await text(request);
  return {
    id,
    method: request.method ?? '',
    target: decodeURIComponent(target),
    // The client library makes a key for each write that has none.
    key: /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(String(request.headers['idempotency-key']))
      ? undefined
      : (request.headers['idempotency-key'] as string | undefined),
    token: request.headers.authorization,
    body: body === '' ? undefined : JSON.parse(body),
  };
}

/** The request of an operation's example, read from its curl command. */
function documentedRequest(operation: Operation): Received {
  const curl = sampleIn('curl', operation, '');
  const [, method = 'GET', target = ''] = /^curl (?:-X ([A-Z]+) )?"([^"]*)"/.exec(curl) ?? [];
  const [, key] = /Idempotency-Key: ([^"]*)"/.exec(curl) ?? [];
  const [, body] = /-d '([^']*)'$/.exec(curl) ?? [];
  return {
    method,
    target,
    key,
    token: `Bearer ${sampleToken}`,
    body: body === undefined ? undefined : JSON.parse(body),
  };
}
