/** Changes the settings of a store for an owner: with an entry in the audit log, unless another owner changed them first. */

import type { Context } from '../context.ts';
import type { EmailSettings } from '../domain/email.ts';
import { Fault } from '../domain/fault.ts';
import {
  changedSettings,
  settingTexts,
  type SettingName,
  type Settings,
  type SettingTexts,
} from '../domain/settings.ts';
import { actorOf, type StaffMember } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { findEmailSettings } from '../storage/email.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { claimStore, findStore, type StoreRecord } from '../storage/store.ts';
import { assertMay } from './counter.ts';
import { changeEmailSettings } from './email.ts';
import { recordAction, type Acting } from './staff.ts';
import { changeStore, type StoreChanges } from './store.ts';

type StoreKey = Pick<Store, 'id' | 'domain'>;

/** @throws Fault `not-found`. */
export function* findSettings({ id }: Pick<Store, 'id'>): Script<Settings> {
  const [record, emails] = yield* parallel(findStore(id), findEmailSettings(id));
  return settingsOf(record, emails);
}

function settingsOf(record: StoreRecord | undefined, emails: EmailSettings): Settings {
  if (!record) throw new Fault('not-found');
  return { store: record.store, emails, hasProxySecret: record.sealedSecret !== null };
}

export type SettingsChange = {
  readonly store: StoreKey;
  readonly member: Pick<StaffMember, 'id'>;
  readonly by: Acting;
  /** The settings of which the form was made. */
  readonly base: SettingTexts;
  readonly changes: StoreChanges;
  readonly emailChanges: Partial<EmailSettings>;
};

/**
 * @returns the names of the settings that have changed.
 * @throws Fault `precondition-failed` if one of the base has changed; `unauthenticated` or `insufficient-scope`; and as
 *   `changeStore`.
 */
export function* changeSettings(
  ctx: Context,
  { store, member, by, base, changes, emailChanges }: SettingsChange,
): Script<readonly SettingName[]> {
  // Locks the store: of two owners who save at the same time, the later one reads the settings of the earlier one.
  const claimed = yield* claimStore(store.domain);
  const before = settingsOf(claimed, yield* findEmailSettings(store.id));
  yield* assertMay(before.store, member, 'changeSettings');
  const texts = settingTexts(before);
  if (changedSettings(base, texts).length > 0) throw new Fault('precondition-failed');
  yield* changeStore(ctx, store.domain, { ...changes, actor: actorOf(member) });
  yield* changeEmailSettings(ctx, store.id, emailChanges);
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
