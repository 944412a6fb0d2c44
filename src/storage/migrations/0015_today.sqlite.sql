-- What the first page of the console shows: the last verification, what the owner has done to get ready, and emails by day.

-- The last `largesse verify` of this database. It is not copied into another one.
create table verifications (
  store_id integer not null references stores (id),
  verified_at integer not null,
  -- Rows of all stores that were read.
  rows_read integer not null check (rows_read >= 0),
  -- Problems of the store, and of the database as a whole.
  mismatches integer not null check (mismatches >= 0),
  actor text not null,
  primary key (store_id)
) strict, without rowid;

-- What a person has to do before the shop opens, and the service cannot always find out.
create table setup_steps (
  store_id integer not null references stores (id),
  step text not null check (step = 'key_file' or step = 'backup'),
  done_at integer not null,
  -- Null: the command line.
  staff_id integer,
  primary key (store_id, step),
  foreign key (store_id, staff_id) references staff (store_id, id)
) strict, without rowid;

-- Ids grow with time, so the emails of a day are a stretch of this index.
create index email_deliveries_by_id on email_deliveries (store_id, id, state);
