/** The settings of a store with those of its emails. */

import { createHash } from 'node:crypto';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { EmailText } from '../../emails/domain/wording.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Settings } from '../domain/settings.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listEmailTexts } from '../../emails/storage/wording.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { claimStore, findStore, type StoreRecord } from '../../../core/stores/storage/store.ts';

export { findLogo } from '../../../core/stores/storage/logo.ts';

/** @throws Fault `not-found`. */
export function* findSettings({ id }: Pick<Store, 'id'>): Script<Settings> {
  const [record, emails, texts] = yield* parallel(findStore(id), findEmailSettings(id), listEmailTexts(id));
  return settingsOf(record, emails, texts);
}

function settingsOf(
  record: StoreRecord | undefined,
  emails: EmailSettings,
  texts: readonly EmailText[],
): Settings {
  if (!record) throw new Fault('not-found');
  const textsDigest = createHash('sha256').update(JSON.stringify(texts)).digest('base64url');
  return { store: record.store, emails, texts, textsDigest, hasProxySecret: record.sealedSecret !== null };
}

/** Locks the store: of two owners who save at the same time, the later one reads the settings of the earlier one. */
export function* claimSettings({ id, domain }: Pick<Store, 'id' | 'domain'>): Script<Settings> {
  const claimed = yield* claimStore(domain);
  const [emails, texts] = yield* parallel(findEmailSettings(id), listEmailTexts(id));
  return settingsOf(claimed, emails, texts);
}
