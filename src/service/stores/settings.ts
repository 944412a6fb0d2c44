/** Changes the settings of a store for an owner: with an entry in the audit log, unless another owner changed them first. */

import { createHash } from 'node:crypto';
import type { Context } from '../../storage/context.ts';
import type { EmailSettings } from '../../domain/emails/email.ts';
import type { EmailText, EmailTextChange } from '../../domain/emails/wording.ts';
import { Fault } from '../../domain/fault.ts';
import {
  changedSettings,
  settingTexts,
  type SettingName,
  type Settings,
  type SettingTexts,
} from '../../domain/stores/settings.ts';
import { actorOf, type StaffMember } from '../../domain/staff/staff.ts';
import type { Store } from '../../domain/stores/store.ts';
import { listEmailTexts } from '../../storage/emails/wording.ts';
import { findEmailSettings } from '../../storage/emails/email.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { claimStore, findStore, type StoreRecord } from '../../storage/stores/store.ts';
import { assertMay } from '../staff-actions/limits.ts';
import { changeEmailSettings } from '../emails/email.ts';
import { changeEmailTexts } from '../emails/wording.ts';
import { recordAction, type Acting } from '../staff/staff.ts';
import { changeStore, type StoreChanges } from './store.ts';

type StoreKey = Pick<Store, 'id' | 'domain'>;

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

export type SettingsChange = {
  readonly store: StoreKey;
  readonly member: Pick<StaffMember, 'id'>;
  readonly by: Acting;
  /** The settings of which the form was made. */
  readonly base: SettingTexts;
  readonly changes: StoreChanges;
  readonly emailChanges: Partial<EmailSettings>;
  readonly textChanges: readonly EmailTextChange[];
};

/**
 * @returns the names of the settings that have changed.
 * @throws Fault `precondition-failed` if one of the base has changed; `unauthenticated` or `insufficient-scope`; and as
 *   `changeStore`.
 */
export function* changeSettings(
  ctx: Context,
  { store, member, by, base, changes, emailChanges, textChanges }: SettingsChange,
): Script<readonly SettingName[]> {
  // Locks the store: of two owners who save at the same time, the later one reads the settings of the earlier one.
  const claimed = yield* claimStore(store.domain);
  const [emails, ownTexts] = yield* parallel(findEmailSettings(store.id), listEmailTexts(store.id));
  const before = settingsOf(claimed, emails, ownTexts);
  yield* assertMay(before.store, member, 'changeSettings');
  const texts = settingTexts(before);
  if (changedSettings(base, texts).length > 0) throw new Fault('precondition-failed');
  yield* changeStore(ctx, store.domain, { ...changes, actor: actorOf(member) });
  yield* changeEmailSettings(ctx, store.id, emailChanges);
  yield* changeEmailTexts(ctx, store.id, textChanges);
  const changed = changedSettings(texts, settingTexts(yield* findSettings(store)));
  // A secret can be replaced by another one.
  const names =
    changes.proxySecret && !changed.includes('proxy_secret')
      ? ([...changed, 'proxy_secret'] as const)
      : changed;
  if (names.length > 0)
    yield* recordAction(ctx, by, {
      storeId: store.id,
      action: 'settings-changed',
      subjectId: null,
      details: { fields: names.join(', ') },
    });
  return names;
}
