/** The mode in which the service starts: development or production. */

import { isDevelopment, type Config } from './config.ts';
import type { Database } from './database.ts';
import { createSetupLink, type SetupLink } from '../features/setup/service/setup.ts';
import { ensureDemonstrationStore } from '../core/stores/service/store.ts';
import { StartError } from './error.ts';
import { findDemonstrationStore, hasRealStores } from '../core/stores/storage/store.ts';
import { Fault } from '../core/domain/fault.ts';
import { programCommand } from '../platform/program-files.ts';
import type { Storage } from '../database/storage.ts';
import { hasRealTokens } from '../core/stores/storage/token.ts';

/**
 * Whether requests without a credential are accepted. Outside of development, the service starts only with a store and
 * a token, or with pages on which an owner creates them.
 */
export async function chooseMode(config: Config, { ctx, storage }: Database): Promise<boolean> {
  const hasStores = await storage.read(hasRealStores);
  const hasPages = config.hasConsole && config.publicUrl !== null;
  if (!isDevelopment(config) && !hasPages && !(hasStores && (await hasTokens(storage)))) {
    const why = whyNotDevelopment(config);
    throw new StartError(
      `With ${why} the service needs a store and an access token. Create them first:\n` +
        `  ${programCommand} store create flowers.example --currency USD\n` +
        `  ${programCommand} token create --store flowers.example\n` +
        'To set up a shop in a browser instead, set PUBLIC_URL to the address at which browsers reach the service.',
      { isPermanent: true },
    );
  }
  // Stores are never removed, so development mode cannot be switched on later.
  if (!isDevelopment(config) || hasStores) return false;
  // If the store exists, nothing is written, because the disk can be full or read-only.
  if (!(await storage.read(findDemonstrationStore))) await storage.write(() => ensureDemonstrationStore(ctx));
  return true;
}

function whyNotDevelopment({ isProduction, https, host }: Config): string {
  if (isProduction) return 'NODE_ENV=production';
  return https.kind === 'off' ? `HOST=${host}` : `HTTPS=${https.kind}`;
}

/** Returns the link for the first owner, if there is none yet. Without a server of a cluster, that is unknown. */
export async function findSetupLink({ ctx, storage }: Database): Promise<SetupLink | undefined | null> {
  try {
    return await storage.read(() => createSetupLink(ctx));
  } catch (error) {
    if (storage.isDistributed && error instanceof Fault && error.code === 'unavailable') return null;
    throw error;
  }
}

/** In a distributed database a start must not need every server, so tokens are not searched there. */
async function hasTokens(storage: Storage): Promise<boolean> {
  return storage.isDistributed || storage.read(hasRealTokens);
}
