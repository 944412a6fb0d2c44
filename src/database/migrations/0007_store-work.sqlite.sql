-- What the background jobs do for each store, and when, so that they do not read every store to find it. The rows follow
-- from those of the other tables: a copy does not contain them, and begins with rows that are due.
create table store_work (
  store_id integer not null references stores (id),
  kind text not null check (kind in
    ('closing', 'checkpoint', 'expiry', 'reminders', 'months', 'access', 'events', 'emails', 'deliveries', 'requests')),
  -- When it is due. For kinds that erase: the age of the oldest row, from which its period counts. Negative: at once, and
  -- different each time. Null: not before something is added, which sets it.
  at integer,
  primary key (store_id, kind)
) strict, without rowid;
create index store_work_due on store_work (kind, at, store_id) where at is not null;
insert into store_work (store_id, kind, at)
select s.id, k.column1, 0 from stores s cross join (values
  ('closing'), ('checkpoint'), ('expiry'), ('reminders'), ('months'), ('access'), ('events'), ('emails'), ('deliveries'),
  ('requests')) k;
