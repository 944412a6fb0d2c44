import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { packResponse, unpackResponse } from '../../src/core/requests/service/response-packing.ts';

const creation = {
  status: 201,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    etag: '"5230677987179581-1"',
    location: '/gift_card/5230677987179581',
  },
  body:
    '{"gift_card":{"id":5230677987179581,"balance":"25.00","created_at":"2026-11-22T09:26:58Z","currency":"USD",' +
    '"initial_value":"25.00","disabled_at":null,"line_item_id":null,"api_client_id":244326473903317,"user_id":null,' +
    '"customer_id":null,"customer_email":null,"recipient_id":null,"recipient_email":null,"note":null,' +
    '"expires_on":null,"message":null,"last_characters":"v3h4","order_id":null,"code":"0nj1vnxp5ez1v3h4"}}',
};

test('a response is packed into a fraction of its bytes and unpacked byte for byte', () => {
  const packed = packResponse(creation);
  assert.equal(packed.length, 142);
  assert.equal(JSON.stringify(unpackResponse(packed)), JSON.stringify(creation));
});

test('a response that was packed earlier is still readable', () => {
  const stored =
    '\u0001\u00005230677987179581-1\u0002/gift_card/5230677987179581\u00035230677987179581\u000425.00' +
    '\u00052026-11-22T09:26:58\u0006USD\u000725.00\b244326473903317\fv3h4\u00140nj1vnxp5ez1v3h4"}}';
  assert.deepEqual(unpackResponse(Buffer.from(stored)), creation);
});

test('the codes of all phrases do not change', () => {
  const codes = '\u0000-\u0009\u000b-\u001e\u0080-\u0091'.replaceAll(
    /(.)-(.)/gs,
    (_, from: string, to: string) =>
      String.fromCharCode(
        ...Array.from(
          { length: to.charCodeAt(0) - from.charCodeAt(0) + 1 },
          (__, place) => from.charCodeAt(0) + place,
        ),
      ),
  );
  assert.equal(codes.length, 48);
  const { body } = unpackResponse(Buffer.from(`\u0001{"status":200,"headers":{}}\n${codes}`));
  // A changed phrase makes stored responses wrong. Append a new one instead.
  assert.equal(
    createHash('sha256').update(body).digest('hex'),
    '657dc75d2803543a37e983de3d06975f1553ae40a819e3ce076a8e5e24415c86',
  );
});

test('a response that was stored before packing is read as JSON', () => {
  assert.deepEqual(unpackResponse(Buffer.from(JSON.stringify(creation))), creation);
});

test('every text is unpacked unchanged, whatever characters and phrases it contains', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code)) }),
    fc.constantFrom(
      '\u001f',
      '\n',
      '"}}\n{"gift_card":{"id":',
      ',"note":',
      'Z","currency":"',
      '","order_id":null,"held":"',
    ),
  );
  const text = fc.array(piece).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(
      fc.integer({ min: 200, max: 599 }),
      fc.dictionary(text, text),
      text,
      (status, headers, body) => {
        const response = { status, headers: { ...headers }, body };
        assert.deepEqual(unpackResponse(packResponse(response)), response);
      },
    ),
  );
});
