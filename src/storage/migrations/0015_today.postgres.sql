-- What the first page of the console shows: the last verification, what the owner has done to get ready, and emails by day.

-- The last `largesse verify` of this database. It is not copied into another one.
create table verifications (
  store_id bigint not null references stores (id),
  verified_at bigint not null,
  -- Rows of all stores that were read.
  rows_read bigint not null check (rows_read >= 0),
  -- Problems of the store, and of the database as a whole.
  mismatches bigint not null check (mismatches >= 0),
  actor text collate "C" not null,
  primary key (store_id)
); -- by store

-- What a person has to do before the shop opens, and the service cannot always find out.
create table setup_steps (
  store_id bigint not null references stores (id),
  step text collate "C" not null check (step = 'key_file' or step = 'backup'),
  done_at bigint not null,
  -- Null: the command line.
  staff_id bigint,
  primary key (store_id, step),
  foreign key (store_id, staff_id) references staff (store_id, id)
); -- by store

-- Ids grow with time, so the emails of a day are a stretch of this index.
create index email_deliveries_by_id on email_deliveries (store_id, id, state);
