-- Erased customers and erased events. The row of an erased customer stays without its address, because events refer to
-- it. Events are erased after a time; the last version of a card whose event was erased is in its row.

alter table customers add column erased_at bigint;
alter table gift_cards add column erased_event_version bigint;

-- An erasure is made in steps of bounded size, and continues after an interruption.
create table customer_erasures (
  store_id bigint not null,
  customer_id bigint not null,
  -- Whether notes and references that mention the customer are erased.
  erase_notes bigint not null check (erase_notes in (0, 1)),
  -- Sealed, until the erasure is complete: texts are searched for the address.
  address bytea,
  step text collate "C" not null,
  -- The last row that the step has processed, and the last row of the table when the step began.
  position bigint not null check (position >= 0),
  position_end bigint not null check (position_end >= 0),
  cards bigint not null check (cards >= 0),
  emails bigint not null check (emails >= 0),
  events bigint not null check (events >= 0),
  -- Notes and references that were erased, and those that mention the customer and were not.
  texts bigint not null check (texts >= 0),
  texts_left bigint not null check (texts_left >= 0),
  -- Cards whose code was not sent, and the first of them: ids between commas.
  unsent bigint not null check (unsent >= 0),
  unsent_cards text collate "C" not null,
  -- The caller who requested it.
  actor text collate "C" not null,
  requested_at bigint not null,
  completed_at bigint,
  primary key (store_id, customer_id),
  foreign key (store_id, customer_id) references customers (store_id, id),
  check ((address is null) = (completed_at is not null))
); -- by store
create index customer_erasures_unfinished on customer_erasures (requested_at) where completed_at is null;
-- The cards of the customers of unfinished erasures.
create table customer_erasure_cards (
  store_id bigint not null,
  customer_id bigint not null,
  card_id bigint not null,
  primary key (store_id, customer_id, card_id)
); -- by store
-- The newest event of each store that was erased.
create table erased_events (
  store_id bigint not null references stores (id),
  last_id bigint not null check (last_id > 0),
  primary key (store_id)
); -- by store

-- An event changes only when personal data in it is erased: a field keeps its value or becomes null.
create function is_redaction(old_data text, new_data text) returns boolean immutable language plpgsql as $$
declare
  old_json jsonb := old_data::jsonb;
  new_json jsonb := new_data::jsonb;
  named text;
  path text[];
begin
  foreach named in array array['gift_card.customer_id', 'gift_card.customer_email', 'gift_card.recipient_id',
    'gift_card.recipient_email', 'gift_card.note', 'gift_card.message', 'gift_card.sender_name',
    'gift_card.recipient_name', 'transaction.reference', 'transaction.note', 'hold.reference', 'hold.note',
    'customer.email', 'customer.storefront_customer_id', 'delivery.recipient', 'delivery.last_attempt',
    'delivery.cancel_reason']
  loop
    path := string_to_array(named, '.');
    if coalesce(new_json #> path, 'null') <> 'null' and new_json #> path is distinct from old_json #> path then
      return false;
    end if;
    old_json := old_json #- path;
    new_json := new_json #- path;
  end loop;
  return old_json = new_json;
end $$;
drop trigger events_are_not_updated on events;
create trigger events_are_not_updated
before update of store_id, id, type, subject_id, subject_version, created_at, data on events
for each row when (
  (old.store_id, old.id, old.type, old.subject_id, old.subject_version, old.created_at)
  is distinct from (new.store_id, new.id, new.type, new.subject_id, new.subject_version, new.created_at)
  or old.data = new.data or not is_redaction(old.data, new.data)
) execute function refuse('events are append-only');

-- Reference and note of a closed hold can be erased.
drop trigger closed_holds_stay_closed on holds;
create trigger closed_holds_stay_closed before update on holds
for each row when (old.status <> 'open' and (
  (old.reference, old.note) is not distinct from (new.reference, new.note)
  or (new.reference is not null and new.reference is distinct from old.reference)
  or (new.note is not null and new.note is distinct from old.note)
  or (old.store_id, old.id, old.card_id, old.status, old.amount, old.captured, old.actor, old.order_id,
    old.created_at, old.expires_at, old.closed_at)
  is distinct from (new.store_id, new.id, new.card_id, new.status, new.amount, new.captured, new.actor, new.order_id,
    new.created_at, new.expires_at, new.closed_at)
)) execute function refuse('a closed hold stays closed');
