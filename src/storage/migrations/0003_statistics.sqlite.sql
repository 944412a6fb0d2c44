-- What the planner is to think of the tables at any size: how many rows share the leading columns of an index.
-- Without it, a search by the primary key's first column, the store, looks as good to it as an index that finds
-- the one row: it would read every card of the store.
analyze;
delete from sqlite_stat1;
insert into sqlite_stat1 (tbl, idx, stat) values
  ('gift_cards', 'gift_cards', '1000000 500000 1'),
  ('gift_cards', 'gift_cards_by_customer', '300000 150000 3 1'),
  ('gift_cards', 'gift_cards_by_recipient', '300000 150000 3 1'),
  ('holds', 'holds', '1000000 500000 1'),
  ('holds', 'holds_by_card', '1000000 500000 5 1'),
  ('holds', 'holds_open_by_expiry', '10000 2'),
  ('transfers', 'transfers', '3000000 1500000 5 1'),
  ('transfers', 'sqlite_autoindex_transfers_2', '3000000 1500000 1'),
  ('transfers', 'transfers_by_reversed', '10000 5000 2'),
  ('customers', 'customers', '300000 150000 1'),
  ('customers', 'sqlite_autoindex_customers_2', '300000 150000 1');
analyze sqlite_schema;
