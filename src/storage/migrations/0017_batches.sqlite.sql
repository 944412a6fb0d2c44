-- Batches: many cards that are issued with one request, in transactions of bounded size.

create table batches (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- As the caller named it.
  name text,
  -- Half of a keyed digest of the caller's key, which never issues a second batch; null: none.
  key_digest blob check (length(key_digest) = 16),
  actor text not null,
  api_client_id integer,
  state text not null check (state = 'running' or state = 'complete'),
  currency text not null,
  -- The number of cards, and the sum of their values in minor units.
  cards integer not null check (cards > 0),
  total integer not null check (total > 0),
  -- Cards that were issued, the sum of their values, and cards that could not be issued.
  issued integer not null check (issued >= 0),
  issued_total integer not null check (issued_total >= 0),
  failed integer not null check (failed >= 0),
  -- The first part that was not issued.
  next_part integer not null check (next_part >= 0),
  created_at integer not null,
  completed_at integer,
  -- Until when the codes can be read; null: the batch runs, or the codes are erased.
  codes_until integer,
  primary key (store_id, id),
  unique (store_id, key_digest),
  check (issued + failed <= cards and issued_total <= total),
  check ((state = 'complete') = (completed_at is not null) and (state = 'running' or issued + failed = cards)),
  check (codes_until is null or completed_at is not null)
) strict;
create index batches_running on batches (created_at) where state = 'running';
create index batches_with_codes on batches (codes_until) where codes_until is not null;

-- The cards of one transaction.
create table batch_parts (
  store_id integer not null,
  batch_id integer not null,
  part integer not null check (part >= 0),
  -- Sealed, until the cards are issued.
  lines blob,
  -- The ids of the issued cards in the order of the lines, between commas; nothing for a card that was not issued.
  card_ids text,
  -- Sealed, until they are erased.
  codes blob,
  -- JSON: why cards were not issued; null: all were.
  failures text,
  primary key (store_id, batch_id, part),
  foreign key (store_id, batch_id) references batches (store_id, id),
  check ((lines is null) = (card_ids is not null)),
  check (lines is null or (codes is null and failures is null))
) strict;
