-- Stores that move to another installation. Requests of a store that is not open are rejected, and background jobs omit it.

-- open; closing: requests in progress can still change it; closed: nothing changes it; moved: another installation has
-- it; arriving: its rows are being copied into this database.
alter table stores add column status text collate "C" not null default 'open'
  check (status in ('open', 'closing', 'closed', 'moved', 'arriving'));
-- When it was last closed.
alter table stores add column closed_at bigint;
-- Where it was moved to, without a password.
alter table stores add column moved_to text collate "C";
create index stores_not_open on stores (id) where status <> 'open';

-- Stores that were copied into this database.
create table store_copies (
  store_id bigint primary key references stores (id),
  -- Stands for the database that it comes from: hex.
  source text collate "C" not null,
  -- Where that was, without a password.
  source_shown text collate "C" not null,
  -- When the store was closed there. If it was opened again, the copy starts over.
  closed_at bigint not null,
  -- The last run of the command.
  run text collate "C" not null,
  state text collate "C" not null check (state in ('copying', 'failed', 'complete')),
  started_at bigint not null,
  ended_at bigint,
  check ((state = 'copying') = (ended_at is null))
); -- by store

-- The triggers that check new rows do not apply to the rows of a store that arrives, and its rows can be deleted.
create function is_arriving(store_id bigint) returns boolean stable language plpgsql as $$
begin
  return exists (select 1 from stores s where s.id = store_id and s.status = 'arriving');
end $$;

create or replace function extend_chain() returns trigger language plpgsql as $$
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  if not found and not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id) then
    raise exception 'a transfer must follow the last transfer of its card';
  end if;
  return null;
end $$;

create or replace function extend_change_chain() returns trigger language plpgsql as $$
begin
  update gift_cards set last_change_id = new.id, change_count = new.sequence, change_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_change_id is not distinct from new.previous_id and change_count = new.sequence - 1;
  if not found and not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id) then
    raise exception 'a change must follow the last change of its gift card';
  end if;
  return null;
end $$;

create or replace function record_late_entry() returns trigger language plpgsql as $$
begin
  if new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
    or new.created_at < (
      select until_at from store_closings where store_id = new.store_id order by day desc limit 1
    )
  then
    insert into late_entries (store_id, id, card_id, created_at)
    select new.store_id, new.id, new.card_id, new.created_at
    where not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id);
  end if;
  return null;
end $$;

create or replace function refuse() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if is_arriving((to_jsonb(old) ->> 'store_id')::bigint) then
      return old;
    end if;
  end if;
  raise exception '%', tg_argv[0];
end $$;

-- A trigger for each table calls it while a store is closed.
create function reject_change_of_closed_store() returns trigger language plpgsql as $$
begin raise exception 'the store is closed' using errcode = 'LG001'; end $$;
