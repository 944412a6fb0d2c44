/**
 * Trigger functions of a distributed database. Those of the migrations query tables, for which the server would make a
 * distributed plan for every row that is inserted. These do the same in the shards of the row's store, which are on the
 * same server. No store arrives in a distributed database, so they do not ask whether one does. A condition on `copies` is in an `if` of its own, because it needs such a plan as well. A test fails
 * when a migration changes one of the others.
 */

const shard = (table: string): string => `shard_of('${table}', new.store_id)`;

const isCopying = `exists (select 1 from copies where state = 'copying')`;

export const shardTriggers = `
create or replace function shard_of(name regclass, store_id bigint) returns text language sql as
  'select shard_name(name, get_shard_id_for_distribution_column(name, store_id))';

create or replace function extend_chain() returns trigger language plpgsql as $body$
declare
  extended bigint;
begin
  execute format('
    update %s set last_transfer_id = $1, chain_length = $2, chain_hash = $3
    where store_id = $4 and id = $5 and last_transfer_id = $6 and chain_length = $2 - 1', ${shard('gift_cards')})
    using new.id, new.sequence, new.hash, new.store_id, new.card_id, new.previous_id;
  get diagnostics extended = row_count;
  if extended = 0 then
    if not ${isCopying} then
      raise exception 'a transfer must follow the last transfer of its card';
    end if;
  end if;
  return null;
end $body$;

create or replace function extend_change_chain() returns trigger language plpgsql as $body$
declare
  extended bigint;
begin
  execute format('
    update %s set last_change_id = $1, change_count = $2, change_hash = $3
    where store_id = $4 and id = $5 and last_change_id is not distinct from $6 and change_count = $2 - 1', ${shard('gift_cards')})
    using new.id, new.sequence, new.hash, new.store_id, new.card_id, new.previous_id;
  get diagnostics extended = row_count;
  if extended = 0 then
    if not ${isCopying} then
      raise exception 'a change must follow the last change of its gift card';
    end if;
  end if;
  return null;
end $body$;

create or replace function record_late_entry() returns trigger language plpgsql as $body$
declare
  closed_until bigint;
begin
  execute format('
    select until_at from %s where store_id = $1 order by day desc limit 1', ${shard('store_closings')})
    into closed_until using new.store_id;
  if new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
    or new.created_at < closed_until
  then
    insert into late_entries (store_id, id, card_id, created_at)
    select new.store_id, new.id, new.card_id, new.created_at where not ${isCopying};
  end if;
  return null;
end $body$;

create or replace function enqueue_deliveries() returns trigger language plpgsql as $body$
declare
  has_webhooks boolean;
begin
  perform pg_advisory_xact_lock_shared(new.store_id);
  execute format('
    select exists (select from %s where store_id = $1 and status = ''active'')', ${shard('webhooks')})
    into has_webhooks using new.store_id;
  if has_webhooks then
    execute format('
      insert into %s (store_id, webhook_id, event_id, status, created_at, next_at)
      select w.store_id, w.id, $2, ''queued'', $3, $3
      from %s w
      where w.store_id = $1 and w.status = ''active'' and case
        when $4 = ''webhook.test'' then w.id = $5
        else strpos(w.patterns, '' '' || $4 || '' '') > 0 or strpos(w.patterns, '' * '') > 0
          or strpos(w.patterns, '' '' || split_part($4, ''.'', 1) || ''.* '') > 0
      end', ${shard('webhook_deliveries')}, ${shard('webhooks')})
      using new.store_id, new.id, new.created_at, new.type, new.subject_id;
  end if;
  execute format('
    update %s set changed_at = greatest(changed_at + 1, $3), next_at = coalesce(next_at, $3)
    where store_id = $1 and card_id = $2', ${shard('wallet_cards')})
    using new.store_id, new.subject_id, new.created_at;
  return null;
end $body$;
`;
