-- The books: the VAT of cards, and the sums of closed days.

-- 'multi_purpose', or 'single_purpose' with a space and the rate in percent; null: the store does not record VAT.
alter table stores add column vat text;
-- JSON: {account: name, …}, the names of the accounts in the journal that differ from the default.
alter table stores add column account_names text check (account_names is null or json_type(account_names) = 'object');
alter table gift_cards add column vat text;
-- The VAT with which the card was issued, in the first entry of its chain.
alter table transfers add column issued_vat text check (sequence = 1 or issued_vat is null);
create trigger cards_keep_their_vat before update of vat on gift_cards when old.vat is not new.vat
begin select raise(abort, 'what a gift card was issued with does not change'); end;
create trigger transfers_keep_their_vat before update of issued_vat on transfers
when old.issued_vat is not new.issued_vat
begin select raise(abort, 'transfers are append-only'); end;

-- The days of a store whose entries are summed, each from from_at until before until_at, without gaps.
create table store_closings (
  store_id integer not null references stores (id),
  day text not null check (length(day) = 10),
  -- Instants, because days have 23 to 25 hours, and a change of the time zone makes one longer or shorter.
  from_at integer not null,
  until_at integer not null check (until_at > from_at),
  -- What is summed next: a part, and the last entry or card of it that is done.
  part text not null check (part in ('late', 'late_transfers', 'transfers', 'cards', 'closed')),
  done_id integer not null,
  closed_at integer check ((closed_at is not null) = (part = 'closed')),
  -- The size of the store's log when the day was closed.
  log_size integer,
  primary key (store_id, day),
  unique (store_id, from_at)
) strict, without rowid;
create trigger closed_days_keep_their_time before update on store_closings
when old.part = 'closed' or old.from_at <> new.from_at or old.until_at <> new.until_at or old.day <> new.day
begin select raise(abort, 'a closed day does not change'); end;

-- The sums of a day. Moves between buckets have several rows, whose sum is zero.
create table store_days (
  store_id integer not null references stores (id),
  currency text not null check (length(currency) = 3),
  day text not null check (length(day) = 10),
  -- The kind of the transfers, or expire, unexpire, disable or enable.
  kind text not null,
  -- What the card was then: active, expired or disabled.
  bucket text not null check (bucket = 'active' or bucket = 'expired' or bucket = 'disabled'),
  -- The other account of the transfers; empty for a move between buckets.
  account text not null,
  actor text not null,
  vat text not null,
  -- The number of transfers, or of cards that move.
  entries integer not null,
  raised integer not null,
  lowered integer not null,
  -- The change of the number of cards in the bucket.
  cards integer not null,
  primary key (store_id, currency, day, kind, bucket, account, actor, vat)
) strict, without rowid;

-- The changes of balances in closed days, by the month in which the cards were issued and the month of the change.
create table store_ages (
  store_id integer not null references stores (id),
  currency text not null check (length(currency) = 3),
  issued text not null check (length(issued) = 7),
  -- A month, or the day that is being closed.
  month text not null check (length(month) = 7 or length(month) = 10),
  bucket text not null check (bucket = 'active' or bucket = 'expired' or bucket = 'disabled'),
  raised integer not null,
  lowered integer not null,
  cards integer not null,
  primary key (store_id, currency, issued, month, bucket)
) strict, without rowid;

-- Entries whose day is not that of their created_at, or not that of their id: they were committed after their day was
-- closed, or the clock was wrong.
create table late_entries (
  store_id integer not null,
  -- Of a transfer, or of a change of a card.
  id integer not null check (id > 0),
  card_id integer not null,
  created_at integer not null,
  -- The day in whose sums it is; null: not yet in any.
  day text check (length(day) = 10),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
) strict, without rowid;
create index late_entries_by_day on late_entries (store_id, day);
create index late_entries_by_card on late_entries (store_id, card_id);
create trigger late_entries_keep_their_day before update on late_entries
when old.day is not null or old.id <> new.id or old.card_id <> new.card_id or old.created_at <> new.created_at
begin select raise(abort, 'a closed day does not change'); end;
create trigger late_entries_are_not_deleted before delete on late_entries
begin select raise(abort, 'a closed day does not change'); end;

insert into late_entries (store_id, id, card_id, created_at)
select store_id, id, card_id, created_at from transfers
where id / 4096 + 1735689600000 not between created_at - 300000 and created_at + 300000;
-- A closing finds the other transfers of a day by their ids, of which the upper bits are the time.
create trigger transfers_are_late after insert on transfers
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying');
end;

insert into late_entries (store_id, id, card_id, created_at)
select store_id, id, card_id, created_at from card_changes
where id / 4096 + 1735689600000 not between created_at - 300000 and created_at + 300000;
create trigger card_changes_are_late after insert on card_changes
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying');
end;
