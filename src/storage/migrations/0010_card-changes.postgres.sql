-- Changes of gift cards that are not money, in chains of their own. The end of a card's chain is in the card's row, and
-- each change names the one before it, so that no index by card is needed. A card that was never changed has none.
alter table gift_cards add column last_change_id bigint, add column change_count bigint not null default 0,
  add column change_hash bytea,
  add constraint gift_cards_changes_check check (
    (change_count = 0) = (last_change_id is null) and change_count >= 0
    and (change_hash is null) = (last_change_id is null) and (change_hash is null or length(change_hash) = 32)
  );

create table card_changes (
  store_id bigint not null,
  id bigint not null check (id > 0),
  card_id bigint not null,
  sequence bigint not null check (sequence >= 1),
  -- The card's change before this one; null: this is the first.
  previous_id bigint,
  created_at bigint not null,
  actor text collate "C" not null,
  -- JSON: [[field, old, new], …]. Instead of a personal text it has SHA-256 of a salt and the text.
  fields text collate "C" not null,
  -- JSON: {field: [salt, old, new], …} of the personal texts; null: there are none, or they were erased.
  texts text collate "C",
  -- Of the chain, in its first entry.
  salt bytea check (length(salt) = 16),
  -- SHA-256 of the previous hash in the card's chain, and the content of the entry.
  hash bytea not null check (length(hash) = 32),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((sequence = 1) = (previous_id is null)),
  check ((sequence = 1) = (salt is not null)),
  check (json_typeof(fields::json) = 'array'),
  check (texts is null or jsonb_typeof(texts::jsonb) = 'object')
); -- by store
-- Every 32nd change of a card, so that a page in the middle of a long chain is found in few steps. Most cards have none.
create index card_changes_by_place on card_changes (store_id, card_id, sequence) where sequence % 32 = 0;

-- Only texts can be erased, each with its salt.
create function is_erasure(old_texts text, new_texts text) returns boolean immutable language plpgsql as $$
begin
  return old_texts is not null and old_texts is distinct from new_texts
    and (new_texts is null or not exists (
      select 1 from jsonb_each(new_texts::jsonb) n where old_texts::jsonb -> n.key is distinct from n.value
    ));
end $$;
create trigger card_changes_are_not_updated before update on card_changes
for each row when (
  not is_erasure(old.texts, new.texts)
  or (old.store_id, old.id, old.card_id, old.sequence, old.previous_id, old.created_at, old.actor, old.fields, old.salt,
    old.hash)
  is distinct from (new.store_id, new.id, new.card_id, new.sequence, new.previous_id, new.created_at, new.actor,
    new.fields, new.salt, new.hash)
) execute function refuse('changes of gift cards are append-only');
create trigger card_changes_are_not_deleted before delete on card_changes
for each row execute function refuse('changes of gift cards are append-only');
create trigger card_changes_are_not_truncated before truncate on card_changes
execute function refuse('changes of gift cards are append-only');
-- A change follows the last one of its card: chains have no forks. A copy inserts the cards as they are at the end.
create function extend_change_chain() returns trigger language plpgsql as $$
begin
  update gift_cards set last_change_id = new.id, change_count = new.sequence, change_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_change_id is not distinct from new.previous_id and change_count = new.sequence - 1;
  if not found and not exists (select 1 from copies where state = 'copying') then
    raise exception 'a change must follow the last change of its gift card';
  end if;
  return null;
end $$;
create trigger card_changes_extend_chains after insert on card_changes
for each row execute function extend_change_chain();

-- Changes of a store that past days depend on.
create table store_changes (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  field text collate "C" not null,
  old_value text collate "C",
  new_value text collate "C",
  actor text collate "C" not null,
  created_at bigint not null,
  primary key (store_id, id)
); -- by store
create trigger store_changes_are_not_updated before update or delete on store_changes
for each row execute function refuse('changes of stores are append-only');
create trigger store_changes_are_not_truncated before truncate on store_changes
execute function refuse('changes of stores are append-only');

-- The instant from which all changes are recorded; null: since the store was created.
alter table stores add column changes_from bigint;
update stores set changes_from = (extract(epoch from clock_timestamp()) * 1000)::bigint;
