import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault, type FaultCode } from '../../src/core/domain/fault.ts';
import {
  problemBody,
  problemContentType,
  problemHeaders,
  problemPath,
  problems,
} from '../../src/http/problem.ts';
import { statusOfCode, titleOfStatus } from '../support/error-codes.ts';

const codes = Object.keys(statusOfCode) as FaultCode[];

const options = { basePath: '/apps/x', requestId: 'r-1' };

test('every code has a status', () => {
  assert.deepEqual(
    Object.fromEntries(Object.entries(problems).map(([code, { status }]) => [code, status])),
    statusOfCode,
  );
});

for (const code of codes) {
  test(`${code}: type, title, status and detail agree`, () => {
    const body = problemBody(new Fault(code), options);
    assert.match(code, /^[a-z]+(?:-[a-z]+)*$/);
    assert.ok(body.type.endsWith(`/${code}`));
    assert.equal(body.type, `/apps/x/docs/problems/${code}`);
    assert.equal(problemBody(new Fault(code), { ...options, basePath: '' }).type, problemPath(code));
    assert.equal(body.status, statusOfCode[code]);
    assert.equal(body.title, titleOfStatus[body.status]);
    assert.equal(body.errors, body.title);
    assert.match(body.detail, /^[A-Z].*\.$/s);
    assert.equal(body.detail, problems[code].detail);
    assert.equal(body.request_id, 'r-1');
    assert.deepEqual(Object.keys(body), ['type', 'title', 'status', 'detail', 'errors', 'request_id']);
  });
}

test('all codes have different details', () => {
  assert.equal(new Set(codes.map((code) => problems[code].detail)).size, codes.length);
});

test('the detail and field errors of a fault replace the general ones', () => {
  const errors = { initial_value: ['must be greater than 0'] };
  const body = problemBody(new Fault('invalid-parameter', { detail: 'Just so.', errors }), options);
  assert.deepEqual(body, {
    type: '/apps/x/docs/problems/invalid-parameter',
    title: 'Unprocessable Content',
    status: 422,
    detail: 'Just so.',
    errors,
    request_id: 'r-1',
  });
});

test('a response does not contain the cause of a fault', () => {
  const fault = new Fault('internal-error', { cause: new Error('secret path /var/lib') });
  assert.ok(!JSON.stringify([problemBody(fault, options), problemHeaders(fault)]).includes('secret'));
  assert.equal(problemBody(fault, options).errors, 'Internal Server Error');
});

test('a field named __proto__ is returned like any other', () => {
  const errors = Object.fromEntries([['__proto__', ['is not a known parameter']]]);
  const text = JSON.stringify(problemBody(new Fault('invalid-parameter', { errors }), options));
  assert.ok(text.includes('"errors":{"__proto__":["is not a known parameter"]}'), text);
});

test('a problem is never cached and has its own content type', () => {
  assert.equal(problemContentType, 'application/problem+json; charset=utf-8');
  assert.deepEqual(problemHeaders(new Fault('not-found')), {
    'content-type': problemContentType,
    'cache-control': 'no-store',
  });
});

test('Retry-After is present if and only if the fault has a waiting time', () => {
  assert.equal(problemHeaders(new Fault('closing', { retryAfterSeconds: 1 }))['retry-after'], '1');
  assert.equal(problemHeaders(new Fault('closing', { retryAfterSeconds: 0 }))['retry-after'], '0');
  assert.ok(!('retry-after' in problemHeaders(new Fault('closing'))));
});

test('a 401 lists the accepted credentials, a 403 the scope, and no other problem does', () => {
  const challenged = codes.filter((code) => 'www-authenticate' in problemHeaders(new Fault(code)));
  assert.deepEqual(
    challenged,
    codes.filter((code) => statusOfCode[code] === 401 || code === 'insufficient-scope'),
  );
  assert.equal(problemHeaders(new Fault('unauthenticated'))['www-authenticate'], 'Bearer realm="largesse"');
  assert.equal(
    problemHeaders(new Fault('invalid-signature'))['www-authenticate'],
    'Bearer realm="largesse", AppProxy realm="largesse"',
  );
});

test('a missing scope is in the detail and the header, with all alternatives', () => {
  for (const [scopes, words, listed] of [
    [['read_gift_cards'], 'read_gift_cards', 'read_gift_cards'],
    [
      ['redeem_gift_cards', 'write_gift_cards'],
      'redeem_gift_cards or write_gift_cards',
      'redeem_gift_cards write_gift_cards',
    ],
  ] as const) {
    const fault = new Fault('insufficient-scope', { scopes });
    assert.equal(problemBody(fault, options).detail, `The access token lacks the scope ${words}.`);
    assert.equal(
      problemHeaders(fault)['www-authenticate'],
      `Bearer realm="largesse", error="insufficient_scope", scope="${listed}"`,
    );
    const detailed = new Fault('insufficient-scope', { scopes, detail: 'Just so.' });
    assert.equal(problemBody(detailed, options).detail, 'Just so.');
  }
});

test('the extensions of a fault precede the request id', () => {
  const errors = { amount: ['must be at most 5.00, the available amount'] };
  const fault = new Fault('insufficient-balance', { errors, extensions: { available: '5.00' } });
  assert.equal(
    JSON.stringify(problemBody(fault, options)),
    JSON.stringify({
      type: '/apps/x/docs/problems/insufficient-balance',
      title: 'Unprocessable Content',
      status: 422,
      detail: problems['insufficient-balance'].detail,
      errors,
      available: '5.00',
      request_id: 'r-1',
    }),
  );
});
