/** Requests that are too large, too slow or not valid HTTP. */

import assert from 'node:assert/strict';
import { once as happens } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import test, { after } from 'node:test';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { limits } from '../../src/platform/limits.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';
import { converse, exchange, openWire, parseResponses, requestText } from '../support/wire.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id } = await shop.issue();
const bearer = ['Authorization', `Bearer ${shop.token}`] as const;
const json = ['Content-Type', 'application/json'] as const;

type Field = readonly [string, string];

/** A creation with a body of this size, padded with spaces. */
function bodyOf(bytes: number): string {
  const text = '{"initial_value":5}';
  return text + ' '.repeat(bytes - text.length);
}

function chunked(body: string, chunkBytes: number): string {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.slice(at, at + chunkBytes);
    chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  return `${chunks.join('')}0\r\n\r\n`;
}

function send(line: string, headers: readonly Field[], body = ''): Promise<TestResponse> {
  return exchange(service, requestText(line, [bearer, ...headers], body));
}

test('a body has at most 64 KiB', async (t) => {
  const exact = bodyOf(65_536);
  await t.test('64 KiB', async () => {
    issuedGiftCardOf(await send('POST /gift_card', [json, ['Content-Length', '65536']], exact));
  });
  await t.test('64 KiB in chunks', async () => {
    issuedGiftCardOf(
      await send('POST /gift_card', [json, ['Transfer-Encoding', 'chunked']], chunked(exact, 4_000)),
    );
  });
  for (const line of ['POST /gift_card', `PUT /gift_card/${id}`]) {
    for (const bytes of [65_537, 70_000, 1_000_000]) {
      await t.test(`${bytes} bytes ${line.slice(0, 4)}`, async () => {
        const body = bodyOf(bytes);
        await unchanged(service, async () => {
          problemOf(await send(line, [json, ['Content-Length', String(bytes)]], body), { code: 'body-too-large' });
        });
      });
    }
    await t.test(`65,537 bytes in chunks ${line.slice(0, 4)}`, async () => {
      await unchanged(service, async () => {
        const body = chunked(bodyOf(65_537), 4_000);
        problemOf(await send(line, [json, ['Transfer-Encoding', 'chunked']], body), { code: 'body-too-large' });
      });
    });
    await t.test(`rejected by its length alone ${line.slice(0, 4)}`, async () => {
      problemOf(await send(line, [json, ['Content-Length', '9007199254740991']]), { code: 'body-too-large' });
    });
  }
  await t.test('a large body of an unsupported type is too large', async () => {
    const fields: Field[] = [['Content-Type', 'text/plain'], ['Content-Length', '65537']];
    problemOf(await send('POST /gift_card', fields, bodyOf(65_537)), { code: 'body-too-large' });
  });
  await t.test('the body of an unauthenticated request is not read', async () => {
    const text = requestText('POST /gift_card', [json, ['Content-Length', '1000000']]);
    problemOf(await exchange(service, text), { code: 'unauthenticated' });
  });
}); // prettier-ignore

for (const connection of ['close', 'keep-alive']) {
  test(`a client that reads only after sending far too much gets the response (connection: ${connection})`, async () => {
    const bytes = 8 * 2 ** 20;
    await using wire = openWire(service);
    wire.socket.pause();
    const head = requestText('POST /gift_card', [bearer, json, ['Content-Length', String(bytes)]]);
    wire.send(head.replace('Connection: close', `Connection: ${connection}`));
    for (let sent = 0; sent < bytes; sent += 2 ** 16) {
      if (!wire.socket.write(Buffer.alloc(2 ** 16, ' '))) await happens(wire.socket, 'drain');
    }
    wire.socket.resume();
    await wire.closed;
    const [error] = parseResponses(wire.received());
    assert.ok(error, wire.received());
    problemOf(error, { code: 'body-too-large' });
  });
}

test('a request has at most 100 header fields', async () => {
  // The count includes Host, Authorization and Connection.
  const fields = (count: number): Field[] =>
    Array.from({ length: count - 3 }, (_, index) => [`X-Field-${index}`, 'x']);
  giftCardOf(await send(`GET /gift_card/${id}`, fields(100)));
  for (const count of [101, 500]) {
    problemOf(await send(`GET /gift_card/${id}`, fields(count)), { code: 'headers-too-large' });
    await unchanged(service, async () => {
      const creation = [json, ['Content-Length', '19'], ...fields(count)] as const;
      problemOf(await send('POST /gift_card', creation, bodyOf(19)), { code: 'headers-too-large' });
    });
  }
});

test('header fields have at most 16 KiB in total', async (t) => {
  giftCardOf(await send(`GET /gift_card/${id}`, [['X-Large', 'x'.repeat(15 * 1_024)]]));
  const large: Readonly<Record<string, readonly [line: string, headers: readonly Field[]]>> = {
    'one field of 17 KiB': [`GET /gift_card/${id}`, [['X-Large', 'x'.repeat(17 * 1_024)]]],
    'ten fields of 1.7 KiB': [
      `GET /gift_card/${id}`,
      Array.from({ length: 10 }, (_, index) => [`X-Large-${index}`, 'x'.repeat(1_741)] as const),
    ],
    'a target of 17 KiB': [`GET /gift_card/${id}?shop=${'x'.repeat(17 * 1_024)}`, []],
  };
  for (const [name, [line, headers]] of Object.entries(large)) {
    await t.test(name, async () => {
      problemOf(await send(line, headers), { code: 'headers-too-large' });
    });
  }
});

test('invalid HTTP is malformed, closes the connection and changes nothing', async (t) => {
  const { token } = shop;
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
  const body = '{"initial_value":5}';
  const hidden = `POST /gift_card HTTP/1.1\r\n${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  const requests: Readonly<Record<string, string>> = {
    'HTTP/0.9': `GET /gift_card/${id}\r\n\r\n`,
    'HTTP/3.7': `GET /gift_card/${id} HTTP/3.7\r\n${head}\r\n`,
    'no protocol': `GET /gift_card/${id} HTTP\r\n${head}\r\n`,
    'another protocol': `GET /gift_card/${id} ICE/1.0\r\n${head}\r\n`,
    'not a request': 'hello\r\n\r\n',
    'a TLS handshake': '\u0016\u0003\u0001\u0002\u0000\u0001',
    'two Content-Lengths': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: 19\r\nContent-Length: 5\r\n\r\n${body}`,
    'two equal Content-Lengths': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: 19\r\nContent-Length: 19\r\n\r\n${body}`,
    'a list of Content-Lengths': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: 19, 19\r\n\r\n${body}`,
    'a negative Content-Length': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: -1\r\n\r\n${body}`,
    'a Content-Length with a sign': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: +19\r\n\r\n${body}`,
    'a Content-Length in hexadecimal': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: 0x13\r\n\r\n${body}`,
    'chunks and a length': `POST /gift_card HTTP/1.1\r\n${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a length and chunks': `POST /gift_card HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\nContent-Length: ${hidden.length + 5}\r\n\r\n0\r\n\r\n${hidden}`,
    'two encodings': `POST /gift_card HTTP/1.1\r\n${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    'an unknown encoding': `POST /gift_card HTTP/1.1\r\n${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a space before the colon': `GET /gift_card/${id} HTTP/1.1\r\n${head}X-Y : z\r\n\r\n`,
    'a folded header': `GET /gift_card/${id} HTTP/1.1\r\n${head}X-Y: a\r\n b\r\n\r\n`,
    'a bare carriage return': `GET /gift_card/${id} HTTP/1.1\r\n${head}X-Y: a\rb\r\n\r\n`,
    'bare line feeds': `GET /gift_card/${id} HTTP/1.1\n${head.replaceAll('\r', '')}\n`,
    'a NUL in a header': `GET /gift_card/${id} HTTP/1.1\r\n${head}X-Y: a\u0000b\r\n\r\n`,
    'a space in the target': `GET /gift_card/${id} x HTTP/1.1\r\n${head}\r\n`,
    'a chunk without a length': `POST /gift_card HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n${body}\r\n0\r\n\r\n`,
    'a chunk that is longer than its length': `POST /gift_card HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n5\r\n${body}\r\n0\r\n\r\n`,
    'an unknown method': `BREW /gift_card HTTP/1.1\r\n${head}\r\n`,
    'a method in lower case': `get /gift_card/${id} HTTP/1.1\r\n${head}\r\n`,
    'two Hosts': `GET /gift_card/${id} HTTP/1.1\r\nHost: other.example\r\n${head}Connection: close\r\n\r\n`,
    'two equal Hosts': `GET /gift_card/${id} HTTP/1.1\r\nHost: 127.0.0.1\r\n${head}Connection: close\r\n\r\n`,
  };
  for (const [name, bytes] of Object.entries(requests)) {
    await t.test(name, async () => {
      await unchanged(service, async () => {
        const responses = await converse(service, Buffer.from(bytes, 'latin1'));
        const [response, ...others] = responses;
        assert.ok(response);
        assert.equal(others.length, 0);
        problemOf(response, { code: 'invalid-request' });
        assert.equal(response.headers.get('connection')?.toLowerCase(), 'close');
      });
    });
  }
}); // prettier-ignore

test('a request without Host gets an error with the usual body', async () => {
  const text = `GET /gift_card/${id} HTTP/1.1\r\nAuthorization: Bearer ${shop.token}\r\nConnection: close\r\n\r\n`;
  problemOf(await exchange(service, text), { code: 'invalid-request' });
});

test('HTTP/1.0, which needs no Host, gets a response and closes the connection', async () => {
  const text = `GET /gift_card/${id} HTTP/1.0\r\nAuthorization: Bearer ${shop.token}\r\n\r\n`;
  giftCardOf(await exchange(service, text));
});

test('two lengths never turn one request into two', async () => {
  // A lenient proxy reads this as the body of the first request. The service must not execute it.
  const inner = `GET /gift_card/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.token}\r\n\r\n`;
  const responses = await converse(
    service,
    `POST /gift_card HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  );
  assert.equal(responses.length, 1);
});

test('a header with a single value cannot be repeated', async (t) => {
  const once = [
    ['Authorization', bearer[1]],
    ['X-Access-Token', shop.token],
    ['x-gcf-access-token', shop.token],
    ['Content-Type', 'application/json'],
    ['Content-Encoding', 'identity'],
    ['Idempotency-Key', 'k'],
  ] as const;
  for (const [name, value] of once) {
    await t.test(name, async () => {
      const others = [bearer, json].filter(([other]) => other !== name);
      const fields = [...others, [name, value] as const, [name, value] as const, ['Content-Length', '19'] as const];
      await unchanged(service, async () => {
        problemOf(await exchange(service, requestText('POST /gift_card', fields, bodyOf(19))), { code: 'invalid-request' });
      });
    });
  }
}); // prettier-ignore

test('a path with invalid encoding is malformed', async (t) => {
  for (const path of ['/gift_card/%', '/gift_card/%zz', '/gift_card/%1', '/gift_card/%ff', '/gift_card/%c3%28', '/%zz', '/docs/problems/%']) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      await t.test(`${method} ${path}`, async () => {
        await unchanged(service, async () => {
          const response = await send(`${method} ${path}`, [['X-Request-Id', 'bad-path']]);
          problemOf(response, { code: 'invalid-request' });
          assert.equal(response.headers.get('x-request-id'), 'bad-path');
        });
      });
    }
  }
}); // prettier-ignore

test('100-continue is supported, and any other expectation is rejected', async (t) => {
  const body = '{"initial_value":5}';
  const fields: Field[] = [json, ['Content-Length', String(body.length)]];
  await t.test('100-continue', async () => {
    await using wire = openWire(service);
    wire.send(requestText('POST /gift_card', [bearer, ['Expect', '100-continue'], ...fields]));
    while (!wire.received().includes('\r\n\r\n')) await wait(5);
    assert.match(wire.received(), /^HTTP\/1\.1 100 Continue\r\n/);
    wire.send(body);
    await wire.closed;
    const [response] = parseResponses(wire.received());
    assert.ok(response);
    issuedGiftCardOf(response);
  });
  for (const expectation of ['tea', '200-ok', '101-continue']) {
    await t.test(expectation, async () => {
      await unchanged(service, async () => {
        const response = await send('POST /gift_card', [['Expect', expectation], ...fields], body);
        problemOf(response, { code: 'expectation-failed' });
      });
    });
  }
});

test('a rejected expectation returns the request id of the client, like every other response', async () => {
  const response = await send('GET /healthz', [['Expect', 'tea'], ['X-Request-Id', 'mine']]);
  problemOf(response, { code: 'expectation-failed' });
  assert.equal(response.headers.get('x-request-id'), 'mine');
}); // prettier-ignore

test('pipelined requests get their responses in order', async () => {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${shop.token}\r\n`;
  const body = '{"initial_value":5}';
  const creation = `POST /gift_card HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const responses = await converse(
    service,
    `${creation}GET /gift_card/${id} HTTP/1.1\r\n${head}\r\nGET /gift_card/1 HTTP/1.1\r\n${head}X-Request-Id: third\r\n\r\n${creation}` +
      `GET /healthz HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
  );
  assert.deepEqual(
    responses.map(({ status }) => status),
    [201, 200, 404, 201, 200],
  );
  const [first, second, third, fourth] = responses;
  assert.ok(first && second && third && fourth);
  assert.equal(giftCardOf(second).id, id);
  assert.equal(third.headers.get('x-request-id'), 'third');
  assert.notEqual(issuedGiftCardOf(first).id, issuedGiftCardOf(fourth).id);
});

test('an absolute-form target is handled as its path', async () => {
  const { host } = new URL(service.url);
  giftCardOf(await send(`GET http://${host}/gift_card/${id}`, []));
  problemOf(await send(`GET http://${host}/gift_card/${id}?page=1`, []), {
    code: 'invalid-query',
    errors: { page: ['is not a known parameter'] },
  });
  problemOf(await send(`GET http://${host}/nowhere`, []), { code: 'not-found' });
});

test('a request for an unsupported upgrade is an ordinary request', async () => {
  const text = `GET /gift_card/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${shop.token}\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\r\n`;
  giftCardOf(await exchange(service, text));
});

test('by default, headers can take 10 s and whole requests 30 s', () => {
  assert.deepEqual([limits.headersTimeoutMs, limits.requestTimeoutMs], [10_000, 30_000]);
});

test(
  'slow requests are aborted: headers and bodies after their timeouts',
  { concurrency: true },
  async (t) => {
    await using hasty = await startService({
      stores: [{ domain: 'flowers.example' }],
      limits: { headersTimeoutMs: 1_000, requestTimeoutMs: 5_000 },
    });
    const client = await shopOf(hasty, 'flowers.example');
    const { id: cardId } = await client.issue();
    const drip = async (wire: ReturnType<typeof openWire>, bytes: () => string): Promise<void> => {
      let isOpen = true;
      const closed = wire.closed.then(() => {
        isOpen = false;
      });
      while (isOpen) {
        wire.send(bytes());
        await Promise.race([wait(500), closed]);
      }
    };
    const cases = [
      {
        name: 'headers',
        start: 'GET /gift_card/1 HTTP/1.1\r\nHost: x\r\n',
        more: () => 'X-A: b\r\n',
        from: 900,
        to: 4_000,
      },
      { name: 'nothing at all', start: '', more: () => '', from: 900, to: 4_000 },
      {
        name: 'a body with a length',
        start: `POST /gift_card HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{`,
        more: () => ' ',
        from: 4_900,
        to: 8_000,
      },
      {
        name: 'a body in chunks',
        start: `PUT /gift_card/${cardId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
        more: () => '1\r\n \r\n',
        from: 4_900,
        to: 8_000,
      },
    ];
    const state = await hasty.state();
    await Promise.all(
      cases.map(({ name, start, more, from, to }) =>
        t.test(name, async () => {
          await using wire = openWire(hasty);
          wire.send(start);
          await drip(wire, more);
          const elapsed = await wire.closed;
          assert.ok(elapsed > from && elapsed < to, `${elapsed} ms`);
          const [response] = parseResponses(wire.received());
          assert.ok(response, 'the connection was closed without a response');
          problemOf(response, { code: 'request-timeout' });
        }),
      ),
    );
    assert.equal(await hasty.state(), state);
  },
);
