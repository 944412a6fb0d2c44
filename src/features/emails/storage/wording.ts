/** The wording of emails: the texts that stores have in place of the standard ones. */

import type { Context } from '../../../core/storage/context.ts';
import type { EmailKind } from '../../../core/emails/domain/email.ts';
import type { EmailText, EmailTextChange, EmailTextPart } from '../domain/wording.ts';
import { columns, text, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, sql, type Script } from '../../../database/sql/sql.ts';

const texts = columns({
  kind: unchanged<EmailKind>()('kind'),
  language: text('language'),
  part: unchanged<EmailTextPart>()('part'),
  text: text('text'),
});

/** Returns the texts of a store in all languages. There are at most as many as parts of emails. */
export function* listEmailTexts(storeId: number): Script<readonly EmailText[]> {
  const rows = yield* all(sql<RowOf<typeof texts>>`
    select ${texts.names} from email_texts where store_id = ${storeId} order by kind, language, part`);
  return rows.map(texts.read);
}

/** Returns the texts of a kind of email in all languages. */
export function* listTextsOfKind(storeId: number, kind: EmailKind): Script<readonly EmailText[]> {
  const rows = yield* all(sql<RowOf<typeof texts>>`
    select ${texts.names} from email_texts where store_id = ${storeId} and kind = ${kind}`);
  return rows.map(texts.read);
}

export function* saveEmailText(ctx: Context, storeId: number, change: EmailTextChange): Script<void> {
  const { kind, language, part } = change;
  if (change.text === null) {
    yield* execute(sql`
      delete from email_texts
      where store_id = ${storeId} and kind = ${kind} and language = ${language} and part = ${part}`);
    return;
  }
  yield* execute(sql`
    insert into email_texts (store_id, ${texts.names}, updated_at)
    values (${storeId}, ${texts.values({ kind, language, part, text: change.text })}, ${ctx.clock.now()})
    on conflict (store_id, kind, language, part) do update set text = excluded.text, updated_at = excluded.updated_at`);
}
