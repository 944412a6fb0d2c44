-- Tables with rowids: a new row is appended to the last page, and rows are as large as they are. The rowids follow the
-- order of the commits. A table without rowids moves large rows to other pages and splits full pages in the middle.
--
-- Entries of the ledger in format 2: their hash covers a commitment to reference and note, which can be erased, a salt
-- for each chain, and the expiry with which a card was issued. The end of a card's chain is in the card's row, and
-- each transfer names the one before it, so that no index by card is needed.

create table chain_entries (
  store_id integer not null,
  id integer not null,
  card_id integer not null,
  sequence integer not null,
  previous_id integer,
  salt blob,
  issued_expires_on text,
  text_salt blob,
  text_digest blob,
  hash blob not null,
  primary key (store_id, id)
) strict, without rowid;
create table chain_ends (
  store_id integer not null,
  card_id integer not null,
  transfer_id integer not null,
  sequence integer not null,
  hash blob not null,
  primary key (store_id, card_id)
) strict, without rowid;
-- Cards that had another expiry when they were issued.
create table issued_terms (
  store_id integer not null,
  card_id integer not null,
  expires_on text,
  primary key (store_id, card_id)
) strict, without rowid;
insert or ignore into issued_terms (store_id, card_id, expires_on)
select e.store_id, g.id, e.data ->> '$.gift_card.expires_on'
from events e join gift_cards g on g.store_id = e.store_id and g.id = e.subject_id
where e.type = 'gift_card.created' and e.data ->> '$.gift_card.expires_on' is not g.expires_on;

-- run rewrite-chains

create table new_gift_cards (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  version integer not null check (version >= 1),
  currency text not null check (length(currency) = 3),
  initial_value integer not null check (initial_value > 0),
  -- A cache of the ledger: changes only together with a transfer.
  balance integer not null check (balance >= 0),
  -- A cache of the open holds: the part of the balance that they reserve.
  held integer not null default 0 check (held >= 0),
  last_characters text not null check (length(last_characters) = 4),
  -- The card's current code; null: its first and only one.
  code_lookup integer,
  customer_id integer,
  recipient_id integer,
  note text,
  message text,
  expires_on text check (length(expires_on) = 10),
  disabled_at integer,
  created_at integer not null,
  line_item_id integer,
  order_id integer,
  user_id integer,
  api_client_id integer,
  -- The end of the chain of the card's transfers.
  last_transfer_id integer not null,
  chain_length integer not null check (chain_length >= 1),
  chain_hash blob not null check (length(chain_hash) = 32),
  -- The last days of validity whose end, and whose approach, were published.
  expired_event_day text,
  expiring_soon_event_day text,
  primary key (store_id, id),
  check (held <= balance),
  foreign key (store_id, customer_id) references customers (store_id, id),
  foreign key (store_id, recipient_id) references customers (store_id, id)
) strict;
insert into new_gift_cards (store_id, id, version, currency, initial_value, balance, held, last_characters, code_lookup,
  customer_id, recipient_id, note, message, expires_on, disabled_at, created_at, line_item_id, order_id, user_id,
  api_client_id, last_transfer_id, chain_length, chain_hash, expired_event_day, expiring_soon_event_day)
select g.store_id, g.id, g.version, g.currency, g.initial_value, g.balance, g.held, g.last_characters, g.code_lookup,
  g.customer_id, g.recipient_id, g.note, g.message, g.expires_on, g.disabled_at, g.created_at, g.line_item_id,
  g.order_id, g.user_id, g.api_client_id, c.transfer_id, c.sequence, c.hash, g.expired_event_day, g.expiring_soon_event_day
from gift_cards g left join chain_ends c on c.store_id = g.store_id and c.card_id = g.id
order by g.store_id, g.id;
drop table gift_cards;
alter table new_gift_cards rename to gift_cards;
drop table chain_ends;
drop table issued_terms;

create index gift_cards_by_customer on gift_cards (store_id, customer_id, last_characters)
  where customer_id is not null;
create index gift_cards_by_recipient on gift_cards (store_id, recipient_id, last_characters)
  where recipient_id is not null;
create index gift_cards_expiring on gift_cards (store_id, expires_on)
  where expires_on is not null and (expired_event_day is null or expired_event_day <> expires_on);
create trigger cards_are_not_deleted before delete on gift_cards
begin select raise(abort, 'gift cards are never deleted'); end;
create trigger cards_keep_what_was_issued
before update of store_id, id, currency, initial_value, created_at, api_client_id on gift_cards
when old.store_id <> new.store_id or old.id <> new.id or old.currency <> new.currency
  or old.initial_value <> new.initial_value or old.created_at <> new.created_at
  or old.api_client_id is not new.api_client_id
begin select raise(abort, 'what a gift card was issued with does not change'); end;

create table new_gift_card_codes (
  store_id integer not null,
  -- The first 64 bits of the digest.
  lookup integer not null,
  digest blob not null check (length(digest) = 32),
  card_id integer not null,
  primary key (store_id, lookup),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
) strict;
insert into new_gift_card_codes (store_id, lookup, digest, card_id)
select store_id, lookup, digest, card_id from gift_card_codes order by store_id, lookup;
drop table gift_card_codes;
alter table new_gift_card_codes rename to gift_card_codes;
create trigger codes_are_not_deleted before delete on gift_card_codes
begin select raise(abort, 'a used code stays used'); end;

create table new_transfers (
  store_id integer not null,
  id integer not null check (id > 0),
  card_id integer not null,
  sequence integer not null check (sequence >= 1),
  -- The card's transfer before this one; null: this is the first.
  previous_id integer,
  -- Alternatives, and no list: SQLite makes a table of a list of more than two for every row that is written.
  kind text not null check (
    kind = 'issue' or kind = 'adjustment' or kind = 'debit'
    or kind = 'credit' or kind = 'capture' or kind = 'reversal'
  ),
  amount integer not null check (amount > 0),
  currency text not null check (length(currency) = 3),
  debit_account text not null check (
    debit_account = 'card' or debit_account = 'sales' or debit_account = 'promotions'
    or debit_account = 'redemptions' or debit_account = 'adjustments' or debit_account = 'breakage'
  ),
  credit_account text not null check (
    credit_account = 'card' or credit_account = 'sales' or credit_account = 'promotions'
    or credit_account = 'redemptions' or credit_account = 'adjustments' or credit_account = 'breakage'
  ),
  balance_after integer not null check (balance_after >= 0),
  actor text not null,
  reference text,
  note text,
  order_id integer,
  -- The hold of a capture.
  hold_id integer,
  -- The transfer that a reversal reverses, in whole or in part.
  reverses integer,
  created_at integer not null,
  -- Of the chain, in its first entry.
  salt blob check (length(salt) = 16),
  -- The card's expiry when it was issued, in its first entry.
  issued_expires_on text check (length(issued_expires_on) = 10),
  text_salt blob check (length(text_salt) = 16),
  -- SHA-256 of text_salt, reference and note.
  text_digest blob check (length(text_digest) = 32),
  -- SHA-256 of the previous hash in the card's chain, and the content of the entry.
  hash blob not null check (length(hash) = 32),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  -- Each transfer moves money between the card and one system account.
  check ((debit_account = 'card') <> (credit_account = 'card')),
  check ((kind = 'reversal') = (reverses is not null)),
  check ((kind = 'capture') = (hold_id is not null)),
  check ((sequence = 1) = (previous_id is null)),
  check ((sequence = 1) = (salt is not null)),
  check (sequence = 1 or issued_expires_on is null),
  check (text_salt is not null or (reference is null and note is null)),
  check (text_salt is null or text_digest is not null)
) strict;
insert into new_transfers (store_id, id, card_id, sequence, previous_id, kind, amount, currency, debit_account,
  credit_account, balance_after, actor, reference, note, order_id, hold_id, reverses, created_at, salt,
  issued_expires_on, text_salt, text_digest, hash)
select e.store_id, e.id, e.card_id, e.sequence, e.previous_id, t.kind, t.amount, t.currency, t.debit_account,
  t.credit_account, t.balance_after, t.actor, t.reference, t.note, t.order_id, t.hold_id, t.reverses, t.created_at,
  e.salt, e.issued_expires_on, e.text_salt, e.text_digest, e.hash
from chain_entries e
cross join transfers t on t.store_id = e.store_id and t.card_id = e.card_id and t.sequence = e.sequence
order by e.store_id, e.id;
drop table transfers;
alter table new_transfers rename to transfers;
drop table chain_entries;

create index transfers_by_reversed on transfers (store_id, reverses) where reverses is not null;
-- Every 32nd transfer of a card, so that a page in the middle of a long chain is found in few steps. Most cards have none.
create index transfers_by_place on transfers (store_id, card_id, sequence) where sequence % 32 = 0;
-- Only reference and note can be erased, with the salt that connects them with what the hash covers.
create trigger transfers_are_not_updated before update on transfers
when old.text_salt is null or new.text_salt is not null or new.reference is not null or new.note is not null
  or old.store_id <> new.store_id or old.id <> new.id or old.card_id <> new.card_id or old.sequence <> new.sequence
  or old.previous_id is not new.previous_id or old.kind <> new.kind or old.amount <> new.amount
  or old.currency <> new.currency or old.debit_account <> new.debit_account
  or old.credit_account <> new.credit_account or old.balance_after <> new.balance_after or old.actor <> new.actor
  or old.order_id is not new.order_id or old.hold_id is not new.hold_id or old.reverses is not new.reverses
  or old.created_at <> new.created_at or old.salt is not new.salt
  or old.issued_expires_on is not new.issued_expires_on or old.text_digest is not new.text_digest
  or old.hash <> new.hash
begin select raise(abort, 'transfers are append-only'); end;
create trigger transfers_are_not_deleted before delete on transfers
begin select raise(abort, 'transfers are append-only'); end;

-- A transfer follows the last one of its card: chains have no forks. The first one is inserted after its card. A copy
-- inserts the cards as they are at the end.
create trigger transfers_extend_chains after insert on transfers when new.sequence > 1
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying');
end;
create trigger transfers_begin_chains after insert on transfers
when new.sequence = 1 and not exists (
  select 1 from gift_cards
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.id and chain_length = 1 and chain_hash = new.hash
)
begin
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where not exists (select 1 from copies where state = 'copying');
end;

create table new_events (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  type text not null,
  subject_id integer not null,
  -- The version of the card after the event; 0 if the subject has none.
  subject_version integer not null,
  created_at integer not null,
  -- JSON: the record as it was then, and the names of the fields that changed.
  data text not null,
  primary key (store_id, id)
) strict;
insert into new_events (store_id, id, type, subject_id, subject_version, created_at, data)
select store_id, id, type, subject_id, subject_version, created_at, data from events order by store_id, id;
drop table events;
alter table new_events rename to events;
create trigger events_are_not_updated before update on events
when new.id <= old.id or new.store_id <> old.store_id or new.type <> old.type or new.data <> old.data
  or new.subject_id <> old.subject_id or new.subject_version <> old.subject_version or new.created_at <> old.created_at
begin select raise(abort, 'events are append-only'); end;
-- Subscribers read events in the order of their ids, so a new event has the highest id of its store. Its id can be
-- lower at first, if another process on this file or a clock that was set back generated it. Then the event is enqueued
-- for the matching webhooks.
create trigger events_are_enqueued after insert on events
when exists (select 1 from webhooks where store_id = new.store_id)
  or new.id < (select id from events where store_id = new.store_id order by id desc limit 1)
begin
  update events set id = 1 + (select id from events where store_id = new.store_id order by id desc limit 1)
  where store_id = new.store_id and id = new.id
    and id < (select id from events where store_id = new.store_id order by id desc limit 1);
  insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, next_at)
  select w.store_id, w.id, (select id from events where store_id = new.store_id order by id desc limit 1), 'queued',
    new.created_at, new.created_at
  from webhooks w
  where w.store_id = new.store_id and w.status = 'active' and case
    when new.type = 'webhook.test' then w.id = new.subject_id
    else instr(w.patterns, ' ' || new.type || ' ') > 0 or instr(w.patterns, ' * ') > 0
      or instr(w.patterns, ' ' || substr(new.type, 1, instr(new.type, '.')) || '* ') > 0
  end;
end;

-- What the planner assumes about the tables at any size, as in migration 3. The statistics of a table end with it.
insert into sqlite_stat1 (tbl, idx, stat) values
  ('gift_cards', 'sqlite_autoindex_gift_cards_1', '1000000 500000 1'),
  ('gift_cards', 'gift_cards_by_customer', '300000 150000 3 1'),
  ('gift_cards', 'gift_cards_by_recipient', '300000 150000 3 1'),
  ('transfers', 'sqlite_autoindex_transfers_1', '3000000 1500000 1'),
  ('transfers', 'transfers_by_reversed', '10000 5000 2'),
  ('transfers', 'transfers_by_place', '10000 5000 5 1'),
  ('events', 'sqlite_autoindex_events_1', '3000000 1500000 1'),
  ('gift_card_codes', 'sqlite_autoindex_gift_card_codes_1', '1000000 500000 1');
analyze sqlite_schema;
