/** Tokens and webhooks that staff change: each with its permission and its entry in the list of what staff do. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { webhookVersionTagOf } from '../../src/features/webhooks/service/version.ts';
import { findWebhookWith, showWebhook } from '../../src/features/webhooks/service/webhook.ts';
import type { ByStaff } from '../../src/core/staff/service/as-staff.ts';
import { grantToken, endToken } from '../../src/features/developers/service/token.ts';
import {
  discardWebhook,
  editWebhook,
  pauseWebhook,
  redeliverTo,
  registerWebhook,
  renewWebhookSecret,
  sendTestTo,
} from '../../src/features/webhooks/service/staff-webhook.ts';
import { nameTokens, showToken } from '../../src/core/stores/service/token.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import type { StorageFactory } from '../support/database.ts';
import { issueCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { actionsOf, personOf } from '../support/acting.ts';

const fields = { url: 'https://flowers.example/secret-path', patterns: ['*'] };
const name = 'flowers.example';

async function withWebhook(opened: OpenStore, by: ByStaff) {
  const secret = generateSigningSecret(opened.ctx.random);
  const { webhook } = await opened.storage.write(() =>
    registerWebhook(opened.ctx, by, { ...fields, secret }),
  );
  return { webhook, secret };
}

export function testDeveloperActions(factory: StorageFactory): void {
  test('a token is granted and ended once, and both are listed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const granted = { name: 'Checkout', scopes: ['read_gift_cards', 'redeem_gift_cards'], periodMs: 1_000 } as const; // prettier-ignore
    const { token } = await storage.write(() => grantToken(ctx, owner, granted));
    assert.equal(token.expiresAt, token.createdAt + 1_000);
    const names = await storage.read(() => nameTokens(store.id, [token.id, 1]));
    assert.deepEqual([...names], [[token.id, 'Checkout']]);
    const ended = () => storage.write(() => endToken(ctx, owner, token.id));
    await ended();
    assert.notEqual((await storage.read(() => showToken(store.id, token.id))).revokedAt, null);
    await assert.rejects(ended(), { code: 'not-found' });
    await assert.rejects(
      storage.read(() => showToken(store.id, 1)),
      { code: 'not-found' },
    );
    assert.deepEqual(await actionsOf(opened, owner), [
      ['token-created', token.id, { name: 'Checkout', scopes: 'read_gift_cards, redeem_gift_cards' }],
      ['token-revoked', token.id, { name: 'Checkout' }],
    ]);
  });

  test('changes of a webhook are listed with its host, and those that change nothing are not', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const { webhook, secret } = await withWebhook(opened, owner);
    const { id } = webhook;
    const edited = (version: string, patterns: readonly string[]) =>
      storage.write(() => editWebhook(ctx, owner, { id, version, fields: { ...fields, patterns } }));
    const changed = await edited(webhookVersionTagOf(webhook), ['gift_card.issued']);
    await edited(webhookVersionTagOf(changed), ['gift_card.issued']);
    await assert.rejects(edited(webhookVersionTagOf(webhook), ['*']), { code: 'precondition-failed' });
    for (const paused of [true, true, false]) await storage.write(() => pauseWebhook(ctx, owner, id, paused));
    const next = generateSigningSecret(ctx.random);
    const has = (each: typeof secret) =>
      storage.read(() => findWebhookWith(ctx, { storeId: store.id, id, secret: each }));
    assert.ok(await has(secret));
    await storage.write(() => renewWebhookSecret(ctx, owner, { id, secret: next }));
    assert.equal(await has(secret), undefined);
    assert.ok(await has(next));
    await storage.write(() => discardWebhook(ctx, owner, id));
    assert.equal(await has(next), undefined);
    await assert.rejects(
      storage.write(() => discardWebhook(ctx, owner, id)),
      { code: 'not-found' },
    );
    assert.deepEqual(await actionsOf(opened, owner), [
      ['webhook-created', id, { name }],
      ['webhook-changed', id, { name, fields: 'events' }],
      ['webhook-changed', id, { name, paused: true }],
      ['webhook-changed', id, { name, resumed: true }],
      ['webhook-changed', id, { name, rotated: true }],
      ['webhook-deleted', id, { name }],
    ]);
  });

  test('a test and a redelivery are listed, and those to a paused webhook are rejected', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const { webhook } = await withWebhook(opened, owner);
    const { id } = webhook;
    const { eventId } = await storage.write(() => sendTestTo(ctx, owner, webhook));
    await storage.write(() => issue(ctx, issueCommand(store)));
    const again = () => storage.write(() => redeliverTo(ctx, owner, { webhook, eventId }));
    await again();
    await storage.write(() => pauseWebhook(ctx, owner, id, true));
    await assert.rejects(again(), { code: 'webhook-paused' });
    await assert.rejects(
      storage.write(() => sendTestTo(ctx, owner, webhook)),
      { code: 'webhook-paused' },
    );
    assert.deepEqual(await actionsOf(opened, owner), [
      ['webhook-created', id, { name }],
      ['event-sent', id, { name, test: true }],
      ['event-sent', id, { name, event: eventId }],
      ['webhook-changed', id, { name, paused: true }],
    ]);
  });

  test('only people who manage tokens change tokens and webhooks, and a rejected change is not listed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const owner = await personOf(opened, 'owner');
    const { webhook, secret } = await withWebhook(opened, owner);
    const { id } = webhook;
    const granted = { name: 'Checkout', scopes: ['read_gift_cards'], periodMs: null } as const;
    const { token } = await storage.write(() => grantToken(ctx, owner, granted));
    const { eventId } = await storage.write(() => sendTestTo(ctx, owner, webhook));
    const changes: readonly ((by: ByStaff) => Script<unknown>)[] = [
      (by) => grantToken(ctx, by, granted),
      (by) => endToken(ctx, by, token.id),
      (by) => registerWebhook(ctx, by, { ...fields, secret }),
      (by) => editWebhook(ctx, by, { id, version: webhookVersionTagOf(webhook), fields }),
      (by) => pauseWebhook(ctx, by, id, true),
      (by) => renewWebhookSecret(ctx, by, { id, secret }),
      (by) => discardWebhook(ctx, by, id),
      (by) => sendTestTo(ctx, by, webhook),
      (by) => redeliverTo(ctx, by, { webhook, eventId }),
    ];
    for (const role of ['manager', 'cashier', 'accountant'] as const satisfies readonly Role[]) {
      const person = await personOf(opened, role);
      for (const change of changes)
        await assert.rejects(
          storage.write(() => change(person)),
          { code: 'insufficient-scope' },
        );
      assert.deepEqual(await actionsOf(opened, person), []);
    }
    assert.deepEqual(await storage.read(() => showWebhook(store.id, id)), webhook);
    assert.equal((await storage.read(() => showToken(store.id, token.id))).revokedAt, null);
  });
}
