/** Settings that an owner changes, unless another owner changed them first. */

import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import type { EmailTextChange } from '../../emails/domain/wording.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { changedSettings, settingTexts, type SettingName, type SettingTexts } from '../domain/settings.ts';
import type { Context } from '../../../core/storage/context.ts';
import { saveLogo } from '../../../core/stores/storage/logo.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { saveSetupStep, type SetupStepName } from '../../../core/stores/storage/setup-step.ts';
import { changeEmailSettings } from '../../../core/emails/service/email.ts';
import { changeEmailTexts } from '../../emails/service/wording.ts';
import { claimSettings, findSettings } from './settings-of-store.ts';
import { changeStore, type StoreChanges } from '../../../core/stores/service/store.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

export type SettingsChange = {
  /** The settings of which the form was made. */
  readonly base: SettingTexts;
  readonly changes: StoreChanges;
  readonly emailChanges: Partial<EmailSettings>;
  readonly textChanges: readonly EmailTextChange[];
};

function entryOf(details: Readonly<Record<string, string>>) {
  return { action: 'settings-changed', subjectId: null, details } as const;
}

/**
 * @returns the names of the settings that have changed.
 * @throws Fault `precondition-failed` if one of the base has changed; as `changeStore` and `assertMay` do.
 */
export function* changeSettings(
  ctx: Context,
  by: ByStaff,
  { base, changes, emailChanges, textChanges }: SettingsChange,
): Script<readonly SettingName[]> {
  const { store } = by;
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change({ actor }) {
      const before = settingTexts(yield* claimSettings(store));
      if (changedSettings(base, before).length > 0) throw new Fault('precondition-failed');
      yield* changeStore(ctx, store.domain, { ...changes, actor });
      yield* changeEmailSettings(ctx, store.id, emailChanges);
      yield* changeEmailTexts(ctx, store.id, textChanges);
      const changed = changedSettings(before, settingTexts(yield* findSettings(store)));
      // A secret can be replaced by another one.
      return changes.proxySecret && !changed.includes('proxy_secret')
        ? ([...changed, 'proxy_secret'] as const)
        : changed;
    },
    entryOf: (names) => (names.length > 0 ? entryOf({ fields: names.join(', ') }) : null),
  });
}

/** @param logo null: removes it. @throws Fault as `assertMay` does. */
export function* changeLogo(ctx: Context, by: ByStaff, logo: Logo | null): Script<null> {
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* saveLogo(ctx, by.store.id, logo);
      return null;
    },
    entryOf: () => entryOf({ fields: 'logo' }),
  });
}

/** Records that a step before the opening of the shop is done. @throws Fault as `assertMay` does. */
export function* recordSetupStep(ctx: Context, by: ByStaff, step: SetupStepName): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    change: () =>
      saveSetupStep({ storeId: by.store.id, step, doneAt: ctx.wallClock.now(), staffId: by.member.id }),
    entryOf: () => entryOf({ done: step }),
  });
}
