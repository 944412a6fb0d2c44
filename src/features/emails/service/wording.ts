/** Changes the wording of a store's emails. Each email has the wording that is stored when it is sent. */

import type { Context } from '../../../core/storage/context.ts';
import type { EmailTextChange } from '../domain/wording.ts';
import { listEmailTexts, saveEmailText } from '../storage/wording.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Stores the changes that differ from what is stored. */
export function* changeEmailTexts(
  ctx: Context,
  storeId: number,
  changes: readonly EmailTextChange[],
): Script<void> {
  if (changes.length === 0) return;
  const present = yield* listEmailTexts(storeId);
  for (const change of changes) {
    const { kind, language, part, text } = change;
    const stored = present.find(
      (each) => each.kind === kind && each.language === language && each.part === part,
    );
    if ((stored?.text ?? null) !== text) yield* saveEmailText(ctx, storeId, change);
  }
}
