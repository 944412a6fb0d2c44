/** The responses that can contain a code or a secret, and are sealed when they are stored. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Type } from 'typebox';
import { operations } from '../../src/api/index.ts';
import { canHoldSecret } from '../../src/api/response.ts';

test('only the responses that create a code or a secret can contain one', () => {
  const found = operations.filter(({ documentation: { response } }) => {
    const { content } = response;
    return 'members' in content && canHoldSecret(content.members);
  });
  assert.deepEqual(found.map(({ id }) => id).toSorted(), [
    'createGiftCard',
    'createWebhook',
    'listBatchCards',
    'listStockCodes',
    'rotateGiftCardCode',
    'rotateWebhookSecret',
  ]);
});

test('a code or secret is found at every depth of a schema', () => {
  const secret = Type.String();
  assert.ok(canHoldSecret({ gift_card: Type.Object({ code: secret }) }));
  assert.ok(canHoldSecret({ list: Type.Array(Type.Union([Type.Null(), Type.Object({ secret })])) }));
  assert.ok(canHoldSecret({ secret }));
  assert.equal(
    canHoldSecret({ gift_card: Type.Object({ id: Type.Integer(), codes: Type.String() }) }),
    false,
  );
});
