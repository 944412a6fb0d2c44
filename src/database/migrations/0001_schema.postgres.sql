-- The schema of a PostgreSQL database. `0001_schema.sqlite.sql` has the same tables for SQLite.
--
-- `store_id` leads every key of a store's rows, so that these tables can be partitioned and distributed by it: the
-- comment "by store" marks them. Instants are ms since 1970 UTC, amounts are in minor units, days are 'YYYY-MM-DD'.
-- Texts are compared by their bytes (collate "C"), whatever the server's language.

-- == Functions of triggers ==

-- The triggers that check new rows do not apply to the rows of a store that arrives, and its rows can be deleted.
create function is_arriving(store_id bigint) returns boolean stable language plpgsql as $$
begin
  return exists (select 1 from stores s where s.id = store_id and s.status = 'arriving');
end $$;

-- Rejects a change with the message that the trigger names.
create function refuse() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if is_arriving((to_jsonb(old) ->> 'store_id')::bigint) then
      return old;
    end if;
  end if;
  raise exception '%', tg_argv[0];
end $$;

-- A trigger for each table calls it while a store is closed.
create function reject_change_of_closed_store() returns trigger language plpgsql as $$
begin raise exception 'the store is closed' using errcode = 'LG001'; end $$;

-- Logs contain entries in the order of their commits. In a trigger and not by a default, because Citus evaluates
-- defaults on another server than the rows'.
create function set_transaction_id() returns trigger language plpgsql as $$
begin
  new.transaction_id := pg_current_xact_id()::text::bigint;
  return new;
end $$;

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
    where not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id);
  end if;
  return null;
end $$;

-- == Stores ==

create table stores (
  id bigint primary key check (id > 0),
  domain text collate "C" not null unique check (domain = lower(domain)),
  name text collate "C" not null,
  currency text collate "C" not null check (length(currency) = 3),
  time_zone text collate "C" not null,
  issue_limit bigint check (issue_limit > 0),
  -- Sealed: each signature of a request is computed with it.
  proxy_secret bytea,
  require_signature bigint not null check (require_signature in (0, 1)),
  customer_search bigint not null check (customer_search in (0, 1)),
  -- Whether tills sell only printed cards.
  stock_required bigint not null default 0 check (stock_required in (0, 1)),
  -- How long a card can be re-enabled; 0: a disabling is final.
  undo_window_minutes bigint not null default 0 check (undo_window_minutes between 0 and 60),
  -- How many days before a card's expiry an event is published; 0: none is.
  expiring_soon_days bigint not null default 0 check (expiring_soon_days between 0 and 365),
  -- The maximum duration of its holds.
  hold_limit_days bigint not null default 7 check (hold_limit_days between 1 and 90),
  demonstration bigint not null check (demonstration in (0, 1)),
  created_at bigint not null,
  updated_at bigint not null,
  -- Null: the default of the service.
  lookup_failures_per_hour bigint check (lookup_failures_per_hour between 1 and 100000),
  -- The instant from which all changes are recorded; null: since the store was created.
  changes_from bigint,
  -- 'multi_purpose', or 'single_purpose' with a space and the rate in percent; null: the store does not record VAT.
  vat text collate "C",
  -- JSON: {account: name, …}, the names of the accounts in the journal that differ from the default.
  account_names text collate "C",
  -- 'consultant/client/first month/account length', for the files for DATEV; null: none.
  datev text collate "C",
  -- open; closing: requests in progress can still change it; closed: nothing changes it; moved: another installation
  -- has it; arriving: its rows are being copied into this database. Only an open store is served.
  status text collate "C" not null default 'open' check (status in ('open', 'closing', 'closed', 'moved', 'arriving')),
  -- When it was last closed.
  closed_at bigint,
  -- Where it was moved to, without a password.
  moved_to text collate "C",
  check (require_signature = 0 or proxy_secret is not null)
);
create index stores_not_open on stores (id) where status <> 'open';

-- The shops of a store, where movements take place.
create table locations (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  name text collate "C" not null check (length(name) between 1 and 100),
  address text collate "C" check (length(address) <= 500),
  -- Of its receipts; null: the store's.
  time_zone text collate "C" check (length(time_zone) <= 64),
  created_at bigint not null,
  -- Null: it is open.
  closed_at bigint,
  primary key (store_id, id)
); -- by store

create table access_tokens (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- Does not change when the token is rotated.
  api_client_id bigint not null check (api_client_id > 0),
  name text collate "C" not null,
  -- SHA-256 of a token of more than 230 random bits.
  hash bytea not null check (length(hash) = 32),
  -- Space-separated.
  scopes text collate "C" not null,
  created_at bigint not null,
  last_used_at bigint,
  revoked_at bigint,
  -- The token is rejected from then on; null: it does not expire.
  expires_at bigint,
  -- The movements of the token take place there; null: it belongs to none.
  location_id bigint,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, location_id) references locations (store_id, id)
); -- by store

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

-- Responses to requests with an `Idempotency-Key`, for 24 hours.
create table idempotency_records (
  store_id bigint not null references stores (id),
  -- 16 bytes that cover the caller and the key. A second digest of the same computation salts the fingerprint.
  key_digest bytea not null check (length(key_digest) between 1 and 512),
  -- Salted digest of the request.
  fingerprint bytea not null check (length(fingerprint) = 32),
  created_at bigint not null,
  -- The response: packed after a zero byte, or sealed if it can contain a secret.
  response bytea not null,
  primary key (store_id, key_digest)
); -- by store
create index idempotency_records_by_age on idempotency_records (created_at);

-- Failed lookups are limited per caller, with one row per caller.
create table lookup_throttle (
  store_id bigint not null references stores (id),
  -- 'token:7', 'development', 'customer:1001' (a storefront's id).
  caller text collate "C" not null check (length(caller) between 1 and 64),
  -- The instant at which the caller's whole budget is available again. Each failure delays it by one share.
  refilled_at bigint not null,
  primary key (store_id, caller)
); -- by store
create index lookup_throttle_by_refill on lookup_throttle (refilled_at);

-- Requests of one process to the API of a store, in the order of their responses, for 24 hours. A process replaces its
-- newest block until that is long enough. Nothing in it is personal or secret.
create table request_blocks (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- The first and the last request.
  started_at bigint not null,
  ended_at bigint not null check (ended_at >= started_at),
  requests bigint not null check (requests >= 0),
  -- Requests that were not recorded, because there were too many.
  dropped bigint not null check (dropped >= 0),
  -- Bits: 1 if a response was a success, 2 if a request was rejected, 4 if the service failed.
  results bigint not null check (results between 0 and 7),
  -- JSON: what requests have in common.
  kinds text collate "C" not null,
  -- The rest of each request, in a fixed number of bytes.
  content bytea not null,
  primary key (store_id, id)
); -- by store

-- == Customers and cards ==

-- The row of an erased customer stays without its address, because events refer to it.
create table customers (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- The first spelling.
  email text collate "C" not null,
  -- Lower case and NFC: equal for two spellings of one address.
  email_key text collate "C" not null,
  created_at bigint not null,
  -- The id that the storefront has given to the customer.
  storefront_customer_id bigint check (storefront_customer_id between 1 and 9007199254740991),
  erased_at bigint,
  primary key (store_id, id),
  unique (store_id, email_key)
); -- by store
create unique index customers_by_storefront_id on customers (store_id, storefront_customer_id)
  where storefront_customer_id is not null;

-- The server parses and plans every CHECK again for each statement that writes to its table: those of cards and
-- transfers took a third of the time of a creation. A check that calls a function is short, and the function is parsed
-- once per session. As in a CHECK, null is accepted.
create function is_sound_card(
  id bigint, version bigint, currency text, initial_value bigint, balance bigint, held bigint, last_characters text,
  expires_on text, chain_length bigint, chain_hash bytea
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and version >= 1
    and length(currency) = 3 and length(last_characters) = 4 and length(expires_on) = 10
    and initial_value > 0 and balance >= 0 and held >= 0 and held <= balance
    and chain_length >= 1 and length(chain_hash) = 32;
end $$;
create table gift_cards (
  store_id bigint not null references stores (id),
  id bigint not null,
  version bigint not null,
  currency text collate "C" not null,
  initial_value bigint not null,
  -- A cache of the ledger: changes only together with a transfer.
  balance bigint not null,
  -- A cache of the open holds: the part of the balance that they reserve.
  held bigint not null default 0,
  last_characters text collate "C" not null,
  -- The card's current code; null: its first and only one.
  code_lookup bigint,
  customer_id bigint,
  recipient_id bigint,
  note text collate "C",
  message text collate "C",
  expires_on text collate "C",
  disabled_at bigint,
  -- When the card was suspended, and why; null: it is not suspended.
  suspended_at bigint,
  suspend_reason text collate "C" check (suspend_reason is null or suspended_at is not null),
  created_at bigint not null,
  line_item_id bigint,
  order_id bigint,
  user_id bigint,
  api_client_id bigint,
  -- The end of the chain of the card's transfers.
  last_transfer_id bigint not null,
  chain_length bigint not null,
  chain_hash bytea not null,
  -- The last days of validity whose end, and whose approach, were published.
  expired_event_day text collate "C",
  expiring_soon_event_day text collate "C",
  sender_name text collate "C",
  recipient_name text collate "C",
  -- Each tag between newlines, so that one is found by its text.
  tags text collate "C",
  -- The caller's own id of the card.
  external_id text collate "C",
  design text collate "C",
  -- The end of the chain of the card's changes.
  last_change_id bigint,
  change_count bigint not null default 0,
  change_hash bytea,
  -- The VAT with which the card was issued.
  vat text collate "C",
  -- A cache of the ledger: redemptions less their reversals. Changes only together with a transfer.
  redeemed bigint not null default 0 check (redeemed >= 0),
  -- The batch that issued it; null: it was issued alone.
  batch_id bigint,
  -- When the recipient's page first showed it; null: it did not, or the time was erased.
  viewed_at bigint,
  -- The last version of the card whose event was erased.
  erased_event_version bigint,
  primary key (store_id, id),
  check (
    is_sound_card(id, version, currency, initial_value, balance, held, last_characters, expires_on, chain_length,
      chain_hash)
  ),
  constraint gift_cards_changes_check check (
    (change_count = 0) = (last_change_id is null) and change_count >= 0
    and (change_hash is null) = (last_change_id is null) and (change_hash is null or length(change_hash) = 32)
  ),
  foreign key (store_id, customer_id) references customers (store_id, id),
  foreign key (store_id, recipient_id) references customers (store_id, id)
); -- by store
-- A search uses the customer: an index with the address costs more than all other indexes.
create index gift_cards_by_customer on gift_cards (store_id, customer_id, last_characters)
  where customer_id is not null;
create index gift_cards_by_recipient on gift_cards (store_id, recipient_id, last_characters)
  where recipient_id is not null;
-- Cards whose expiry was not published: a card that never expires costs nothing.
create index gift_cards_expiring on gift_cards (store_id, expires_on)
  where expires_on is not null and (expired_event_day is null or expired_event_day <> expires_on);
-- Indexes of lists. Each contains only the cards that it can find.
create index gift_cards_by_expiry on gift_cards (store_id, expires_on, id) where expires_on is not null;
create index gift_cards_by_disabling on gift_cards (store_id, disabled_at, id) where disabled_at is not null;
create index gift_cards_by_suspension on gift_cards (store_id, suspended_at, id) where suspended_at is not null;
create index gift_cards_by_external_id on gift_cards (store_id, external_id) where external_id is not null;
create index gift_cards_by_order on gift_cards (store_id, order_id, id) where order_id is not null;
create index gift_cards_by_batch on gift_cards (store_id, batch_id, id) where batch_id is not null;
create trigger cards_keep_what_was_issued
before update of store_id, id, currency, initial_value, created_at, api_client_id on gift_cards
for each row when (old.store_id <> new.store_id or old.id <> new.id or old.currency <> new.currency
  or old.initial_value <> new.initial_value or old.created_at <> new.created_at
  or old.api_client_id is distinct from new.api_client_id)
execute function refuse('what a gift card was issued with does not change');
create trigger cards_keep_their_vat before update of vat on gift_cards
for each row when (old.vat is distinct from new.vat)
execute function refuse('what a gift card was issued with does not change');
create trigger cards_are_not_deleted before delete on gift_cards
for each row execute function refuse('gift cards are never deleted');
create trigger cards_are_not_truncated before truncate on gift_cards
execute function refuse('gift cards are never deleted');

-- Every code that the store has ever used.
create table gift_card_codes (
  store_id bigint not null,
  -- The first 64 bits of the digest.
  lookup bigint not null,
  digest bytea not null check (length(digest) = 32),
  -- Null: the code is in a stock, or was voided there.
  card_id bigint,
  primary key (store_id, lookup),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
); -- by store
create trigger codes_are_not_deleted before delete on gift_card_codes
for each row execute function refuse('a used code stays used');
create trigger codes_are_not_truncated before truncate on gift_card_codes
execute function refuse('a used code stays used');

-- Changes of gift cards that are not money, in chains of their own. The end of a card's chain is in the card's row, and
-- each change names the one before it, so that no index by card is needed. A card that was never changed has none.
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
  transaction_id bigint not null default 0,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((sequence = 1) = (previous_id is null)),
  check ((sequence = 1) = (salt is not null)),
  check (json_typeof(fields::json) = 'array'),
  check (texts is null or jsonb_typeof(texts::jsonb) = 'object')
); -- by store
-- Every 32nd change of a card, so that a page in the middle of a long chain is found in few steps.
create index card_changes_by_place on card_changes (store_id, card_id, sequence) where sequence % 32 = 0;
create index card_changes_by_transaction on card_changes (store_id, transaction_id, id);
-- The terms that cards had before a change, so that a report of the past finds cards without reading all later changes.
-- `src/core/cards/storage/terms.ts` has the same expressions.
create index card_changes_by_former_expiry
  on card_changes (store_id, substr(fields, strpos(fields, '["expires_on","') + 15, 10), id)
  where strpos(fields, '["expires_on","') > 0;
create index card_changes_by_former_disabling
  on card_changes (store_id, substr(fields, strpos(fields, '["disabled_at",') + 15, 13), id)
  where strpos(fields, '["disabled_at",') > 0 and strpos(fields, '["disabled_at",null') = 0;
-- The changes that resumed cards.
create index card_changes_of_resumptions on card_changes (store_id, id)
  where strpos(fields, '["suspended_at",') > 0 and strpos(fields, '["suspended_at",null') = 0;
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
  if not found and not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id) then
    raise exception 'a change must follow the last change of its gift card';
  end if;
  return null;
end $$;
create trigger card_changes_extend_chains after insert on card_changes
for each row execute function extend_change_chain();
create trigger card_changes_are_late after insert on card_changes
for each row execute function record_late_entry();
create trigger card_changes_are_ordered before insert on card_changes
for each row execute function set_transaction_id();

-- == Money ==

create function is_sound_transfer(
  id bigint, sequence bigint, previous_id bigint, kind text, amount bigint, currency text, debit_account text,
  credit_account text, balance_after bigint, reference text, note text, order_reference text, external_id text,
  hold_id bigint, reverses bigint, salt bytea, issued_expires_on text, text_salt bytea, text_digest bytea, hash bytea
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and sequence >= 1 and amount > 0 and balance_after >= 0
    and length(currency) = 3 and length(hash) = 32
    and kind in ('issue', 'adjustment', 'debit', 'credit', 'top_up', 'capture', 'reversal')
    and debit_account in
      ('card', 'sales', 'online_sales', 'top_ups', 'promotions', 'redemptions', 'adjustments', 'breakage')
    and credit_account in
      ('card', 'sales', 'online_sales', 'top_ups', 'promotions', 'redemptions', 'adjustments', 'breakage')
    -- Each transfer moves money between the card and one system account.
    and (debit_account = 'card') <> (credit_account = 'card')
    and (kind = 'reversal') = (reverses is not null)
    and (kind = 'capture') = (hold_id is not null)
    and (sequence = 1) = (previous_id is null)
    and (sequence = 1) = (salt is not null)
    and (sequence = 1 or issued_expires_on is null)
    and (text_salt is not null
      or (reference is null and note is null and order_reference is null and external_id is null))
    and (text_salt is null or text_digest is not null)
    and (salt is null or length(salt) = 16)
    and (text_salt is null or length(text_salt) = 16)
    and (text_digest is null or length(text_digest) = 32)
    and (issued_expires_on is null or length(issued_expires_on) = 10);
end $$;

-- The ledger. A hash covers a commitment to the texts, which can be erased. The end of a card's chain is in
-- the card's row, and each transfer names the one before it, so that no index by card is needed.
create table transfers (
  store_id bigint not null,
  id bigint not null,
  card_id bigint not null,
  sequence bigint not null,
  -- The card's transfer before this one; null: this is the first.
  previous_id bigint,
  kind text collate "C" not null,
  amount bigint not null,
  currency text collate "C" not null,
  debit_account text collate "C" not null,
  credit_account text collate "C" not null,
  balance_after bigint not null,
  actor text collate "C" not null,
  reference text collate "C",
  note text collate "C",
  order_id bigint,
  order_reference text collate "C",
  -- The caller's own id of it.
  external_id text collate "C",
  location_id bigint,
  -- The hold of a capture.
  hold_id bigint,
  -- The transfer that a reversal reverses, in whole or in part.
  reverses bigint,
  created_at bigint not null,
  -- Of the chain, in its first entry.
  salt bytea,
  -- The card's expiry when it was issued, in its first entry.
  issued_expires_on text collate "C",
  text_salt bytea,
  -- SHA-256 of text_salt and the texts.
  text_digest bytea,
  -- SHA-256 of the previous hash in the card's chain, and the content of the entry.
  hash bytea not null,
  -- The VAT with which the card was issued, in its first entry.
  issued_vat text collate "C",
  transaction_id bigint not null default 0,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check (
    is_sound_transfer(id, sequence, previous_id, kind, amount, currency, debit_account, credit_account, balance_after,
      reference, note, order_reference, external_id, hold_id, reverses, salt, issued_expires_on, text_salt, text_digest,
      hash)
  )
); -- by store
-- For lists with a filter: each index contains only the rows that have the value, so that others do not pay for it.
create index transfers_by_external_id on transfers (store_id, external_id, id) where external_id is not null;
create index transfers_by_order_reference on transfers (store_id, order_reference, id) where order_reference is not null;
create index transfers_by_reference on transfers (store_id, reference, id) where reference is not null;
create index transfers_by_order_id on transfers (store_id, order_id, id) where order_id is not null;
create index transfers_by_reversed on transfers (store_id, reverses) where reverses is not null;
-- Every 32nd transfer of a card, so that a page in the middle of a long chain is found in few steps.
create index transfers_by_place on transfers (store_id, card_id, sequence) where sequence % 32 = 0;
-- Only the movements of staff, so that those of API clients do not pay for this index.
create index transfers_by_staff on transfers (store_id, id) where actor >= 'staff:' and actor < 'staff;';
-- Only cards that were issued at a location.
create index transfers_by_issue_location on transfers (store_id, location_id, card_id)
where kind = 'issue' and location_id is not null;
create index transfers_by_transaction on transfers (store_id, transaction_id, id);
create unique index transfers_first on transfers (store_id, card_id) where sequence = 1;
-- Only texts can be erased, with the salt that connects them with what the hash covers.
create trigger transfers_are_not_updated before update on transfers
for each row when (
  old.text_salt is null or new.text_salt is not null or new.reference is not null or new.note is not null
  or new.order_reference is not null or new.external_id is not null
  or (old.store_id, old.id, old.card_id, old.sequence, old.previous_id, old.kind, old.amount, old.currency,
    old.debit_account, old.credit_account, old.balance_after, old.actor, old.order_id, old.hold_id, old.reverses,
    old.created_at, old.salt, old.issued_expires_on, old.text_digest, old.hash, old.location_id)
  is distinct from (new.store_id, new.id, new.card_id, new.sequence, new.previous_id, new.kind, new.amount,
    new.currency, new.debit_account, new.credit_account, new.balance_after, new.actor, new.order_id, new.hold_id,
    new.reverses, new.created_at, new.salt, new.issued_expires_on, new.text_digest, new.hash, new.location_id)
) execute function refuse('transfers are append-only');
create trigger transfers_keep_their_vat before update of issued_vat on transfers
for each row when (old.issued_vat is distinct from new.issued_vat)
execute function refuse('transfers are append-only');
create trigger transfers_are_not_deleted before delete on transfers
for each row execute function refuse('transfers are append-only');
create trigger transfers_are_not_truncated before truncate on transfers
execute function refuse('transfers are append-only');
-- A transfer follows the last one of its card: chains have no forks. A copy inserts the cards as they are at the end.
create function extend_chain() returns trigger language plpgsql as $$
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  if not found and not exists (select 1 from copies where state = 'copying') and not is_arriving(new.store_id) then
    raise exception 'a transfer must follow the last transfer of its card';
  end if;
  return null;
end $$;
create trigger transfers_extend_chains after insert on transfers
for each row when (new.sequence > 1) execute function extend_chain();
create trigger transfers_are_late after insert on transfers
for each row execute function record_late_entry();
create trigger transfers_are_ordered before insert on transfers
for each row execute function set_transaction_id();

create table holds (
  store_id bigint not null,
  id bigint not null check (id > 0),
  card_id bigint not null,
  status text collate "C" not null check (status in ('open', 'captured', 'voided', 'expired')),
  amount bigint not null check (amount > 0),
  -- The amount that a capture took; the rest was released.
  captured bigint not null check (captured >= 0 and captured <= amount),
  actor text collate "C" not null,
  reference text collate "C",
  note text collate "C",
  order_id bigint,
  order_reference text collate "C",
  -- The caller's own id of it.
  external_id text collate "C",
  location_id bigint,
  created_at bigint not null,
  expires_at bigint not null check (expires_at > created_at),
  closed_at bigint,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((status = 'open') = (closed_at is null)),
  check ((status = 'captured') = (captured > 0))
); -- by store
create index holds_by_card on holds (store_id, card_id, id);
-- For lists with a filter, as those of transfers.
create index holds_by_external_id on holds (store_id, external_id, id) where external_id is not null;
create index holds_by_order_reference on holds (store_id, order_reference, id) where order_reference is not null;
create index holds_by_reference on holds (store_id, reference, id) where reference is not null;
create index holds_by_order_id on holds (store_id, order_id, id) where order_id is not null;
create index holds_open_by_expiry on holds (expires_at) where status = 'open';
-- The texts of a closed hold can be erased.
create trigger closed_holds_stay_closed before update on holds
for each row when (old.status <> 'open' and (
  (old.reference, old.note, old.order_reference, old.external_id)
    is not distinct from (new.reference, new.note, new.order_reference, new.external_id)
  or (new.reference is not null and new.reference is distinct from old.reference)
  or (new.note is not null and new.note is distinct from old.note)
  or (new.order_reference is not null and new.order_reference is distinct from old.order_reference)
  or (new.external_id is not null and new.external_id is distinct from old.external_id)
  or (old.store_id, old.id, old.card_id, old.status, old.amount, old.captured, old.actor, old.order_id,
    old.created_at, old.expires_at, old.closed_at, old.location_id)
  is distinct from (new.store_id, new.id, new.card_id, new.status, new.amount, new.captured, new.actor, new.order_id,
    new.created_at, new.expires_at, new.closed_at, new.location_id)
)) execute function refuse('a closed hold stays closed');
create trigger holds_are_not_deleted before delete on holds
for each row execute function refuse('holds are never deleted');
create trigger holds_are_not_truncated before truncate on holds
execute function refuse('holds are never deleted');

-- The extensions of holds. Each keeps the earlier expiry, by which reads of the past know which holds were open.
create table hold_extensions (
  store_id bigint not null,
  hold_id bigint not null,
  expires_at bigint not null,
  previous_expires_at bigint not null check (previous_expires_at < expires_at),
  actor text collate "C" not null,
  created_at bigint not null,
  primary key (store_id, hold_id, expires_at),
  foreign key (store_id, hold_id) references holds (store_id, id)
); -- by store
create trigger hold_extensions_are_not_updated before update on hold_extensions
for each row execute function refuse('extensions of holds are never changed');
create trigger hold_extensions_are_not_deleted before delete on hold_extensions
for each row execute function refuse('extensions of holds are never deleted');
create trigger hold_extensions_are_not_truncated before truncate on hold_extensions
execute function refuse('extensions of holds are never deleted');

-- == External ids ==

-- The ids of their own that callers have given to cards, transactions and holds. They are never used again.
create table external_ids (
  store_id bigint not null references stores (id),
  kind text collate "C" not null check (kind in ('card', 'transaction', 'hold', 'online_sale')),
  -- Half of a keyed digest of the id, which is not stored here.
  digest bytea not null check (length(digest) = 16),
  actor text collate "C" not null,
  -- Null: it was used up before an object had it.
  object_id bigint,
  -- Half of a keyed digest of what was asked for.
  content bytea check (length(content) = 16),
  created_at bigint not null,
  primary key (store_id, kind, digest),
  check ((object_id is null) = (content is null))
); -- by store
create trigger external_ids_are_not_updated before update on external_ids
for each row execute function refuse('external ids are never changed');
create trigger external_ids_are_not_deleted before delete on external_ids
for each row execute function refuse('external ids are never deleted');
create trigger external_ids_are_not_truncated before truncate on external_ids
execute function refuse('external ids are never deleted');

-- == Batches ==

-- Many cards that are issued with one request, in transactions of bounded size.
create table batches (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- The caller's name for it.
  name text collate "C",
  -- Half of a keyed digest of the caller's key, which never issues a second batch; null: none.
  key_digest bytea check (length(key_digest) = 16),
  actor text collate "C" not null,
  api_client_id bigint,
  state text collate "C" not null check (state = 'running' or state = 'complete'),
  currency text collate "C" not null,
  -- The number of cards, and the sum of their values in minor units.
  cards bigint not null check (cards > 0),
  total bigint not null check (total > 0),
  -- Cards that were issued, the sum of their values, and cards that could not be issued.
  issued bigint not null check (issued >= 0),
  issued_total bigint not null check (issued_total >= 0),
  failed bigint not null check (failed >= 0),
  -- The first part that was not issued.
  next_part bigint not null check (next_part >= 0),
  created_at bigint not null,
  completed_at bigint,
  -- Until when the codes can be read; null: the batch runs, or the codes are erased.
  codes_until bigint,
  -- Where its cards are issued; null: at no location.
  location_id bigint,
  primary key (store_id, id),
  unique (store_id, key_digest),
  check (issued + failed <= cards and issued_total <= total),
  check ((state = 'complete') = (completed_at is not null) and (state = 'running' or issued + failed = cards)),
  check (codes_until is null or completed_at is not null)
); -- by store
create index batches_running on batches (created_at) where state = 'running';
create index batches_with_codes on batches (codes_until) where codes_until is not null;

-- The cards of one transaction.
create table batch_parts (
  store_id bigint not null,
  batch_id bigint not null,
  part bigint not null check (part >= 0),
  -- Sealed, until the cards are issued.
  lines bytea,
  -- The ids of the issued cards in the order of the lines, between commas; nothing for a card that was not issued.
  card_ids text collate "C",
  -- Sealed, until they are erased.
  codes bytea,
  -- JSON: why cards were not issued; null: all were.
  failures text collate "C",
  primary key (store_id, batch_id, part),
  foreign key (store_id, batch_id) references batches (store_id, id),
  check ((lines is null) = (card_ids is not null)),
  check (lines is null or (codes is null and failures is null))
); -- by store

-- What staff have decided about headings of imported files, for the next import.
create table column_headings (
  store_id bigint not null references stores (id),
  -- JSON: {heading: column, …}, the latest decision last; null: the column is not read.
  columns text collate "C" not null check (jsonb_typeof(columns::jsonb) = 'object'),
  updated_at bigint not null,
  primary key (store_id)
); -- by store

-- Stock: printed codes without money. A code in stock has a row in gift_card_codes without a card, so it counts as used.

create table stocks (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- As the caller named it.
  name text collate "C",
  actor text collate "C" not null,
  api_client_id bigint,
  state text collate "C" not null check (state = 'running' or state = 'complete'),
  -- 1: the service generated the codes; 0: the caller uploaded them.
  generated bigint not null check (generated in (0, 1)),
  currency text collate "C" not null,
  -- What a code is sold for, in minor units: the fixed value, or any value from the minimum to the maximum.
  fixed_value bigint check (fixed_value > 0),
  minimum_value bigint check (minimum_value > 0),
  maximum_value bigint check (maximum_value >= minimum_value),
  -- How long a gift card is valid after its activation; null: it never expires.
  valid_months bigint check (valid_months > 0),
  -- The number of codes, how many of them are in stock or were, and how many could not be added.
  codes bigint not null check (codes > 0),
  printed bigint not null check (printed >= 0),
  failed bigint not null check (failed >= 0),
  -- The first part that was not added.
  next_part bigint not null check (next_part >= 0),
  created_at bigint not null,
  completed_at bigint,
  -- When all that was left was voided, which holds for codes that are added later.
  voided_at bigint,
  -- Until when the codes can be read; null: they are being added, or are erased.
  codes_until bigint,
  primary key (store_id, id),
  check ((fixed_value is null) = (minimum_value is not null) and (fixed_value is null) = (maximum_value is not null)),
  check (printed + failed <= codes),
  check ((state = 'complete') = (completed_at is not null) and (state = 'running' or printed + failed = codes)),
  check (codes_until is null or completed_at is not null)
); -- by store
create index stocks_running on stocks (created_at) where state = 'running';
create index stocks_with_codes on stocks (codes_until) where codes_until is not null;

-- The codes that are added in one transaction.
create table stock_parts (
  store_id bigint not null,
  stock_id bigint not null,
  part bigint not null check (part >= 0),
  -- Sealed, until they are erased.
  codes bytea,
  -- JSON: why codes were not added; null: all were, or the part is not added yet.
  failures text collate "C",
  primary key (store_id, stock_id, part),
  foreign key (store_id, stock_id) references stocks (store_id, id)
); -- by store

-- The codes of a stock by their places in it, from 0. The code itself, and the card that it became, is in gift_card_codes.
create table stock_codes (
  store_id bigint not null,
  stock_id bigint not null,
  place bigint not null check (place >= 0),
  lookup bigint not null,
  -- When it was activated or voided; null: it is left.
  sold_at bigint,
  voided_at bigint,
  -- When a caller who cannot activate it last looked for it.
  tried_at bigint,
  primary key (store_id, stock_id, place),
  unique (store_id, lookup),
  foreign key (store_id, stock_id) references stocks (store_id, id),
  foreign key (store_id, lookup) references gift_card_codes (store_id, lookup),
  check (sold_at is null or voided_at is null)
); -- by store

-- The codes that are no longer left are counted in these indexes.
create index stock_codes_sold on stock_codes (store_id, stock_id) where sold_at is not null;
create index stock_codes_voided on stock_codes (store_id, stock_id) where voided_at is not null;
create trigger stock_codes_are_not_deleted before delete on stock_codes
for each row execute function refuse('codes of a stock are never deleted');
create trigger stock_codes_are_not_truncated before truncate on stock_codes
for each statement execute function refuse('codes of a stock are never deleted');
create trigger stock_codes_never_return before update of sold_at, voided_at on stock_codes
for each row when (old.sold_at is not null or old.voided_at is not null)
execute function refuse('a code never returns to its stock');

-- == Events and webhooks ==

-- The outbox: changes that are published, written in the transaction of their cause.
create table events (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  type text collate "C" not null,
  subject_id bigint not null,
  -- The version of the card after the event; 0 if the subject has none.
  subject_version bigint not null,
  created_at bigint not null,
  -- JSON: the record as it was then, and the names of the fields that changed.
  data text collate "C" not null,
  -- Events are published in the order of this, once no transaction before it is open any more.
  transaction_id bigint not null default pg_current_xact_id()::text::bigint,
  -- The trace that the delivery continues: trace id, span id and flags of a W3C trace context, 25 bytes; null: the
  -- cause was not traced.
  trace_context bytea,
  primary key (store_id, id)
); -- by store
create index events_by_transaction on events (store_id, transaction_id, id);
-- Every transaction that writes an event shares a lock of its store; a webhook that starts to receive events acquires
-- it exclusively. An event that does not see the webhook is therefore committed before it. For a lock of the row of the
-- store the webhook could wait without end, because transactions that share it do not wait for an exclusive one.
create function enqueue_deliveries() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(new.store_id);
  insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, next_at)
  select w.store_id, w.id, new.id, 'queued', new.created_at, new.created_at
  from webhooks w
  where w.store_id = new.store_id and w.status = 'active' and case
    when new.type = 'webhook.test' then w.id = new.subject_id
    else strpos(w.patterns, ' ' || new.type || ' ') > 0 or strpos(w.patterns, ' * ') > 0
      or strpos(w.patterns, ' ' || split_part(new.type, '.', 1) || '.* ') > 0
  end;
  -- The update of a card in wallets: one that waits or is being sent includes this change.
  update wallet_cards
  set changed_at = greatest(changed_at + 1, new.created_at), next_at = coalesce(next_at, new.created_at)
  where store_id = new.store_id and card_id = new.subject_id;
  return null;
end $$;
create trigger events_are_enqueued after insert on events
for each row execute function enqueue_deliveries();
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
    'gift_card.recipient_name', 'transaction.reference', 'transaction.note', 'transaction.order_reference',
    'transaction.external_id', 'hold.reference', 'hold.note', 'hold.order_reference', 'hold.external_id',
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
create trigger events_are_not_updated
before update of store_id, id, type, subject_id, subject_version, created_at, data on events
for each row when (
  (old.store_id, old.id, old.type, old.subject_id, old.subject_version, old.created_at)
  is distinct from (new.store_id, new.id, new.type, new.subject_id, new.subject_version, new.created_at)
  or old.data = new.data or not is_redaction(old.data, new.data)
) execute function refuse('events are append-only');

-- Their secrets are sealed, because every message is signed.
create table webhooks (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  version bigint not null check (version >= 1),
  url text collate "C" not null,
  -- Each pattern between spaces, so that one is found by its text: ' gift_card.* customer.created '.
  patterns text collate "C" not null check (patterns like ' % '),
  secret bytea not null,
  -- Messages have signatures with both secrets until then.
  previous_secret bytea,
  previous_secret_until bigint,
  status text collate "C" not null check (status in ('active', 'paused')),
  paused_at bigint,
  pause_reason text collate "C" check (pause_reason in ('requested', 'failures', 'gone')),
  -- Since when every attempt has failed, and the first failure.
  failing_since bigint,
  failure text collate "C",
  created_at bigint not null,
  updated_at bigint not null,
  primary key (store_id, id),
  check ((previous_secret is null) = (previous_secret_until is null)),
  check ((status = 'paused') = (paused_at is not null)),
  check ((pause_reason is null) = (paused_at is null)),
  check ((failing_since is null) = (failure is null))
); -- by store
create function wait_for_events() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(new.store_id);
  return new;
end $$;
create trigger webhooks_wait_for_events before insert on webhooks
for each row execute function wait_for_events();
create trigger webhooks_wait_for_events_again before update on webhooks
for each row when (new.status = 'active' and (old.status <> new.status or old.patterns <> new.patterns))
execute function wait_for_events();

-- Enqueued with the event by a trigger, so that no event is written without them.
create table webhook_deliveries (
  store_id bigint not null,
  webhook_id bigint not null,
  event_id bigint not null,
  status text collate "C" not null check (status in ('queued', 'retrying', 'delivered', 'dead')),
  created_at bigint not null,
  attempts bigint not null default 0 check (attempts >= 0),
  -- The attempts before the last request to redeliver it, after which the delays start again.
  attempts_before bigint not null default 0 check (attempts_before between 0 and attempts),
  -- The first attempt since then, and the last one.
  first_at bigint,
  last_at bigint,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at bigint,
  -- The claim of a process.
  lease bigint,
  -- The result of the last attempt: a response, or why there was none.
  response_status bigint,
  response_body text collate "C",
  failure_reason text collate "C",
  failure text collate "C",
  duration_ms bigint,
  primary key (store_id, webhook_id, event_id),
  foreign key (store_id, webhook_id) references webhooks (store_id, id) on delete cascade,
  check ((status in ('queued', 'retrying')) = (next_at is not null)),
  check (lease is null or next_at is not null)
); -- by store
create index webhook_deliveries_due on webhook_deliveries (store_id, webhook_id, next_at)
  where next_at is not null;

-- The attempts before the last one, which is in the delivery: most deliveries need no row here.
create table webhook_attempts (
  store_id bigint not null,
  webhook_id bigint not null,
  event_id bigint not null,
  attempt bigint not null check (attempt >= 1),
  attempted_at bigint not null,
  duration_ms bigint not null,
  response_status bigint,
  response_body text collate "C",
  failure_reason text collate "C",
  failure text collate "C",
  primary key (store_id, webhook_id, event_id, attempt),
  foreign key (store_id, webhook_id, event_id)
    references webhook_deliveries (store_id, webhook_id, event_id) on delete cascade
); -- by store

-- == Emails ==

-- The settings of a store's emails, and what they, its pages and its paper show of the shop. A store without a row has the
-- defaults.
create table email_settings (
  store_id bigint not null references stores (id),
  enabled bigint not null check (enabled in (0, 1)),
  sender_name text collate "C",
  address text collate "C",
  reply_to text collate "C",
  colour text collate "C" check (length(colour) = 7),
  design text collate "C" not null default 'plain',
  website text collate "C",
  phone text collate "C",
  -- Lines.
  hours text collate "C",
  -- A URL.
  terms text collate "C",
  locale text collate "C" not null,
  page_url text collate "C",
  -- Numbers of days between commas, the largest first; empty: none.
  expiry_reminder_days text collate "C" not null,
  balance_reminder_days text collate "C" not null,
  notify_failures bigint not null check (notify_failures in (0, 1)),
  updated_at bigint not null,
  primary key (store_id)
); -- by store

-- The texts that a store has in place of the standard ones.
create table email_texts (
  store_id bigint not null references stores (id),
  kind text collate "C" not null
    check (kind in ('gift_card', 'receipt', 'top_up', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  language text collate "C" not null,
  part text collate "C" not null check (part in ('subject', 'heading', 'greeting', 'intro', 'closing')),
  text text collate "C" not null check (text <> ''),
  updated_at bigint not null,
  primary key (store_id, kind, language, part)
); -- by store

create table email_logos (
  store_id bigint not null references stores (id),
  type text collate "C" not null check (type in ('image/png', 'image/jpeg')),
  width bigint not null check (width > 0),
  height bigint not null check (height > 0),
  content bytea not null check (length(content) between 1 and 100000),
  updated_at bigint not null,
  primary key (store_id)
); -- by store

-- The mail server that an owner has set for a store: the one that sends, and the one that a test email has to verify.
create table email_servers (
  store_id bigint not null references stores (id),
  state text collate "C" not null check (state in ('draft', 'verified')),
  host text collate "C" not null,
  port bigint not null check (port in (465, 587, 2465, 2587, 2525)),
  tls text collate "C" not null check (tls in ('from_start', 'starttls_required')),
  user_name text collate "C" not null,
  sender text collate "C" not null,
  -- Sealed, and bound to the store, host, port and user.
  password bytea not null,
  password_set_at bigint not null,
  -- A keyed digest of the digits in the test email, until they are typed.
  code bytea,
  code_sent_at bigint,
  code_attempts bigint not null default 0 check (code_attempts >= 0),
  updated_at bigint not null,
  primary key (store_id, state),
  check (code is null or (state = 'draft' and code_sent_at is not null))
); -- by store

-- The wallets of phones that an owner has set up for a store: what signs its cards in them.
create table wallets (
  store_id bigint not null references stores (id),
  kind text collate "C" not null check (kind in ('apple', 'google')),
  -- The pass type id and the team of Apple; the issuer id and the service account of Google.
  name text collate "C" not null,
  holder text collate "C" not null,
  -- Sealed, and bound to the store, kind, name and holder.
  credential bytea not null,
  -- Of the certificate, if there is one.
  expires_at bigint,
  set_at bigint not null,
  -- Since when every update has failed, and the last failure.
  failing_since bigint,
  failure text collate "C",
  primary key (store_id, kind),
  check ((failing_since is null) = (failure is null))
); -- by store

-- The cards in wallets. One row has all changes that are not sent yet.
create table wallet_cards (
  store_id bigint not null,
  card_id bigint not null,
  kind text collate "C" not null,
  -- The last change of the card; it rises with each one.
  changed_at bigint not null,
  -- When the update is due; while it is claimed, when the claim expires; null: nothing is to be sent.
  next_at bigint,
  lease bigint,
  -- The attempts of this update, and the first one.
  attempts bigint not null default 0 check (attempts >= 0),
  first_at bigint,
  -- The id of the card at Google.
  object text collate "C",
  -- The code that it had when it was added, sealed for the card; null: the object is ended, and then the row is removed.
  code bytea,
  primary key (store_id, card_id, kind),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  foreign key (store_id, kind) references wallets (store_id, kind) on delete cascade,
  check (lease is null or next_at is not null),
  check ((kind = 'google') = (object is not null)),
  check (kind = 'google' or code is null)
); -- by store
create index wallet_cards_due on wallet_cards (store_id, kind, next_at);

-- The devices that show a card and receive pushes about it.
create table wallet_devices (
  store_id bigint not null,
  card_id bigint not null,
  kind text collate "C" not null default 'apple' check (kind = 'apple'),
  device text collate "C" not null check (length(device) between 1 and 100),
  push_token text collate "C" not null check (length(push_token) between 1 and 200),
  registered_at bigint not null,
  primary key (store_id, card_id, device),
  foreign key (store_id, card_id, kind) references wallet_cards (store_id, card_id, kind) on delete cascade
); -- by store
create index wallet_devices_by_device on wallet_devices (store_id, device);

-- Emails, written in the transaction of their cause and sent afterwards.
create table email_deliveries (
  store_id bigint not null,
  card_id bigint not null,
  id bigint not null check (id > 0),
  kind text collate "C" not null
    check (kind in ('gift_card', 'receipt', 'top_up', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  address text collate "C" not null,
  state text collate "C" not null
    check (state in ('scheduled', 'queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled')),
  -- What it is about, if not the card alone, so that it is enqueued once: a reminder, the transfer of a top-up.
  occasion text collate "C",
  -- The card's code, sealed, until the email is sent.
  code bytea,
  send_at bigint not null,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at bigint,
  -- The claim of a process; of a cancelled email, the last one.
  lease bigint,
  -- The number of attempts, and when the first and the last one started.
  attempts bigint not null default 0 check (attempts >= 0),
  first_at bigint,
  last_at bigint,
  -- The last response of the mail server.
  response text collate "C",
  created_at bigint not null,
  ended_at bigint,
  -- As in events.
  trace_context bytea,
  -- The batch of its card; null: the card was issued alone.
  batch_id bigint,
  primary key (store_id, card_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((state in ('scheduled', 'queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check ((code is not null) = (kind = 'gift_card' and next_at is not null)),
  check (lease is null or next_at is not null or state = 'cancelled')
); -- by store
-- Ids grow with time, so the emails of a day are a range of this index.
create index email_deliveries_by_id on email_deliveries (store_id, id, state);
create unique index email_deliveries_by_occasion on email_deliveries (store_id, card_id, occasion)
  where occasion is not null;
-- Lists of emails of one state and kind.
create index email_deliveries_by_state on email_deliveries (store_id, state, kind, id);
-- The emails of the cards of a batch, with which its page counts them.
create index email_deliveries_by_batch on email_deliveries (store_id, batch_id, state, kind, id, card_id)
  where batch_id is not null;
create index email_deliveries_due on email_deliveries (next_at) where next_at is not null;
-- Emails with a new card's code that were not delivered, and those that are scheduled.
create index email_deliveries_failed on email_deliveries (store_id, state, card_id, id)
  where kind = 'gift_card' and (state = 'bounced' or state = 'dead');
create index email_deliveries_scheduled on email_deliveries (store_id, card_id, id)
  where kind = 'gift_card' and state = 'scheduled';

-- == Online sales ==

-- The buy page of a store. Amounts are in minor units of its currency.
create table sale_pages (
  store_id bigint not null references stores (id),
  is_open bigint not null check (is_open in (0, 1)),
  currency text collate "C" not null check (length(currency) = 3),
  -- Amounts between commas; empty: none.
  presets text collate "C" not null,
  lowest bigint not null check (lowest > 0),
  highest bigint not null check (highest >= lowest),
  validity_months bigint check (validity_months between 1 and 1200),
  -- URLs.
  terms text collate "C",
  -- The terms themselves, which receipts contain.
  terms_text text collate "C" check (length(terms_text) between 1 and 40000),
  privacy text collate "C",
  imprint text collate "C",
  -- Hosts between commas; empty: none.
  frame_domains text collate "C" not null,
  -- The most that is sold per day.
  address_limit bigint check (address_limit > 0),
  card_limit bigint check (card_limit > 0),
  network_limit bigint check (network_limit > 0),
  store_limit bigint check (store_limit > 0),
  review_above bigint check (review_above > 0),
  reviews_first bigint not null check (reviews_first in (0, 1)),
  reviews_foreign bigint not null check (reviews_foreign in (0, 1)),
  review_hours bigint not null check (review_hours between 1 and 720),
  delay_minutes bigint not null check (delay_minutes between 0 and 10080),
  work text collate "C" not null check (work in ('off', 'on', 'auto')),
  country text collate "C" check (length(country) = 2),
  updated_at bigint not null,
  primary key (store_id),
  check (is_open = 0 or terms is not null)
); -- by store

-- The payment providers of a store. One of them is paid for new sales.
create table payment_providers (
  store_id bigint not null references stores (id),
  kind text collate "C" not null check (kind in ('stripe', 'mollie', 'sandbox')),
  -- Whether it takes no real money.
  is_test bigint not null check (is_test in (0, 1)),
  account text collate "C" not null,
  -- Its keys, sealed, and bound to the store and the kind.
  credential bytea not null,
  has_hint_secret bigint not null check (has_hint_secret in (0, 1)),
  is_active bigint not null check (is_active in (0, 1)),
  key_set_at bigint not null,
  -- Since when every request has failed, and the last failure.
  failing_since bigint,
  failure text collate "C",
  -- Movements up to this instant were compared with the sales.
  compared_until bigint,
  -- The database was restored from a backup of this time, and the payments since then were not compared yet.
  copied_at bigint,
  primary key (store_id, kind, is_test),
  check ((failing_since is null) = (failure is null))
); -- by store
create unique index payment_providers_active on payment_providers (store_id) where is_active = 1;

-- Forms of the buy page that were submitted, each with one payment and at most one card.
create table online_sales (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- Of the rendered form.
  form_key text collate "C" not null check (length(form_key) = 22),
  provider text collate "C" not null check (provider in ('stripe', 'mollie', 'sandbox')),
  is_test bigint not null check (is_test in (0, 1)),
  session_id text collate "C",
  session_url text collate "C",
  session_expires_at bigint,
  payment_id text collate "C",
  state text collate "C" not null
    check (state in ('new', 'open', 'waiting', 'review', 'issued', 'returned', 'expired', 'failed')),
  amount bigint not null check (amount > 0),
  currency text collate "C" not null check (length(currency) = 3),
  design text collate "C" not null,
  -- Personal data, until it is erased. The keys are equal for all spellings of one address.
  buyer_name text collate "C",
  buyer_address text collate "C",
  buyer_key text collate "C",
  delivery text collate "C" not null check (delivery in ('email', 'self')),
  recipient_name text collate "C",
  recipient_address text collate "C",
  recipient_key text collate "C",
  sender_name text collate "C",
  message text collate "C",
  -- `YYYY-MM-DD`
  send_on text collate "C" check (length(send_on) = 10),
  language text collate "C" not null,
  -- As people read it.
  method text collate "C",
  -- Digests of the payment card, and of the network of the buyer.
  fingerprint bytea,
  network bytea,
  card_country text collate "C",
  is_bank_checked bigint check (is_bank_checked in (0, 1)),
  is_risky bigint not null default 0 check (is_risky in (0, 1)),
  -- Between commas; empty: none.
  review_reasons text collate "C" not null default '',
  return_reason text collate "C" check (return_reason in ('mismatch', 'refunded', 'disputed', 'staff', 'deadline')),
  card_id bigint,
  -- The entry that issued the card.
  issue_id bigint,
  -- The code of a card that its buyer can see, sealed for the sale.
  code bytea,
  dispute text collate "C" check (dispute in ('warning', 'open', 'won', 'lost')),
  disputed_at bigint,
  disputed bigint not null default 0 check (disputed >= 0),
  -- When the card was suspended because of the dispute.
  stopped_at bigint,
  -- Of the amounts that were paid, refunded, disputed, lost and owed. A payment in another currency than that of the sale goes
  -- back as a whole.
  paid_currency text collate "C" not null check (length(paid_currency) = 3),
  paid bigint not null default 0 check (paid >= 0),
  refunded bigint not null default 0 check (refunded >= 0),
  -- The part of refunds and lost disputes that the card no longer had.
  loss bigint not null default 0 check (loss >= 0),
  -- The part that is to go back and that no refund is requested for, because one has failed.
  owed bigint not null default 0 check (owed >= 0),
  created_at bigint not null,
  paid_at bigint,
  decided_at bigint,
  review_until bigint,
  -- When it is read at the provider again; while it is claimed, when the claim expires; null: nothing is expected.
  next_at bigint,
  lease bigint,
  attempts bigint not null default 0 check (attempts >= 0),
  -- When the buyer is sent the next email about a sale without a card, or about money that goes back; null: never.
  notice_at bigint,
  notice_attempts bigint not null default 0 check (notice_attempts >= 0),
  erased_at bigint,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((session_id is null) = (session_url is null)),
  check (state <> 'open' or session_id is not null),
  check ((state in ('review', 'issued', 'returned')) = (paid_at is not null)),
  check ((state = 'issued') = (card_id is not null)),
  check ((state = 'issued') = (issue_id is not null)),
  check ((state = 'returned') = (return_reason is not null)),
  check ((state in ('new', 'open', 'waiting', 'review')) = (decided_at is null)),
  check (code is null or state = 'issued'),
  check ((dispute is null) = (disputed_at is null)),
  check (lease is null or next_at is not null)
); -- by store
create unique index online_sales_by_form on online_sales (store_id, form_key);
create unique index online_sales_by_card on online_sales (store_id, card_id) where card_id is not null;
create index online_sales_by_session on online_sales (store_id, session_id) where session_id is not null;
create index online_sales_by_payment on online_sales (store_id, payment_id) where payment_id is not null;
create index online_sales_by_buyer on online_sales (store_id, buyer_key, id) where buyer_key is not null;
create index online_sales_by_recipient on online_sales (store_id, recipient_key, id) where recipient_key is not null;
create index online_sales_by_payment_card on online_sales (store_id, fingerprint, id) where fingerprint is not null;
create index online_sales_by_network on online_sales (store_id, network, id) where network is not null;
create index online_sales_by_state on online_sales (store_id, state, id);
create index online_sales_paid on online_sales (store_id, paid_at) where paid_at is not null;
create index online_sales_owed on online_sales (store_id, id) where owed > 0;
create index online_sales_disputed on online_sales (store_id, id) where dispute is not null;
create index online_sales_due on online_sales (next_at) where next_at is not null;
create index online_sales_notices on online_sales (notice_at) where notice_at is not null;
create index online_sales_with_traces on online_sales (decided_at)
  where decided_at is not null and (code is not null or network is not null);
create index online_sales_unpaid on online_sales (created_at)
  where paid_at is null and erased_at is null;

-- The refunds of sales: those that were requested here, and those that were made at the provider.
create table online_sale_refunds (
  store_id bigint not null,
  sale_id bigint not null,
  id bigint not null check (id > 0),
  -- The provider makes one refund of it.
  key text collate "C" not null,
  requested_by text collate "C" not null check (requested_by in ('buyer', 'staff', 'review', 'system', 'provider')),
  actor text collate "C" not null,
  reason text collate "C",
  amount bigint not null check (amount > 0),
  currency text collate "C" not null check (length(currency) = 3),
  state text collate "C" not null check (state in ('requested', 'pending', 'paid', 'failed')),
  provider_id text collate "C",
  -- The reason of a failure.
  detail text collate "C",
  created_at bigint not null,
  settled_at bigint,
  primary key (store_id, sale_id, id),
  foreign key (store_id, sale_id) references online_sales (store_id, id)
); -- by store
create unique index online_sale_refunds_by_key on online_sale_refunds (store_id, key);
create index online_sale_refunds_by_time on online_sale_refunds (store_id, created_at);
create index online_sale_refunds_unsettled on online_sale_refunds (store_id, state, sale_id)
  where state <> 'paid';

-- The movements of the balances at providers, with which the sales are compared.
create table payment_movements (
  store_id bigint not null,
  provider text collate "C" not null check (provider in ('stripe', 'mollie', 'sandbox')),
  is_test bigint not null check (is_test in (0, 1)),
  id text collate "C" not null,
  kind text collate "C" not null check (kind in ('payment', 'refund', 'dispute', 'fee', 'payout', 'other')),
  amount bigint not null,
  fee bigint not null,
  currency text collate "C" not null check (length(currency) = 3),
  at bigint not null,
  payment_id text collate "C",
  payout_id text collate "C",
  -- The key of the form in the metadata of the payment.
  sale_key text collate "C",
  -- Null: no sale has the payment or the key.
  sale_id bigint,
  primary key (store_id, provider, is_test, id)
); -- by store
create index payment_movements_by_time on payment_movements (store_id, at);
create index payment_movements_by_sale on payment_movements (store_id, sale_id) where sale_id is not null;

-- == Staff ==

create table staff (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  name text collate "C" not null,
  -- The first spelling.
  email text collate "C" not null,
  -- Lower case and NFC: equal for two spellings of one address.
  email_key text collate "C" not null,
  role text collate "C" not null check (role = 'owner' or role = 'manager' or role = 'accountant' or role = 'cashier'),
  -- Argon2id in PHC format; null: the person signs in with a passkey, or has not accepted the invitation.
  password text collate "C",
  -- Argon2id of a keyed digest; null: no PIN.
  pin text collate "C",
  -- Wrong PINs since the last right one.
  pin_failures bigint not null default 0 check (pin_failures >= 0),
  -- The highest amounts of one sale and one refund, in minor units; null: the store's limit.
  sale_limit bigint check (sale_limit >= 0),
  refund_limit bigint check (refund_limit >= 0),
  created_at bigint not null,
  -- When the person set a password or a passkey for the first time.
  joined_at bigint,
  disabled_at bigint,
  -- The locations to which the person is limited: their ids, space-separated; null: to none.
  location_ids text collate "C" check (location_ids is null or role <> 'owner'),
  primary key (store_id, id),
  unique (store_id, email_key)
); -- by store

create table passkeys (
  store_id bigint not null,
  id bigint not null check (id > 0),
  staff_id bigint not null,
  credential_id bytea not null check (length(credential_id) between 1 and 1023),
  public_key bytea not null,
  -- Of the authenticator; 0: it does not count.
  sign_count bigint not null check (sign_count >= 0),
  -- Space-separated, such as 'internal hybrid'.
  transports text collate "C" not null,
  name text collate "C" not null,
  created_at bigint not null,
  last_used_at bigint,
  primary key (store_id, id),
  unique (store_id, credential_id),
  foreign key (store_id, staff_id) references staff (store_id, id)
); -- by store

-- Links that are used once: to join, or to set a new password.
create table staff_links (
  store_id bigint not null,
  id bigint not null check (id > 0),
  staff_id bigint not null,
  -- SHA-256 of a random token of 256 bits.
  hash bytea not null check (length(hash) = 32),
  -- The member of staff who created it; null: the command line.
  created_by bigint,
  created_at bigint not null,
  expires_at bigint not null,
  used_at bigint,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id)
); -- by store

-- Devices on which cashiers sign in with a PIN.
create table tills (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  name text collate "C" not null,
  -- SHA-256 of the token in the device's cookie.
  hash bytea not null check (length(hash) = 32),
  created_by bigint not null,
  created_at bigint not null,
  revoked_at bigint,
  -- Where the till is; null: at no location.
  location_id bigint,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, created_by) references staff (store_id, id),
  foreign key (store_id, location_id) references locations (store_id, id)
); -- by store

create table staff_sessions (
  store_id bigint not null,
  id bigint not null check (id > 0),
  staff_id bigint not null,
  -- The till, if the session was opened with a PIN.
  till_id bigint,
  hash bytea not null check (length(hash) = 32),
  user_agent text collate "C" not null check (length(user_agent) <= 200),
  created_at bigint not null,
  -- When the password or passkey was last presented; null: only a PIN.
  authenticated_at bigint,
  -- Sliding: a request extends it.
  expires_at bigint not null,
  ended_at bigint,
  -- When a request last used it.
  last_used_at bigint not null default 0,
  -- Where a person who is limited to locations works in the office; null: at the first of them.
  location_id bigint,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id),
  foreign key (store_id, till_id) references tills (store_id, id)
); -- by store
create index staff_sessions_by_staff on staff_sessions (store_id, staff_id);
create index staff_sessions_by_till on staff_sessions (store_id, till_id, created_at) where till_id is not null;

-- The audit log: actions of members of staff. Movements of money are in the ledger as well.
create table staff_actions (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  at bigint not null,
  -- Null: the command line, or a person who did not sign in.
  staff_id bigint,
  till_id bigint,
  action text collate "C" not null,
  -- The card, member of staff, token or webhook that it concerns.
  subject_id bigint,
  -- JSON; never a code, password, PIN or secret.
  details text collate "C" not null,
  primary key (store_id, id)
); -- by store
create index staff_actions_by_subject on staff_actions (store_id, subject_id, id);
create index staff_actions_by_action on staff_actions (store_id, action, id);
create trigger staff_actions_are_append_only before update or delete on staff_actions
for each row execute function refuse('the audit log is append-only');
create trigger staff_actions_are_not_truncated before truncate on staff_actions
execute function refuse('the audit log is append-only');

-- Digests of the addresses without an account with which people tried to sign in. The audit log is append-only, so they
-- are outside of it and can be erased.
create table unknown_addresses (
  store_id bigint not null,
  -- The entry of the audit log.
  id bigint not null check (id > 0),
  -- Keyed, of the compared form of the address.
  digest bytea not null check (length(digest) = 32),
  primary key (store_id, id),
  foreign key (store_id, id) references staff_actions (store_id, id)
); -- by store
create index unknown_addresses_by_digest on unknown_addresses (store_id, digest);

-- Steps before the shop opens that the service cannot always check.
create table setup_steps (
  store_id bigint not null references stores (id),
  step text collate "C" not null check (step = 'key_file' or step = 'backup' or step = 'restored_copy'),
  done_at bigint not null,
  -- Null: the command line.
  staff_id bigint,
  primary key (store_id, step),
  foreign key (store_id, staff_id) references staff (store_id, id)
); -- by store

-- == Books ==

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
  -- The card's state at that time.
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
  -- The VAT that is due at the sale; null: an earlier version stored the sum, and the next start computes it again.
  raised_tax bigint,
  lowered_tax bigint,
  -- Where the transfers took place; 0: at no location.
  location_id bigint not null default 0,
  primary key (store_id, currency, day, kind, bucket, account, actor, vat, location_id)
); -- by store

-- The changes of balances in closed days, by the month in which the cards were issued and the month of the change. The
-- days stay with their months, so that a report within a month does not sum its days.
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
  -- VAT, sales and redemptions by the month of issue; null as in store_days.
  tax bigint,
  sold bigint,
  sold_tax bigint,
  redeemed bigint,
  redeemed_tax bigint,
  primary key (store_id, currency, issued, month, bucket)
); -- by store
create index store_ages_of_months on store_ages (store_id, currency, month) where length(month) = 7;
create index store_ages_of_days on store_ages (store_id, currency, month) where length(month) = 10;

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

-- == Proofs ==

-- The log of each store: all entries of its cards' chains in the order of their commits, hashed as a tree (RFC 9162).
-- A background job appends them, ordered by transaction, when no transaction with a lower id is open.
create table logs (
  store_id bigint primary key references stores (id),
  -- The origin of the store's checkpoints. Its last part is random.
  name text collate "C" not null,
  -- The number of entries.
  size bigint not null check (size >= 0),
  created_at bigint not null
); -- by store
create trigger logs_only_grow before update on logs
for each row when (
  (new.store_id, new.name, new.created_at) is distinct from (old.store_id, old.name, old.created_at)
  or new.size < old.size
) execute function refuse('a log only grows');
create trigger logs_are_not_deleted before delete on logs
for each row execute function refuse('a log only grows');
create trigger logs_are_not_truncated before truncate on logs
execute function refuse('a log only grows');

-- The 256 entries of each part of a log.
create table log_pages (
  store_id bigint not null references logs (store_id),
  -- From 0.
  place bigint not null check (place >= 0),
  lowest_id bigint not null,
  highest_id bigint not null,
  -- 8 bytes for each entry, big-endian: its id times 2, plus 1 if it is a change.
  entries bytea not null check (length(entries) between 8 and 2048 and length(entries) % 8 = 0),
  primary key (store_id, place)
); -- by store
create index log_pages_by_id on log_pages (store_id, highest_id, place, lowest_id);
create trigger log_pages_only_grow before update on log_pages
for each row when (
  (new.store_id, new.place) is distinct from (old.store_id, old.place)
  or substr(new.entries, 1, length(old.entries)) <> old.entries
) execute function refuse('a log only grows');
create trigger log_pages_are_not_deleted before delete on log_pages
for each row execute function refuse('a log only grows');
create trigger log_pages_are_not_truncated before truncate on log_pages
execute function refuse('a log only grows');

-- The hashes of complete subtrees of 256 entries (level 1), 65,536 entries (level 2), and so on.
create table log_subtrees (
  store_id bigint not null references logs (store_id),
  level bigint not null check (level >= 1),
  -- From 0.
  place bigint not null check (place >= 0),
  hash bytea not null check (length(hash) = 32),
  primary key (store_id, level, place)
); -- by store
create trigger log_subtrees_are_not_changed before update or delete on log_subtrees
for each row execute function refuse('a log only grows');
create trigger log_subtrees_are_not_truncated before truncate on log_subtrees
execute function refuse('a log only grows');

create table checkpoints (
  store_id bigint not null references logs (store_id),
  id bigint not null check (id > 0),
  size bigint not null check (size >= 0),
  root bytea not null check (length(root) = 32),
  -- The day in the store's time zone that it concludes; null: made on demand.
  day text collate "C" check (length(day) = 10),
  -- A signed note: the text that was signed, and the signatures.
  note text collate "C" not null,
  created_at bigint not null,
  primary key (store_id, id)
); -- by store
create unique index checkpoints_by_day on checkpoints (store_id, day) where day is not null;
create trigger checkpoints_are_not_changed before update or delete on checkpoints
for each row execute function refuse('checkpoints are never changed or deleted');
create trigger checkpoints_are_not_truncated before truncate on checkpoints
execute function refuse('checkpoints are never changed or deleted');

-- Every public key that has signed checkpoints of a store.
create table checkpoint_keys (
  store_id bigint not null references logs (store_id),
  -- Of the master key that it is derived from.
  key_id text collate "C" not null,
  public_key bytea not null check (length(public_key) = 32),
  created_at bigint not null,
  primary key (store_id, key_id)
); -- by store
create trigger checkpoint_keys_are_not_changed before update or delete on checkpoint_keys
for each row execute function refuse('public keys are kept');
create trigger checkpoint_keys_are_not_truncated before truncate on checkpoint_keys
execute function refuse('public keys are kept');

-- == Erasure of personal data ==

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

-- The newest event of each store that was erased. Events are erased after a time.
create table erased_events (
  store_id bigint not null references stores (id),
  last_id bigint not null check (last_id > 0),
  primary key (store_id)
); -- by store

-- == Moves between databases ==

-- At most one row: this database is, or was once, the target of `largesse copy`. No other command uses it until the
-- copy is complete.
create table copies (
  id bigint primary key check (id = 1),
  -- Identifies the database that is copied: hex.
  source text not null,
  -- The location of the source, without a password.
  source_shown text not null,
  -- The last run of the command.
  run text not null,
  state text not null check (state in ('copying', 'complete', 'failed')),
  started_at bigint not null,
  ended_at bigint,
  check ((state = 'copying') = (ended_at is null))
);

-- Stores that were copied into this database.
create table store_copies (
  store_id bigint primary key references stores (id),
  -- Identifies the database that it comes from: hex.
  source text collate "C" not null,
  -- The location of the source, without a password.
  source_shown text collate "C" not null,
  -- When the store was closed there. If it was opened again, the copy starts over.
  closed_at bigint not null,
  -- The last run of the command.
  run text collate "C" not null,
  state text collate "C" not null check (state in ('copying', 'failed', 'complete')),
  started_at bigint not null,
  ended_at bigint,
  check ((state = 'copying') = (ended_at is null))
); -- by store

-- == This database: a copy does not contain these tables, except key_checks ==

-- The keys of the key file with which this database was written, so that a wrong file is recognized at the start.
create table key_checks (
  key_id text collate "C" primary key,
  digest bytea not null check (length(digest) = 32),
  created_at bigint not null
);

-- One row, written by the readiness check.
create table heartbeat (
  id bigint primary key check (id = 1),
  beaten_at bigint not null
);
insert into heartbeat (id, beaten_at) values (1, 0);

-- One row in a sandbox, none in a database with real gift cards. It is written before the first store, and stays.
create table sandbox (
  id bigint primary key check (id = 1),
  created_at bigint not null,
  -- How far the test clock is ahead of the time of the machine, in ms.
  offset_ms bigint not null check (offset_ms >= 0),
  -- The last advance, in the time of the test clock: its start, its end, and what was done. Null: there was none.
  advanced_from bigint,
  advanced_to bigint,
  done text check (jsonb_typeof(done::jsonb) = 'object'),
  is_advancing bigint not null default 0 check (is_advancing in (0, 1)),
  -- A keyed digest of the request, with which it is repeated; null: it had no Idempotency-Key.
  request_digest bytea,
  -- The process that advances the clock, until this time of the machine.
  lease bigint,
  leased_until bigint,
  check ((advanced_from is null) = (advanced_to is null) and (advanced_to is null) = (done is null)),
  check (is_advancing = 0 or advanced_to is not null)
);
create function refuse_sandbox_after_stores() returns trigger language plpgsql as $$
begin
  if exists (select 1 from stores) then
    raise exception 'a database with stores does not become a sandbox';
  end if;
  return new;
end $$;
create trigger sandbox_is_first before insert on sandbox
for each row execute function refuse_sandbox_after_stores();
create trigger sandbox_stays before delete on sandbox
for each row execute function refuse('a sandbox stays a sandbox');
create trigger sandbox_is_not_truncated before truncate on sandbox
execute function refuse('a sandbox stays a sandbox');
create trigger sandbox_clock_goes_forward before update on sandbox
for each row when (new.id <> old.id or new.created_at <> old.created_at or new.offset_ms < old.offset_ms)
execute function refuse('a sandbox stays a sandbox, and its clock goes forward');

-- Payments at the provider of the service itself, of stores whose gift cards have no value.
create table sandbox_payments (
  store_id bigint not null references stores (id),
  id text collate "C" not null,
  -- JSON: the session, and what a tester has done.
  content text collate "C" not null check (jsonb_typeof(content::jsonb) = 'object'),
  primary key (store_id, id)
); -- by store

-- One row: the recovery sheet and the place of the backups that the service makes itself, with the embedded database.
create table backup_settings (
  id bigint primary key check (id = 1),
  -- The public half of the key on the recovery sheet, which the service does not have.
  recipient text,
  sheet_made_at bigint,
  -- When a person last confirmed to have the sheet.
  sheet_seen_at bigint,
  -- A keyed digest of the last characters on the sheet.
  sheet_digest bytea,
  -- A new sheet that is not confirmed yet.
  draft_recipient text,
  draft_digest bytea,
  -- JSON; null: an owner has not chosen one.
  place text,
  place_set_at bigint,
  -- Of S3, sealed, and bound to the bucket.
  secret bytea,
  secret_set_at bigint,
  rhythm text not null check (rhythm in ('nightly', 'hourly')),
  -- Failures in a row.
  failures bigint not null check (failures >= 0),
  failed_at bigint,
  trouble text,
  response text,
  next_at bigint,
  -- JSON: the last backup that was opened with the sheet, and what was in it.
  trial text
);
insert into backup_settings (id, rhythm, failures) values (1, 'nightly', 0);

-- Backups that were read back and compared.
create table backups (
  place text not null,
  name text not null,
  made_at bigint not null,
  bytes bigint not null check (bytes > 0),
  database_bytes bigint not null check (database_bytes > 0),
  verified_at bigint not null,
  downloaded_at bigint,
  primary key (place, name)
);

-- One row: whether an owner lets the service look for new versions, and what it has found.
create table version_check (
  id bigint primary key check (id = 1),
  -- Null: no owner has decided.
  is_wanted bigint check (is_wanted in (0, 1)),
  decided_at bigint,
  -- When the next request is due; null: none was made since the decision.
  next_at bigint,
  -- The last list that was accepted: its version, its key in base64, when it was published, and when it was read.
  newest text,
  list_key text,
  published_at bigint,
  checked_at bigint,
  -- Failures in a row, and the last one.
  failures bigint not null check (failures >= 0),
  failed_at bigint,
  problem text
);
insert into version_check (id, failures) values (1, 0);

-- Emails to owners about the machine, until they are sent. Those about an occasion stay for a while, so that it is
-- enqueued once.
create table owner_notices (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  address text collate "C" not null,
  -- Such as the end of a certificate; null: a change by an owner.
  occasion text collate "C",
  -- JSON: the subject, the paragraphs and their language.
  content text not null,
  created_at bigint not null,
  -- When the next attempt is due; null: it was sent, or given up.
  next_at bigint,
  attempts bigint not null check (attempts >= 0),
  primary key (store_id, id)
); -- by store
create unique index owner_notices_by_occasion on owner_notices (store_id, address, occasion) where occasion is not null;
create index owner_notices_due on owner_notices (next_at) where next_at is not null;

-- The last `largesse verify`.
create table verifications (
  store_id bigint not null references stores (id),
  verified_at bigint not null,
  -- Rows of all stores that were read.
  rows_read bigint not null check (rows_read >= 0),
  -- Problems of the store, and of the database as a whole.
  mismatches bigint not null check (mismatches >= 0),
  actor text collate "C" not null,
  primary key (store_id)
); -- by store

-- The last row whose entry was appended to a log. The row of store 0 is for all stores.
create table log_cursors (
  store_id bigint not null,
  source text collate "C" not null check (source = 'transfers' or source = 'card_changes'),
  place bigint not null,
  last_id bigint not null,
  primary key (store_id, source)
);

-- Stores with entries that were written before their cursor began. They are appended in the order of their ids.
create table log_backfills (
  store_id bigint not null,
  source text collate "C" not null check (source = 'transfers' or source = 'card_changes'),
  after_id bigint not null,
  until_place bigint not null,
  primary key (store_id, source)
);

-- One row. The process that appends to logs holds its lock.
create table log_turn (
  id bigint primary key check (id = 1)
);
insert into log_turn (id) values (1);
