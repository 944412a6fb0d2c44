/** The methods of each path: `Allow` and the router agree. */

import assert from 'node:assert/strict';
import { METHODS } from 'node:http';
import test, { after } from 'node:test';
import { operations } from '../../src/api/index.ts';
import { pagePaths } from '../../src/http/page-paths.ts';
import { problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { exchange, requestText } from '../support/wire.ts';

const basePath = '/apps/gcf/api';
const service = await startService({
  stores: [{ domain: 'flowers.example' }],
  environment: { BASE_PATH: basePath },
});
after(() => service[Symbol.asyncDispose]());

/** CONNECT has no path, and Node.js handles it itself. */
const methods = METHODS.filter((method) => method !== 'CONNECT');
const templates = [...new Set(operations.map(({ path }) => path))];
const isStatic = (path: string): boolean => !path.includes(':');

/**
 * Computed from the table of operations: a static path matches itself, a template every other path of its form.
 */
function allowOf(template: string): string {
  const listed = operations.filter(({ path }) => path === template).map(({ method }) => method);
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
