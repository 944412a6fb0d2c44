/** Stores and access tokens. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { Secret } from '../../src/platform/secret.ts';
import {
  findOpenDemonstrationStore,
  findPresentedToken,
  findSignedStore,
  isStillAllowed,
  recordTokenUses,
} from '../../src/core/stores/service/caller.ts';
import {
  changeStore,
  createStore,
  ensureDemonstrationStore,
  requireStore,
} from '../../src/core/stores/service/store.ts';
import { tokenHash } from '../../src/core/stores/service/secret-token.ts';
import { accessTokensOf, createToken, revoke, rotateToken } from '../../src/core/stores/service/token.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import {
  findStoreByDomain,
  hasRealStores,
  listStores,
  openProxySecret,
} from '../../src/core/stores/storage/store.ts';
import { findActiveToken, hasRealTokens, listTokens } from '../../src/core/stores/storage/token.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { money, newStore, testContext } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';

export function testAccess(factory: StorageFactory): void {
  test('a store is stored as it was created, and its domain is taken', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const ctx = testContext();
    const given = newStore({
      domain: 'tea.example',
      name: 'Tea 🍵',
      currency: currencyOf('KWD'),
      timeZone: 'Asia/Kuwait',
      issueLimit: money('500.125', 'KWD'),
      proxySecret: new Secret('hush'),
      requireSignature: true,
      customerSearch: true,
      stockRequired: 'no',
    });
    const store = await storage.write(() => createStore(ctx, given));
    const record = await storage.read(() => requireStore('tea.example'));
    assert.deepEqual(record.store, store);
    const { proxySecret: _, ...settings } = given;
    const defaults = {
      expiringSoonDays: 0,
      holdLimitDays: 7,
      lookupFailuresPerHour: null,
      vat: null,
      accountNames: {},
      datev: null,
    };
    assert.deepEqual(store, { ...defaults, ...settings, id: store.id, demonstration: false });
    assert.equal(openProxySecret(ctx, record)?.reveal(), 'hush');
    await assert.rejects(
      storage.write(() => createStore(ctx, newStore({ domain: 'tea.example' }))),
      { code: 'invalid-parameter', errors: { domain: ['is taken'] } },
    );
    assert.equal((await storage.read(listStores)).length, 1);
    await assert.rejects(
      storage.read(() => requireStore('other.example')),
      { code: 'not-found' },
    );
  });

  test('a store update changes only the fields that it names', async () => {
    await using opened = await openStore(factory, { proxySecret: new Secret('hush') });
    const { storage, ctx, store } = opened;
    const change = (changes: Parameters<typeof changeStore>[2]) =>
      storage.write(() => changeStore(ctx, store.domain, changes));
    await change({ timeZone: 'Europe/Zurich', issueLimit: money('100'), requireSignature: true });
    const record = await storage.read(() => requireStore(store.domain));
    assert.deepEqual(record.store, {
      ...store,
      timeZone: 'Europe/Zurich',
      issueLimit: money('100'),
      requireSignature: true,
    });
    assert.equal(openProxySecret(ctx, record)?.reveal(), 'hush');
    await assert.rejects(change({ proxySecret: null }), { code: 'invalid-parameter' });
    await change({ proxySecret: null, requireSignature: false, issueLimit: null });
    const bare = await storage.read(() => requireStore(store.domain));
    assert.equal(bare.sealedSecret, null);
    assert.equal(bare.store.issueLimit, null);
    await assert.rejects(change({ requireSignature: true }), { code: 'invalid-parameter' });
  });

  test("a store's secret is sealed, and opens only in its own row", async () => {
    await using opened = await openStore(factory, { proxySecret: new Secret('hush hush hush') });
    const { storage, ctx, store, database } = opened;
    const given = newStore({ domain: 'other.example', proxySecret: new Secret('another') });
    await storage.write(() => createStore(ctx, given));
    const { sealedSecret } = await storage.read(() => requireStore(store.domain));
    assert.ok(sealedSecret && !Buffer.from(sealedSecret).toString('latin1').includes('hush'));
    await database.tamper(
      sql`update stores set proxy_secret = ${sealedSecret} where domain = 'other.example'`,
    );
    const moved = await storage.read(() => requireStore('other.example'));
    assert.throws(() => openProxySecret(ctx, moved));
  });

  test('the demonstration store exists once, until another store is created', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const ctx = testContext();
    await Promise.all(Array.from({ length: 5 }, () => storage.write(() => ensureDemonstrationStore(ctx))));
    const demonstration = await storage.read(findOpenDemonstrationStore);
    assert.equal(demonstration?.domain, 'demo.localhost');
    assert.equal((await storage.read(listStores)).length, 1);
    assert.equal(await storage.read(hasRealStores), false);
    const token = { store: demonstration, name: 'till', scopes: ['read_gift_cards'] as const };
    await storage.write(() => createToken(ctx, token));
    assert.equal(await storage.read(hasRealTokens), false);

    await storage.write(() => createStore(ctx, newStore()));
    assert.equal(await storage.read(hasRealStores), true);
    assert.equal(await storage.read(findOpenDemonstrationStore), undefined);
    await storage.write(() => ensureDemonstrationStore(ctx));
    assert.equal((await storage.read(listStores)).length, 2);
  });

  test('a demonstration store is not created if a real store exists', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx } = opened;
    await storage.write(() => ensureDemonstrationStore(ctx));
    assert.equal((await storage.read(listStores)).length, 1);
  });

  test('a token identifies its store until it is revoked, and is stored only as a hash', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { token, secret } = await storage.write(() =>
      createToken(ctx, { store, name: 'till', scopes: ['read_gift_cards', 'write_gift_cards'] }),
    );
    const text = secret.reveal();
    const rows = await storage.read(() => all(sql<Record<string, unknown>>`select * from access_tokens`));
    const stored = rows.flatMap((row) =>
      Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
      ),
    );
    assert.ok(stored.length > 5 && !stored.some((value) => value.includes(text.slice(-20))));

    const presented = accessTokensOf(ctx).parse(text);
    assert.ok(presented);
    const who = () => storage.read(() => findPresentedToken(presented));
    const found = await who();
    assert.deepEqual(found?.token, token);
    assert.deepEqual(found?.record.store, store);
    const forged = accessTokensOf(ctx).parse(`${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`);
    assert.ok(forged);
    assert.equal(await storage.read(() => findPresentedToken(forged)), undefined);

    const shop = await storage.read(() => findSignedStore(ctx, store.domain));
    assert.deepEqual(shop?.store, store);
    assert.equal(await storage.read(() => findSignedStore(ctx, 'nowhere.example')), undefined);

    assert.equal(await storage.read(hasRealTokens), true);
    await storage.write(() => revoke(ctx, store, token.id));
    assert.equal(await who(), undefined);
    assert.equal(await storage.read(hasRealTokens), false);
    const [listed] = await storage.read(() => listTokens(store.id));
    assert.deepEqual(listed, { ...token, revokedAt: ctx.clock.now() });
    await assert.rejects(
      storage.write(() => revoke(ctx, store, token.id)),
      { code: 'not-found' },
    );
  });

  test('a rotated token keeps everything but its secret and id, and the old token stops working', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const old = await storage.write(() =>
      createToken(ctx, { store, name: 'till', scopes: ['read_gift_cards'] }),
    );
    const rotated = await storage.write(() => rotateToken(ctx, store, old.token.id));
    assert.deepEqual({ ...rotated.token, id: old.token.id }, old.token);
    assert.notEqual(rotated.token.id, old.token.id);
    assert.notEqual(rotated.secret.reveal(), old.secret.reveal());
    const active = (given: typeof old) => storage.read(() => findActiveToken(store.id, tokenHash(given)));
    assert.equal(await active(old), undefined);
    assert.deepEqual((await active(rotated))?.token, rotated.token);
    for (const id of [old.token.id, 1]) {
      await assert.rejects(
        storage.write(() => rotateToken(ctx, store, id)),
        { code: 'not-found' },
      );
    }
    assert.equal((await storage.read(() => listTokens(store.id))).length, 2);
  });

  test('a token with an expiry is rejected from then on, and its replacement has the same period', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const dayMs = 24 * 60 * 60 * 1_000;
    const given = { store, name: 'till', scopes: ['read_events'] as const, periodMs: 30 * dayMs };
    const old = await storage.write(() => createToken(ctx, given));
    assert.equal(old.token.expiresAt, ctx.clock.now() + 30 * dayMs);
    const caller = { storeId: store.id, tokenId: old.token.id };
    const isAllowed = () => storage.read(() => isStillAllowed(ctx, caller));
    ctx.clock.advance(30 * dayMs - 1);
    assert.equal(await isAllowed(), true);
    ctx.clock.advance(1);
    assert.equal(await isAllowed(), false);
    const rotated = await storage.write(() => rotateToken(ctx, store, old.token.id));
    assert.equal(rotated.token.expiresAt, ctx.clock.now() + 30 * dayMs);
    const [listed] = await storage.read(() => listTokens(store.id));
    assert.deepEqual(listed, { ...old.token, revokedAt: ctx.clock.now() });
  });

  test('concurrent rotations of one token rotate it once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { token } = await storage.write(() =>
      createToken(ctx, { store, name: 'till', scopes: ['read_gift_cards'] }),
    );
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => storage.write(() => rotateToken(ctx, store, token.id))),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    const tokens = await storage.read(() => listTokens(store.id));
    assert.equal(tokens.length, 2);
    assert.equal(tokens.filter(({ revokedAt }) => revokedAt === null).length, 1);
  });

  test('the last use of a token is the latest recorded use', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { token } = await storage.write(() =>
      createToken(ctx, { store, name: 'till', scopes: ['read_gift_cards'] }),
    );
    const note = async (...instants: number[]) => {
      const uses = instants.map((usedAt) => ({ storeId: store.id, id: token.id, usedAt }));
      await storage.write(() => recordTokenUses(uses));
      return (await storage.read(() => listTokens(store.id)))[0]?.lastUsedAt;
    };
    assert.equal(await note(5_000), 5_000);
    assert.equal(await note(4_000, 7_000, 6_000), 7_000);
    assert.equal(await note(), 7_000);
  });

  test('a store is found only by its lowercase domain', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    assert.deepEqual((await storage.read(() => findStoreByDomain(store.domain)))?.store, store);
    assert.equal(await storage.read(() => findStoreByDomain('FLOWERS.example')), undefined);
  });
}
