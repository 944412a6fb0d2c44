-- The books: the VAT of cards, and the sums of closed days.

-- 'multi_purpose', or 'single_purpose' with a space and the rate in percent; null: the store does not record VAT.
alter table stores add column vat text collate "C";
-- JSON: {account: name, …}, the names of the accounts in the journal that differ from the default.
alter table stores add column account_names text collate "C";
alter table gift_cards add column vat text collate "C";
-- The VAT with which the card was issued, in the first entry of its chain.
alter table transfers add column issued_vat text collate "C";
create trigger cards_keep_their_vat before update of vat on gift_cards
for each row when (old.vat is distinct from new.vat)
execute function refuse('what a gift card was issued with does not change');
create trigger transfers_keep_their_vat before update of issued_vat on transfers
for each row when (old.issued_vat is distinct from new.issued_vat)
execute function refuse('transfers are append-only');

-- The days of a store whose entries are summed, each from from_at until before until_at, without gaps.
create table store_closings (
  store_id bigint not null references stores (id),
  day text collate "C" not null check (length(day) = 10),
  -- Instants, because days have 23 to 25 hours, and a change of the time zone makes one longer or shorter.
  from_at bigint not null,
  until_at bigint not null check (until_at > from_at),
  -- What is summed next: a part, and the last entry or card of it that is done.
  part text collate "C" not null check (part in ('late', 'late_transfers', 'transfers', 'cards', 'closed')),
  done_id bigint not null,
  closed_at bigint check ((closed_at is not null) = (part = 'closed')),
  -- The size of the store's log when the day was closed.
  log_size bigint,
  primary key (store_id, day),
  unique (store_id, from_at)
); -- by store
create trigger closed_days_keep_their_time before update on store_closings
for each row when (
  old.part = 'closed' or (old.from_at, old.until_at, old.day) is distinct from (new.from_at, new.until_at, new.day)
) execute function refuse('a closed day does not change');

-- The sums of a day. Moves between buckets have several rows, whose sum is zero.
create table store_days (
  store_id bigint not null references stores (id),
  currency text collate "C" not null check (length(currency) = 3),
  day text collate "C" not null check (length(day) = 10),
  -- The kind of the transfers, or expire, unexpire, disable or enable.
  kind text collate "C" not null,
  -- What the card was then: active, expired or disabled.
  bucket text collate "C" not null check (bucket in ('active', 'expired', 'disabled')),
  -- The other account of the transfers; empty for a move between buckets.
  account text collate "C" not null,
  actor text collate "C" not null,
  vat text collate "C" not null,
  -- The number of transfers, or of cards that move.
  entries bigint not null,
  raised bigint not null,
  lowered bigint not null,
  -- The change of the number of cards in the bucket.
  cards bigint not null,
  primary key (store_id, currency, day, kind, bucket, account, actor, vat)
); -- by store

-- The changes of balances in closed days, by the month in which the cards were issued and the month of the change.
create table store_ages (
  store_id bigint not null references stores (id),
  currency text collate "C" not null check (length(currency) = 3),
  issued text collate "C" not null check (length(issued) = 7),
  -- A month, or the day that is being closed.
  month text collate "C" not null check (length(month) in (7, 10)),
  bucket text collate "C" not null check (bucket in ('active', 'expired', 'disabled')),
  raised bigint not null,
  lowered bigint not null,
  cards bigint not null,
  primary key (store_id, currency, issued, month, bucket)
); -- by store

-- Entries whose day is not that of their created_at, or not that of their id: they were committed after their day was
-- closed, or the clock was wrong.
create table late_entries (
  store_id bigint not null,
  -- Of a transfer, or of a change of a card.
  id bigint not null check (id > 0),
  card_id bigint not null,
  created_at bigint not null,
  -- The day in whose sums it is; null: not yet in any.
  day text collate "C" check (length(day) = 10),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
); -- by store
create index late_entries_by_day on late_entries (store_id, day);
create index late_entries_by_card on late_entries (store_id, card_id);
create trigger late_entries_keep_their_day before update on late_entries
for each row when (
  old.day is not null or (old.id, old.card_id, old.created_at) is distinct from (new.id, new.card_id, new.created_at)
) execute function refuse('a closed day does not change');
create trigger late_entries_are_not_deleted before delete on late_entries
for each row execute function refuse('a closed day does not change');

insert into late_entries (store_id, id, card_id, created_at)
select store_id, id, card_id, created_at from transfers
where id / 4096 + 1735689600000 not between created_at - 300000 and created_at + 300000;
-- A closing finds the other transfers of a day by their ids, of which the upper bits are the time. It begins with its
-- row in store_closings and sums once all transactions have ended that could not see this row.
create function record_late_entry() returns trigger language plpgsql as $$
begin
  if new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
    or new.created_at < (
      select until_at from store_closings where store_id = new.store_id order by day desc limit 1
    )
  then
    insert into late_entries (store_id, id, card_id, created_at)
    select new.store_id, new.id, new.card_id, new.created_at
    where not exists (select 1 from copies where state = 'copying');
  end if;
  return null;
end $$;
create trigger transfers_are_late after insert on transfers
for each row execute function record_late_entry();

insert into late_entries (store_id, id, card_id, created_at)
select store_id, id, card_id, created_at from card_changes
where id / 4096 + 1735689600000 not between created_at - 300000 and created_at + 300000;
create trigger card_changes_are_late after insert on card_changes
for each row execute function record_late_entry();
