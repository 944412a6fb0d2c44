/** The methods of each path: `Allow` and the router agree. */

import assert from 'node:assert/strict';
import { Agent, METHODS, request, type IncomingHttpHeaders } from 'node:http';
import test, { after } from 'node:test';
import { operationsOf } from '../../src/api/index.ts';
import { loadPages } from '../../src/start/routes.ts';
import { pagePaths } from '../../src/http/page-paths.ts';
import { problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { exchange, requestText } from '../support/wire.ts';

const { routes: consoleRoutes } = await loadPages();

const basePath = '/apps/gcf/api';
const service = await startService({
  stores: [{ domain: 'flowers.example' }],
  environment: { BASE_PATH: basePath },
});
after(() => service[Symbol.asyncDispose]());

/** CONNECT has no path, and Node.js handles it itself. */
const methods = METHODS.filter((method) => method !== 'CONNECT');
const templates = [...new Set(operationsOf(false).map(({ path }) => path))];
const isStatic = (path: string): boolean => !path.includes(':');

/**
 * Computed from the table of operations: a static path matches itself, a template every other path of its form.
 */
function allowOf(template: string): string {
  const listed = operationsOf(false)
    .filter(({ path }) => path === template)
    .map(({ method }) => method);
  const withHead = listed.includes('GET') ? [...listed, 'HEAD'] : listed;
  return [...new Set([...withHead, 'OPTIONS'])].toSorted().join(', ');
}

/** Asserts that only allowed methods require a credential. */
async function assertMethods(path: string, allow: string): Promise<void> {
  for (const method of methods) {
    const response = await exchange(service, requestText(`${method} ${path}`));
    const isAllowed = allow.split(', ').includes(method);
    const otherwise = isAllowed ? 401 : 405;
    const status = method === 'OPTIONS' ? 204 : otherwise;
    assert.equal(response.status, status, `${method} ${path}: ${response.text}`);
    assert.equal(response.headers.get('allow'), status === 401 ? null : allow, `${method} ${path}`);
    if (status === 405 && method !== 'HEAD') problemOf(response, { code: 'method-not-allowed', basePath });
  }
}

test('a request is routed if and only if Allow lists its method, on every path of an operation', async (t) => {
  for (const template of templates) {
    for (const id of isStatic(template) ? [''] : ['244212357349', 'a%20b']) {
      const path = template.replaceAll(/:\w+/g, id);
      await t.test(path, () => assertMethods(`${basePath}${path}`, allowOf(template)));
    }
  }
});

test('a static path is never the path of a record, in any encoding', async (t) => {
  const statics = templates.filter(
    (path) =>
      isStatic(path) &&
      templates.some(
        (other) =>
          !isStatic(other) &&
          new RegExp(`^${other.replaceAll(/:\w+/g, '[^/]+').replaceAll('/', '\\/')}$`).test(path),
      ),
  );
  assert.deepEqual(statics.toSorted(), [
    '/events/stream',
    '/gift_card/lookup',
    '/gift_card/redeem',
    '/gift_cards/count',
  ]);
  for (const path of statics) {
    const encoded = `${path.slice(0, -1)}%${path.charCodeAt(path.length - 1).toString(16)}`;
    for (const written of [path, encoded]) {
      await t.test(written, () => assertMethods(`${basePath}${written}`, allowOf(path)));
    }
  }
});

test('Allow is POST for lookups and redemptions, and GET and HEAD for the stream', () => {
  assert.equal(allowOf('/gift_card/lookup'), 'OPTIONS, POST');
  assert.equal(allowOf('/gift_card/redeem'), 'OPTIONS, POST');
  assert.equal(allowOf('/events/stream'), 'GET, HEAD, OPTIONS');
});

test('the path of a record can contain the name of a static path', async () => {
  await assertMethods(`${basePath}/gift_card/lookup/debit`, allowOf('/gift_card/:gift_card_id/debit'));
  await assertMethods(`${basePath}/gift_card/lookups`, allowOf('/gift_card/:gift_card_id'));
});

test('pages allow GET and HEAD at the root and below the base path; operations exist below it only', async (t) => {
  for (const page of Object.values(pagePaths)) {
    for (const prefix of ['', basePath]) {
      await t.test(`${prefix}${page}`, async () => {
        for (const method of methods.filter((each) => each !== 'GET' && each !== 'HEAD')) {
          const response = await exchange(
            service,
            requestText(`${method} ${prefix}${page.replace(':code', 'x')}`),
          );
          assert.equal(response.status, method === 'OPTIONS' ? 204 : 405, method);
          assert.equal(response.headers.get('allow'), 'GET, HEAD, OPTIONS');
        }
      });
    }
  }
  for (const method of methods) {
    const response = await exchange(service, requestText(`${method} /gift_card`));
    assert.equal(response.status, 404, method);
    assert.equal(response.headers.get('allow'), null);
  }
});

type Received = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };

/** Sends a request on a connection that stays open. */
function receive(agent: Agent, method: string, path: string): Promise<Received> {
  const { hostname: host, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const sent = request(
      { agent, host, port, method, path, headers: { 'x-request-id': 'r' } },
      (response) => {
        const { statusCode: status = 0, headers } = response;
        response.setEncoding('utf8');
        let body = '';
        response.on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status, headers, body }));
      },
    );
    sent.on('error', reject).end();
  });
}

test('every page for staff returns the same 405 to the methods that it does not have', async () => {
  using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
    [Symbol.dispose]: () => agent.destroy(),
  });
  const absent = await receive(agent, 'PUT', `${basePath}/healthz`);
  assert.equal(absent.status, 405);
  const usual = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY'];
  for (const [place, path] of [...new Set(consoleRoutes.map((route) => route.path))].entries()) {
    // The others are sent to every tenth path.
    const tried = place % 10 === 0 ? methods : usual;
    const listed = consoleRoutes.filter((route) => route.path === path).map(({ method }) => method);
    const allowed = new Set<string>([...listed, ...(listed.includes('GET') ? ['HEAD'] : []), 'OPTIONS']);
    const allow = [...allowed].toSorted().join(', ');
    const sent = `${basePath}${path.replaceAll(/:\w+/g, 'x')}`;
    for (const method of tried.filter((each) => !allowed.has(each) || each === 'OPTIONS')) {
      const { status, headers, body } = await receive(agent, method, sent);
      const named = `${method} ${sent}`;
      assert.equal(status, method === 'OPTIONS' ? 204 : 405, named);
      assert.equal(headers.allow, allow, named);
      if (method === 'OPTIONS') {
        assert.deepEqual([body, headers['cache-control']], ['', 'no-store'], named);
        continue;
      }
      assert.equal(body, method === 'HEAD' ? '' : absent.body, named);
      const { allow: _own, date: _date, ...others } = headers;
      const { allow: _theirs, date: _then, ...expected } = absent.headers;
      assert.deepEqual(others, expected, named);
    }
  }
});

test('a request with a method that its path does not have is logged and counted without the path', async () => {
  for (const [method, path] of [
    ['PUT', '/gift_card/lookup'],
    ['GET', '/gift_card/lookup'],
    ['PROPFIND', '/gift_card/123'],
    ['OPTIONS', '/gift_card/124'],
  ] as const) {
    const id = `unrouted-${method}`;
    const response = await exchange(
      service,
      requestText(`${method} ${basePath}${path}`, [['X-Request-Id', id]]),
    );
    assert.equal(response.status, method === 'OPTIONS' ? 204 : 405);
    const lines = service
      .log()
      .split('\n')
      .filter((line) => line.includes(`"${id}"`));
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      logged.map(({ method: of, route, status }) => [of, route, status]),
      [[method, 'unknown', response.status]],
    );
  }
});

test('a method that its path does not have is rejected before the body is received, whatever the path', async () => {
  for (const [method, path, status] of [
    ['PROPFIND', '/gift_card/1', 405],
    ['LOCK', '/gift_card/', 404],
    ['PROPFIND', '/gift_card//debit', 404],
    ['PROPFIND', '/nothing', 404],
    ['PROPFIND', '/gift_card/%zz', 400],
    ['PROPFIND', `/gift_card/${'a'.repeat(3_000)}`, 405],
  ] as const) {
    const response = await exchange(
      service,
      `${method} ${basePath}${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`,
    );
    assert.equal(response.status, status, `${method} ${path}`);
    assert.equal(response.headers.get('connection'), 'close');
    assert.equal(response.headers.get('allow') === null, status !== 405);
  }
});
