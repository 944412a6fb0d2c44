-- Erased customers and erased events. The row of an erased customer stays without its address, because events refer to
-- it. Events are erased after a time; the last version of a card whose event was erased is in its row.

alter table customers add column erased_at integer;
alter table gift_cards add column erased_event_version integer check (erased_event_version >= 1);

-- An erasure is made in steps of bounded size, and continues after an interruption.
create table customer_erasures (
  store_id integer not null,
  customer_id integer not null,
  -- Whether notes and references that mention the customer are erased.
  erase_notes integer not null check (erase_notes in (0, 1)),
  -- Sealed, until the erasure is complete: texts are searched for the address.
  address blob,
  step text not null,
  -- The last row that the step has processed, and the last row of the table when the step began.
  position integer not null check (position >= 0),
  position_end integer not null check (position_end >= 0),
  cards integer not null check (cards >= 0),
  emails integer not null check (emails >= 0),
  events integer not null check (events >= 0),
  -- Notes and references that were erased, and those that mention the customer and were not.
  texts integer not null check (texts >= 0),
  texts_left integer not null check (texts_left >= 0),
  -- Cards whose code was not sent, and the first of them: ids between commas.
  unsent integer not null check (unsent >= 0),
  unsent_cards text not null,
  -- The caller who requested it.
  actor text not null,
  requested_at integer not null,
  completed_at integer,
  primary key (store_id, customer_id),
  foreign key (store_id, customer_id) references customers (store_id, id),
  check ((address is null) = (completed_at is not null))
) strict, without rowid;
create index customer_erasures_unfinished on customer_erasures (requested_at) where completed_at is null;
-- The cards of the customers of unfinished erasures.
create table customer_erasure_cards (
  store_id integer not null,
  customer_id integer not null,
  card_id integer not null,
  primary key (store_id, customer_id, card_id)
) strict, without rowid;
-- The newest event of each store that was erased.
create table erased_events (
  store_id integer not null references stores (id),
  last_id integer not null check (last_id > 0),
  primary key (store_id)
) strict, without rowid;
-- Since when this file contains no remains of deleted rows; null: not since its creation. A file without customers
-- contains no personal data yet.
create table file_remains (
  id integer primary key check (id = 1),
  absent_since integer
) strict;
insert into file_remains (id, absent_since)
select 1, case when exists (select 1 from customers) then null else 0 end;

-- An event changes only when personal data in it is erased: a field keeps its value or becomes null.
drop trigger events_are_not_updated;
create trigger events_are_not_updated before update on events
when new.store_id <> old.store_id or new.type <> old.type or new.subject_id <> old.subject_id
  or new.subject_version <> old.subject_version or new.created_at <> old.created_at or new.id < old.id
  or (new.id > old.id) = (new.data <> old.data)
  or (new.data <> old.data and (
    json_remove(new.data, '$.gift_card.customer_id', '$.gift_card.customer_email', '$.gift_card.recipient_id',
      '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message', '$.gift_card.sender_name',
      '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note', '$.hold.reference', '$.hold.note',
      '$.customer.email', '$.customer.storefront_customer_id', '$.delivery.recipient', '$.delivery.last_attempt',
      '$.delivery.cancel_reason')
    <> json_remove(old.data, '$.gift_card.customer_id', '$.gift_card.customer_email', '$.gift_card.recipient_id',
      '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message', '$.gift_card.sender_name',
      '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note', '$.hold.reference', '$.hold.note',
      '$.customer.email', '$.customer.storefront_customer_id', '$.delivery.recipient', '$.delivery.last_attempt',
      '$.delivery.cancel_reason')
    or exists (
      select 1 from json_each(json_array('$.gift_card.customer_id', '$.gift_card.customer_email',
        '$.gift_card.recipient_id', '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message',
        '$.gift_card.sender_name', '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note',
        '$.hold.reference', '$.hold.note', '$.customer.email', '$.customer.storefront_customer_id',
        '$.delivery.recipient', '$.delivery.last_attempt', '$.delivery.cancel_reason')) p
      where json_extract(new.data, p.value) is not null
        and json_extract(new.data, p.value) is not json_extract(old.data, p.value))))
begin select raise(abort, 'events are append-only'); end;

-- Reference and note of a closed hold can be erased.
drop trigger closed_holds_stay_closed;
create trigger closed_holds_stay_closed before update on holds
when old.status <> 'open' and (
  (new.reference is old.reference and new.note is old.note)
  or (new.reference is not null and new.reference is not old.reference)
  or (new.note is not null and new.note is not old.note)
  or new.store_id <> old.store_id or new.id <> old.id or new.card_id <> old.card_id or new.status <> old.status
  or new.amount <> old.amount or new.captured <> old.captured or new.actor <> old.actor
  or new.order_id is not old.order_id or new.created_at <> old.created_at or new.expires_at <> old.expires_at
  or new.closed_at is not old.closed_at
)
begin select raise(abort, 'a closed hold stays closed'); end;
