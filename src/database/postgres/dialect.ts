/** The dialects of PostgreSQL and of Citus. */

import { hasEndedOf } from './distribution.ts';
import { citusEntryOrder, postgresEntryOrder } from './entry-order.ts';
import type { Dialect } from '../sql/fragments.ts';

export const postgresDialect: Dialect = {
  placeholder: (position) => `$${position}`,
  fragments: {
    'for update': 'for update',
    'for update skip locked': 'for update skip locked',
    'for key share': 'for key share',
    'commit order': 'transaction_id, id',
    'last committed first': 'transaction_id desc, id desc',
    // An open transaction can still commit an event with a lower number than existing events.
    'final order': 'transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint',
    'newest transaction': 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint',
    'oldest transaction': 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint',
    'quiet place': `(
      select case when pg_snapshot_xmin(s) = pg_snapshot_xmax(s) then pg_snapshot_xmax(s)::text::bigint end
      from pg_current_snapshot() s)`,
    'catalog columns': `(
      select t.relname::text as table_name, a.attname::text as column_name,
        coalesce(array_position(k.conkey, a.attnum), 0)::bigint as key_place
      from pg_class t
      join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      left join pg_constraint k on k.conrelid = t.oid and k.contype = 'p'
      where t.relkind in ('r', 'p') and not t.relispartition
        and t.relnamespace = current_schema()::regnamespace) c`,
    'catalog references': `(
      select t.relname::text as table_name, r.relname::text as referenced_name
      from pg_constraint f join pg_class t on t.oid = f.conrelid join pg_class r on r.oid = f.confrelid
      where f.contype = 'f' and not t.relispartition and not r.relispartition
        and t.relnamespace = current_schema()::regnamespace) f`,
    'catalog triggers': `(
      select g.tgname::text as trigger_name, t.relname::text as table_name
      from pg_trigger g join pg_class t on t.oid = g.tgrelid
      where not g.tgisinternal and not t.relispartition and t.relnamespace = current_schema()::regnamespace) g`,
    position: 'strpos',
    'one of': '= any (array(',
    'end of one of': '))',
    'json array': "('[' ||",
    'end of json array': "|| ']')",
    'json comma': "|| ',' ||",
    'json value': 'coalesce(cast(to_json(',
    'end of json value': ") as text), 'null')",
    hex: 'encode(',
    'end of hex': ", 'hex')",
    ...postgresEntryOrder,
  },
  hasIndexHints: false,
  hasTriggerFunctions: true,
  isDistributed: false,
};

/** For a database whose stores are on different servers. Numbers of transactions are those of a store's server. */
export const citusDialect: Dialect = {
  ...postgresDialect,
  isDistributed: true,
  fragments: {
    ...postgresDialect.fragments,
    'final order': hasEndedOf('transaction_id'),
    // A server knows only its own transactions.
    'quiet place': 'cast(null as bigint)',
    ...citusEntryOrder,
  },
};
