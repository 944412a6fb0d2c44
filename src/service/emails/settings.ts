/** The settings of a store's emails, and what an email of it looks like. */

import type { EmailKind, EmailSettings } from '../../domain/emails/email.ts';
import type { Logo } from '../../domain/emails/logo.ts';
import type { EmailText } from '../../domain/emails/wording.ts';
import { findEmailSettings } from '../../storage/emails/email.ts';
import { findLogo } from '../../storage/emails/logo.ts';
import { listTextsOfKind } from '../../storage/emails/wording.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';

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
