/** The settings of a store's emails, and what an email of it looks like. */

import type { EmailKind, EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import type { EmailText } from '../domain/wording.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findLogo } from '../../../core/stores/storage/logo.ts';
import { listTextsOfKind } from '../storage/wording.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

export function* readEmailSettings(storeId: number): Script<EmailSettings> {
  return yield* findEmailSettings(storeId);
}

export type EmailDesign = {
  readonly settings: EmailSettings;
  readonly texts: readonly EmailText[];
  readonly logo: Logo | null;
};

export function* readEmailDesign(storeId: number, kind: EmailKind): Script<EmailDesign> {
  const [settings, texts, logo] = yield* parallel(
    findEmailSettings(storeId),
    listTextsOfKind(storeId, kind),
    findLogo(storeId),
  );
  return { settings, texts, logo };
}
