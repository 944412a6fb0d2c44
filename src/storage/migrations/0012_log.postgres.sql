-- The log of each store: all entries of its cards' chains in the order of their commits, hashed as a tree (RFC 9162).
-- A background job appends them, ordered by transaction, when no transaction with a lower id is open.

alter table transfers add column transaction_id bigint not null default 0;
create index transfers_by_transaction on transfers (store_id, transaction_id, id);
-- In a trigger and not by a default, because Citus evaluates defaults on another server than the rows'.
alter table card_changes add column transaction_id bigint not null default 0;
create index card_changes_by_transaction on card_changes (store_id, transaction_id, id);
create function set_transaction_id() returns trigger language plpgsql as $$
begin
  new.transaction_id := pg_current_xact_id()::text::bigint;
  return new;
end $$;
create trigger transfers_are_ordered before insert on transfers
for each row execute function set_transaction_id();
create trigger card_changes_are_ordered before insert on card_changes
for each row execute function set_transaction_id();

create table logs (
  store_id bigint primary key references stores (id),
  -- The origin of the store's checkpoints. Its last part is random.
  name text collate "C" not null,
  -- The number of entries.
  size bigint not null check (size >= 0),
  created_at bigint not null
); -- by store

-- Which 256 entries are in each part of a log.
create table log_pages (
  store_id bigint not null references logs (store_id),
  -- From 0.
  place bigint not null check (place >= 0),
  lowest_id bigint not null,
  highest_id bigint not null,
  -- 8 bytes for each entry, big-endian: its id times 2, plus 1 if it is a change.
  entries bytea not null check (length(entries) between 8 and 2048 and length(entries) % 8 = 0),
  primary key (store_id, place)
); -- by store
create index log_pages_by_id on log_pages (store_id, highest_id, place, lowest_id);

-- The hashes of complete subtrees of 256 entries (level 1), 65,536 entries (level 2), and so on.
create table log_subtrees (
  store_id bigint not null references logs (store_id),
  level bigint not null check (level >= 1),
  -- From 0.
  place bigint not null check (place >= 0),
  hash bytea not null check (length(hash) = 32),
  primary key (store_id, level, place)
); -- by store

create table checkpoints (
  store_id bigint not null references logs (store_id),
  id bigint not null check (id > 0),
  size bigint not null check (size >= 0),
  root bytea not null check (length(root) = 32),
  -- The day in the store's time zone that it concludes; null: made on demand.
  day text collate "C" check (length(day) = 10),
  -- A signed note: the text that was signed, and the signatures.
  note text collate "C" not null,
  created_at bigint not null,
  primary key (store_id, id)
); -- by store
create unique index checkpoints_by_day on checkpoints (store_id, day) where day is not null;

-- Every public key that has signed checkpoints of a store.
create table checkpoint_keys (
  store_id bigint not null references logs (store_id),
  -- Of the master key that it is derived from.
  key_id text collate "C" not null,
  public_key bytea not null check (length(public_key) = 32),
  created_at bigint not null,
  primary key (store_id, key_id)
); -- by store

create trigger logs_only_grow before update on logs
for each row when (
  (new.store_id, new.name, new.created_at) is distinct from (old.store_id, old.name, old.created_at)
  or new.size < old.size
) execute function refuse('a log only grows');
create trigger logs_are_not_deleted before delete on logs
for each row execute function refuse('a log only grows');
create trigger log_pages_only_grow before update on log_pages
for each row when (
  (new.store_id, new.place) is distinct from (old.store_id, old.place)
  or substr(new.entries, 1, length(old.entries)) <> old.entries
) execute function refuse('a log only grows');
create trigger log_pages_are_not_deleted before delete on log_pages
for each row execute function refuse('a log only grows');
create trigger log_subtrees_are_not_changed before update or delete on log_subtrees
for each row execute function refuse('a log only grows');
create trigger checkpoints_are_not_changed before update or delete on checkpoints
for each row execute function refuse('checkpoints are never changed or deleted');
create trigger checkpoint_keys_are_not_changed before update or delete on checkpoint_keys
for each row execute function refuse('public keys are kept');
create trigger logs_are_not_truncated before truncate on logs
execute function refuse('a log only grows');
create trigger log_pages_are_not_truncated before truncate on log_pages
execute function refuse('a log only grows');
create trigger log_subtrees_are_not_truncated before truncate on log_subtrees
execute function refuse('a log only grows');
create trigger checkpoints_are_not_truncated before truncate on checkpoints
execute function refuse('checkpoints are never changed or deleted');
create trigger checkpoint_keys_are_not_truncated before truncate on checkpoint_keys
execute function refuse('public keys are kept');

-- The tables below describe this database, so a copy does not contain them.

-- Up to which row entries were appended. The row of store 0 is for all stores.
create table log_cursors (
  store_id bigint not null,
  source text collate "C" not null check (source = 'transfers' or source = 'card_changes'),
  place bigint not null,
  last_id bigint not null,
  primary key (store_id, source)
);
-- Stores with entries that were written before their cursor began. They are appended in the order of their ids.
create table log_backfills (
  store_id bigint not null,
  source text collate "C" not null check (source = 'transfers' or source = 'card_changes'),
  after_id bigint not null,
  until_place bigint not null,
  primary key (store_id, source)
);
-- One row. The process that appends to logs holds its lock.
create table log_turn (id bigint primary key check (id = 1));
insert into log_turn (id) values (1);
