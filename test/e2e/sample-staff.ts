/** The people of a store in a database to copy: how they sign in, what they did, and their devices. */

import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { blankImage } from '../../src/features/emails/delivery/qr.ts';
import { recordFailedSignIn } from '../../src/features/staff/service/failed-sign-in.ts';
import { changeLogo } from '../../src/features/shop-settings/service/settings.ts';
import { createSession } from '../../src/core/staff/service/session.ts';
import { inviteStaff } from '../../src/core/staff/service/staff.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { enrollTill } from '../../src/features/till/service/staff-till.ts';
import { insertPasskey } from '../../src/features/staff/storage/passkey.ts';
import { saveSetupStep } from '../../src/core/stores/storage/setup-step.ts';
import { email } from '../support/fixtures.ts';

const logo = { type: 'image/png', width: 1, height: 1, content: blankImage() } as const;

/** Adds an owner with a link, a passkey, a till and a session on it, a failed sign-in, and the logo of the store. */
export async function addStaff(environment: Readonly<Record<string, string>>, domain: string): Promise<void> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  await storage.write(function* add() {
    const { store } = yield* requireStore(domain);
    const person = { name: 'Käthe 🌷', email: email('käthe@example.com'), role: 'owner' } as const;
    const { member } = yield* inviteStaff(ctx, {
      store,
      by: null,
      ...person,
      saleLimit: null,
      refundLimit: null,
      locationIds: null,
    });
    const by = { store, member, tillId: null };
    yield* changeLogo(ctx, by, logo);
    const device = { name: 'Kasse № 1', replaced: null, session: null };
    const { till } = yield* enrollTill(ctx, by, device);
    yield* createSession(ctx, member, { method: 'pin', tillId: till.id, userAgent: 'Größe/1.0' });
    yield* insertPasskey({
      storeId: store.id,
      id: ctx.random.id(),
      staffId: member.id,
      credentialId: new Uint8Array([0, 1, 127, 128, 255]),
      publicKey: new Uint8Array([165, 1, 2, 3]),
      signCount: 7,
      transports: ['internal', 'hybrid'],
      name: 'Schlüssel',
      createdAt: ctx.clock.now(),
      lastUsedAt: null,
    });
    yield* recordFailedSignIn(ctx, {
      store,
      address: email('unknown@example.com'),
      staffId: null,
    });
    yield* saveSetupStep({ storeId: store.id, step: 'backup', doneAt: ctx.clock.now(), staffId: member.id });
  });
}
