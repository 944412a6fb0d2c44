-- The keys of changed rows of stores that move out of this file while they are open, in the order of the commits. Triggers
-- that exist only while a store moves add them.
create table moving_changes (
  id integer primary key,
  store_id integer not null,
  table_name text not null,
  -- JSON: the values of the primary key, as SQL writes them.
  row_key text not null
) strict;
