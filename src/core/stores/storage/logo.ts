/** The logos of stores. */

import type { Context } from '../../storage/context.ts';
import type { Logo, LogoMark } from '../domain/logo.ts';
import { bytes, columns, integer, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import { execute, first, sql, type Script } from '../../../database/sql/sql.ts';

const logos = columns({
  type: unchanged<Logo['type']>()('type'),
  width: integer('width'),
  height: integer('height'),
  content: bytes('content'),
});

export function* findLogo(storeId: number): Script<Logo | null> {
  const row = yield* first(sql<RowOf<typeof logos>>`
    select ${logos.names} from email_logos where store_id = ${storeId}`);
  return row ? logos.read(row) : null;
}

const marks = columns({
  width: integer('width'),
  height: integer('height'),
  updated_at: integer('version'),
});

/** Returns the size of the logo, without reading its content; null: the store has none. */
export function* findLogoMark(storeId: number): Script<LogoMark | null> {
  const row = yield* first(sql<RowOf<typeof marks>>`
    select ${marks.names} from email_logos where store_id = ${storeId}`);
  return row ? marks.read(row) : null;
}

/** @param logo null: the store has none. */
export function* saveLogo(ctx: Context, storeId: number, logo: Logo | null): Script<void> {
  if (!logo) {
    yield* execute(sql`delete from email_logos where store_id = ${storeId}`);
    return;
  }
  yield* execute(sql`
    insert into email_logos (store_id, ${logos.names}, updated_at)
    values (${storeId}, ${logos.values(logo)}, ${ctx.clock.now()})
    on conflict (store_id) do update set ${logos.excluded}, updated_at = excluded.updated_at`);
}
