-- The log of each store: all entries of its cards' chains in the order of their commits, hashed as a tree (RFC 9162).
-- A background job appends them, in the order of their rowids, which is the order of their commits.

create table logs (
  store_id integer primary key references stores (id),
  -- The origin of the store's checkpoints. Its last part is random.
  name text not null,
  -- The number of entries.
  size integer not null check (size >= 0),
  created_at integer not null
) strict;
create trigger logs_only_grow before update on logs
when new.store_id <> old.store_id or new.name <> old.name or new.created_at <> old.created_at or new.size < old.size
begin select raise(abort, 'a log only grows'); end;
create trigger logs_are_not_deleted before delete on logs
begin select raise(abort, 'a log only grows'); end;

-- Which 256 entries are in each part of a log.
create table log_pages (
  store_id integer not null references logs (store_id),
  -- From 0.
  place integer not null check (place >= 0),
  lowest_id integer not null,
  highest_id integer not null,
  -- 8 bytes for each entry, big-endian: its id times 2, plus 1 if it is a change.
  entries blob not null check (length(entries) between 8 and 2048 and length(entries) % 8 = 0),
  primary key (store_id, place)
) strict;
create index log_pages_by_id on log_pages (store_id, highest_id, place, lowest_id);
create trigger log_pages_only_grow before update on log_pages
when new.store_id <> old.store_id or new.place <> old.place
  or substr(new.entries, 1, length(old.entries)) <> old.entries
begin select raise(abort, 'a log only grows'); end;
create trigger log_pages_are_not_deleted before delete on log_pages
begin select raise(abort, 'a log only grows'); end;

-- The hashes of complete subtrees of 256 entries (level 1), 65,536 entries (level 2), and so on.
create table log_subtrees (
  store_id integer not null references logs (store_id),
  level integer not null check (level >= 1),
  -- From 0.
  place integer not null check (place >= 0),
  hash blob not null check (length(hash) = 32),
  primary key (store_id, level, place)
) strict;
create trigger log_subtrees_are_not_updated before update on log_subtrees
begin select raise(abort, 'a log only grows'); end;
create trigger log_subtrees_are_not_deleted before delete on log_subtrees
begin select raise(abort, 'a log only grows'); end;

create table checkpoints (
  store_id integer not null references logs (store_id),
  id integer not null check (id > 0),
  size integer not null check (size >= 0),
  root blob not null check (length(root) = 32),
  -- The day in the store's time zone that it concludes; null: made on demand.
  day text check (length(day) = 10),
  -- A signed note: the text that was signed, and the signatures.
  note text not null,
  created_at integer not null,
  primary key (store_id, id)
) strict;
create unique index checkpoints_by_day on checkpoints (store_id, day) where day is not null;
create trigger checkpoints_are_not_updated before update on checkpoints
begin select raise(abort, 'checkpoints are never changed'); end;
create trigger checkpoints_are_not_deleted before delete on checkpoints
begin select raise(abort, 'checkpoints are never deleted'); end;

-- Every public key that has signed checkpoints of a store.
create table checkpoint_keys (
  store_id integer not null references logs (store_id),
  -- Of the master key that it is derived from.
  key_id text not null,
  public_key blob not null check (length(public_key) = 32),
  created_at integer not null,
  primary key (store_id, key_id)
) strict;
create trigger checkpoint_keys_are_not_updated before update on checkpoint_keys
begin select raise(abort, 'public keys are kept'); end;
create trigger checkpoint_keys_are_not_deleted before delete on checkpoint_keys
begin select raise(abort, 'public keys are kept'); end;

-- The tables below describe this database, so a copy does not contain them.

-- Up to which row entries were appended. The row of store 0 is for all stores.
create table log_cursors (
  store_id integer not null,
  source text not null check (source = 'transfers' or source = 'card_changes'),
  place integer not null,
  last_id integer not null,
  primary key (store_id, source)
) strict;
-- Stores with entries that were written before their cursor began. They are appended in the order of their ids.
create table log_backfills (
  store_id integer not null,
  source text not null check (source = 'transfers' or source = 'card_changes'),
  after_id integer not null,
  until_place integer not null,
  primary key (store_id, source)
) strict;
-- One row. The process that appends to logs holds its lock.
create table log_turn (id integer primary key check (id = 1)) strict;
insert into log_turn (id) values (1);
