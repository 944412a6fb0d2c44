-- Changes of gift cards that are not money, in chains of their own. The end of a card's chain is in the card's row, and
-- each change names the one before it, so that no index by card is needed. A card that was never changed has none.
alter table gift_cards add column last_change_id integer;
alter table gift_cards add column change_count integer not null default 0
  check ((change_count = 0) = (last_change_id is null) and change_count >= 0);
alter table gift_cards add column change_hash blob
  check ((change_hash is null) = (last_change_id is null) and (change_hash is null or length(change_hash) = 32));

create table card_changes (
  store_id integer not null,
  id integer not null check (id > 0),
  card_id integer not null,
  sequence integer not null check (sequence >= 1),
  -- The card's change before this one; null: this is the first.
  previous_id integer,
  created_at integer not null,
  actor text not null,
  -- JSON: [[field, old, new], …]. Instead of a personal text it has SHA-256 of a salt and the text.
  fields text not null,
  -- JSON: {field: [salt, old, new], …} of the personal texts; null: there are none, or they were erased.
  texts text,
  -- Of the chain, in its first entry.
  salt blob check (length(salt) = 16),
  -- SHA-256 of the previous hash in the card's chain, and the content of the entry.
  hash blob not null check (length(hash) = 32),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((sequence = 1) = (previous_id is null)),
  check ((sequence = 1) = (salt is not null)),
  check (json_type(fields) = 'array'),
  check (texts is null or json_type(texts) = 'object')
) strict;
-- Every 32nd change of a card, so that a page in the middle of a long chain is found in few steps. Most cards have none.
create index card_changes_by_place on card_changes (store_id, card_id, sequence) where sequence % 32 = 0;

-- Only texts can be erased, each with its salt.
create trigger card_changes_are_not_updated before update on card_changes
when old.texts is null or new.texts is old.texts
  or exists (
    select 1 from json_each(new.texts) n
    where not exists (select 1 from json_each(old.texts) o where o.key = n.key and o.value is n.value)
  )
  or old.store_id <> new.store_id or old.id <> new.id or old.card_id <> new.card_id or old.sequence <> new.sequence
  or old.previous_id is not new.previous_id or old.created_at <> new.created_at or old.actor <> new.actor
  or old.fields <> new.fields or old.salt is not new.salt or old.hash <> new.hash
begin select raise(abort, 'changes of gift cards are append-only'); end;
create trigger card_changes_are_not_deleted before delete on card_changes
begin select raise(abort, 'changes of gift cards are append-only'); end;
-- A change follows the last one of its card: chains have no forks. A copy inserts the cards as they are at the end.
create trigger card_changes_extend_chains after insert on card_changes
begin
  update gift_cards set last_change_id = new.id, change_count = new.sequence, change_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_change_id is new.previous_id and change_count = new.sequence - 1;
  select raise(abort, 'a change must follow the last change of its gift card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying');
end;

-- Changes of a store that past days depend on.
create table store_changes (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  field text not null,
  old_value text,
  new_value text,
  actor text not null,
  created_at integer not null,
  primary key (store_id, id)
) strict;
create trigger store_changes_are_not_updated before update on store_changes
begin select raise(abort, 'changes of stores are append-only'); end;
create trigger store_changes_are_not_deleted before delete on store_changes
begin select raise(abort, 'changes of stores are append-only'); end;

-- The instant from which all changes are recorded; null: since the store was created.
alter table stores add column changes_from integer;
update stores set changes_from = cast(unixepoch('subsec') * 1000 as integer);

-- What the planner assumes about the tables at any size, as in migration 3.
insert into sqlite_stat1 (tbl, idx, stat) values
  ('card_changes', 'sqlite_autoindex_card_changes_1', '500000 250000 1'),
  ('card_changes', 'card_changes_by_place', '1000 500 5 1'),
  ('store_changes', 'sqlite_autoindex_store_changes_1', '10 5 1');
analyze sqlite_schema;
