-- The foundation, for PostgreSQL. store_id leads every key of what belongs to a store, so that these tables can
-- be divided by it: "by store" marks them.
-- Instants are ms since 1970 UTC, amounts minor units, days 'YYYY-MM-DD'.
-- Texts are compared by their bytes (collate "C"), whatever the server's language.

create table stores (
  id bigint primary key check (id > 0),
  domain text collate "C" not null unique check (domain = lower(domain)),
  name text collate "C" not null,
  currency text collate "C" not null check (length(currency) = 3),
  time_zone text collate "C" not null,
  issue_limit bigint check (issue_limit > 0),
  -- Sealed: the signature of a request has to be computed anew.
  proxy_secret bytea,
  require_signature bigint not null check (require_signature in (0, 1)),
  customer_search bigint not null check (customer_search in (0, 1)),
  -- 0: a disabling is final at once.
  undo_window_minutes bigint not null default 0 check (undo_window_minutes between 0 and 60),
  -- How many days ahead a card's expiry is told; 0: it is not.
  expiring_soon_days bigint not null default 0 check (expiring_soon_days between 0 and 365),
  demonstration bigint not null check (demonstration in (0, 1)),
  created_at bigint not null,
  updated_at bigint not null,
  check (require_signature = 0 or proxy_secret is not null)
);

create table access_tokens (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- Stays when the token is rotated.
  api_client_id bigint not null check (api_client_id > 0),
  name text collate "C" not null,
  -- SHA-256 of a token of more than 230 random bits.
  hash bytea not null check (length(hash) = 32),
  -- Space-separated.
  scopes text collate "C" not null,
  created_at bigint not null,
  last_used_at bigint,
  revoked_at bigint,
  primary key (store_id, id),
  unique (store_id, hash)
); -- by store

create table customers (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- As first given.
  email text collate "C" not null,
  -- Lower case and NFC: equal for two spellings of one address.
  email_key text collate "C" not null,
  created_at bigint not null,
  primary key (store_id, id),
  unique (store_id, email_key)
); -- by store

-- The server reads and plans the text of every CHECK anew for each statement that writes to its table: those of cards
-- and transfers took a third of what a creation cost it. A check that calls a function is short, and what the function
-- says is read once a session. As in a CHECK, what is unknown (of a null) is no refusal.
create function is_sound_card(
  id bigint, version bigint, currency text, initial_value bigint, balance bigint, held bigint, last_characters text,
  expires_on text
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and version >= 1
    and length(currency) = 3 and length(last_characters) = 4 and length(expires_on) = 10
    and initial_value > 0 and balance >= 0 and held >= 0 and held <= balance;
end $$;

create table gift_cards (
  store_id bigint not null references stores (id),
  id bigint not null,
  version bigint not null,
  currency text collate "C" not null,
  initial_value bigint not null,
  -- A cache of the ledger: moves only together with a transfer.
  balance bigint not null,
  -- A cache of the open holds: the part of the balance that they reserve.
  held bigint not null default 0,
  last_characters text collate "C" not null,
  -- Which of the codes that the card has had is its code; null: its first and only one.
  code_lookup bigint,
  customer_id bigint,
  recipient_id bigint,
  note text collate "C",
  message text collate "C",
  expires_on text collate "C",
  disabled_at bigint,
  created_at bigint not null,
  line_item_id bigint,
  order_id bigint,
  user_id bigint,
  api_client_id bigint,
  -- The last good days whose passing, and whose coming, were told.
  expiry_told text collate "C",
  expiring_told text collate "C",
  primary key (store_id, id),
  check (is_sound_card(id, version, currency, initial_value, balance, held, last_characters, expires_on)),
  foreign key (store_id, customer_id) references customers (store_id, id),
  foreign key (store_id, recipient_id) references customers (store_id, id)
); -- by store

-- A search goes through the customer: an index that holds the address costs more than the whole rest.
create index gift_cards_by_customer on gift_cards (store_id, customer_id, last_characters)
  where customer_id is not null;
create index gift_cards_by_recipient on gift_cards (store_id, recipient_id, last_characters)
  where recipient_id is not null;
-- Cards whose expiry is still to be told: one that never expires costs nothing.
create index gift_cards_expiring on gift_cards (store_id, expires_on)
  where expires_on is not null and (expiry_told is null or expiry_told <> expires_on);

-- Every code that the store has ever used. lookup is the first 64 bits of the digest.
create table gift_card_codes (
  store_id bigint not null,
  lookup bigint not null,
  digest bytea not null check (length(digest) = 32),
  card_id bigint not null,
  primary key (store_id, lookup),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
); -- by store

create function is_sound_transfer(
  id bigint, sequence bigint, kind text, amount bigint, currency text, debit_account text, credit_account text,
  balance_after bigint, hold_id bigint, reverses bigint, hash bytea
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and sequence >= 1 and amount > 0 and balance_after >= 0
    and length(currency) = 3 and length(hash) = 32
    and kind in ('issue', 'adjustment', 'debit', 'credit', 'capture', 'reversal')
    and debit_account in ('card', 'sales', 'promotions', 'redemptions', 'adjustments', 'breakage')
    and credit_account in ('card', 'sales', 'promotions', 'redemptions', 'adjustments', 'breakage')
    -- Each transfer moves money between the card and one system account.
    and (debit_account = 'card') <> (credit_account = 'card')
    and (kind = 'reversal') = (reverses is not null)
    and (kind = 'capture') = (hold_id is not null);
end $$;

create table transfers (
  store_id bigint not null,
  card_id bigint not null,
  sequence bigint not null,
  id bigint not null,
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
  -- The hold that a capture took its amount from.
  hold_id bigint,
  -- The transfer that a reversal gives back, wholly or in part.
  reverses bigint,
  created_at bigint not null,
  -- SHA-256 of the hash before it in the card's chain, and its own content.
  hash bytea not null,
  primary key (store_id, card_id, sequence),
  unique (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check (
    is_sound_transfer(id, sequence, kind, amount, currency, debit_account, credit_account, balance_after, hold_id,
      reverses, hash)
  )
); -- by store
create index transfers_by_reversed on transfers (store_id, reverses) where reverses is not null;

create table holds (
  store_id bigint not null,
  id bigint not null check (id > 0),
  card_id bigint not null,
  status text collate "C" not null check (status in ('open', 'captured', 'voided', 'expired')),
  amount bigint not null check (amount > 0),
  -- What a capture took; the rest went back.
  captured bigint not null check (captured >= 0 and captured <= amount),
  actor text collate "C" not null,
  reference text collate "C",
  note text collate "C",
  order_id bigint,
  created_at bigint not null,
  expires_at bigint not null check (expires_at > created_at),
  closed_at bigint,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((status = 'open') = (closed_at is null)),
  check ((status = 'captured') = (captured > 0))
); -- by store
create index holds_by_card on holds (store_id, card_id, id);
create index holds_open_by_expiry on holds (expires_at) where status = 'open';

-- How a store's mails look and which it sends. A store without a row sends them as they are by default.
create table mail_settings (
  store_id bigint not null references stores (id),
  enabled bigint not null check (enabled in (0, 1)),
  sender_name text collate "C",
  address text collate "C",
  reply_to text collate "C",
  logo_url text collate "C",
  colour text collate "C" check (length(colour) = 7),
  locale text collate "C" not null,
  page_url text collate "C",
  -- Numbers of days between commas, the largest first; empty: none.
  expiry_reminder_days text collate "C" not null,
  balance_reminder_days text collate "C" not null,
  tell_failures bigint not null check (tell_failures in (0, 1)),
  updated_at bigint not null,
  primary key (store_id)
); -- by store

-- Mails, written in the transaction of their cause and sent afterwards.
create table mail_deliveries (
  store_id bigint not null,
  card_id bigint not null,
  id bigint not null check (id > 0),
  kind text collate "C" not null
    check (kind in ('gift_card', 'receipt', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  address text collate "C" not null,
  state text collate "C" not null
    check (state in ('scheduled', 'queued', 'deferred', 'sent', 'bounced', 'dead', 'cancelled')),
  -- What a reminder is for, so that it is booked once.
  occasion text collate "C",
  -- The card's code, sealed, for as long as it has to be sent.
  code bytea,
  send_at bigint not null,
  -- When it is due; while a process has it, when that ends; null once it has ended.
  next_at bigint,
  -- Names the claim by which a process has it; of a cancelled one, had it.
  lease bigint,
  -- Attempts that were begun, and the first and the last of them.
  attempts bigint not null default 0 check (attempts >= 0),
  first_at bigint,
  last_at bigint,
  -- What the mail server said last.
  answer text collate "C",
  created_at bigint not null,
  ended_at bigint,
  primary key (store_id, card_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((state in ('scheduled', 'queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check ((code is not null) = (kind = 'gift_card' and next_at is not null)),
  check (lease is null or next_at is not null or state = 'cancelled')
); -- by store
create index mail_deliveries_due on mail_deliveries (next_at) where next_at is not null;
create unique index mail_deliveries_by_occasion on mail_deliveries (store_id, card_id, occasion)
  where occasion is not null;

-- The outbox: what is to be told to the world, written in the transaction of its cause.
create table events (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  type text collate "C" not null,
  subject_id bigint not null,
  -- The version of the card that the event left; 0 where the subject has none.
  subject_version bigint not null,
  created_at bigint not null,
  -- JSON: the record as it was then, and the names of the fields that changed.
  data text collate "C" not null,
  -- Commits are told in the order of this, once no transaction before it is open any more.
  transaction_id bigint not null default pg_current_xact_id()::text::bigint,
  primary key (store_id, id)
); -- by store
create index events_by_transaction on events (store_id, transaction_id, id);

-- Who wants to be told of events. Their secrets are sealed, because every message is signed anew.
create table webhooks (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  version bigint not null check (version >= 1),
  url text collate "C" not null,
  -- Each pattern between spaces, so that one is found by its text: ' gift_card.* customer.created '.
  patterns text collate "C" not null check (patterns like ' % '),
  secret bytea not null,
  -- Signs along until then.
  previous_secret bytea,
  previous_secret_until bigint,
  status text collate "C" not null check (status in ('active', 'paused')),
  paused_at bigint,
  pause_reason text collate "C" check (pause_reason in ('requested', 'failures', 'gone')),
  -- Since when every attempt has failed, and how the first of them did.
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

-- What is to be told to whom. Booked with the event by a trigger, so that no event is written without.
create table webhook_deliveries (
  store_id bigint not null,
  webhook_id bigint not null,
  event_id bigint not null,
  status text collate "C" not null check (status in ('queued', 'retrying', 'delivered', 'dead')),
  created_at bigint not null,
  attempts bigint not null default 0 check (attempts >= 0),
  -- Those before it was last asked for anew: from then on the waits start over.
  attempts_before bigint not null default 0 check (attempts_before between 0 and attempts),
  -- The first attempt since it was last asked for, and the last one.
  first_at bigint,
  last_at bigint,
  -- When it is due; while a process has it, when that ends; null once it has ended.
  next_at bigint,
  -- Names the claim by which a process has it.
  lease bigint,
  -- What came of the last attempt: an answer, or why there was none.
  answer_status bigint,
  answer_body text collate "C",
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

-- The attempts before the last one, which stands in the delivery itself: most deliveries need no row here.
create table webhook_attempts (
  store_id bigint not null,
  webhook_id bigint not null,
  event_id bigint not null,
  attempt bigint not null check (attempt >= 1),
  attempted_at bigint not null,
  duration_ms bigint not null,
  answer_status bigint,
  answer_body text collate "C",
  failure_reason text collate "C",
  failure text collate "C",
  primary key (store_id, webhook_id, event_id, attempt),
  foreign key (store_id, webhook_id, event_id)
    references webhook_deliveries (store_id, webhook_id, event_id) on delete cascade
); -- by store

create table idempotency_records (
  store_id bigint not null references stores (id),
  -- 0: development mode, which has no API client.
  api_client_id bigint not null,
  key text collate "C" not null check (length(key) between 1 and 255),
  -- Keyed digest of the request.
  fingerprint bytea not null check (length(fingerprint) = 32),
  created_at bigint not null,
  -- The sealed answer: it may hold a card's code.
  answer bytea not null,
  primary key (store_id, api_client_id, key)
); -- by store
create index idempotency_records_by_age on idempotency_records (created_at);

-- Searches and lookups that found nothing. What they are counted for is a keyed digest: of an address
-- that was searched for (it may be nobody's), of a token, of a client's network address.
create table misses (
  store_id bigint not null references stores (id),
  subject_digest bytea not null check (length(subject_digest) = 32),
  id bigint not null,
  missed_at bigint not null,
  primary key (store_id, subject_digest, id)
); -- by store
create index misses_by_age on misses (missed_at);

-- Which keys of the key file this database was written with, so that a wrong file is found at start.
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

create function refuse() returns trigger language plpgsql as $$
begin raise exception '%', tg_argv[0]; end $$;

create trigger transfers_are_append_only before update or delete on transfers
for each row execute function refuse('transfers are append-only');
create trigger transfers_are_not_truncated before truncate on transfers
execute function refuse('transfers are append-only');

create trigger events_are_not_updated
before update of store_id, id, type, subject_id, subject_version, created_at, data on events
for each row execute function refuse('events are append-only');

-- Every transaction that writes an event shares a lock of its store; a webhook that begins to want events takes it
-- alone. So what is committed after the webhook is booked for it: an event that saw the store without the webhook is
-- committed before. (A lock on the store's row would do, too, but whoever wants that alone may wait for ever, because
-- those who share it do not wait in turn.)
create function book_deliveries() returns trigger language plpgsql as $$
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
  return null;
end $$;
create trigger events_are_booked after insert on events
for each row execute function book_deliveries();

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

create trigger codes_are_not_deleted before delete on gift_card_codes
for each row execute function refuse('a used code stays used');
create trigger codes_are_not_truncated before truncate on gift_card_codes
execute function refuse('a used code stays used');

create trigger holds_are_not_deleted before delete on holds
for each row execute function refuse('holds are never deleted');
create trigger holds_are_not_truncated before truncate on holds
execute function refuse('holds are never deleted');
create trigger closed_holds_stay_closed before update on holds
for each row when (old.status <> 'open') execute function refuse('a closed hold stays closed');

create trigger cards_are_not_deleted before delete on gift_cards
for each row execute function refuse('gift cards are never deleted');
create trigger cards_are_not_truncated before truncate on gift_cards
execute function refuse('gift cards are never deleted');
create trigger cards_keep_what_was_issued
before update of store_id, id, currency, initial_value, created_at, api_client_id on gift_cards
for each row when (old.store_id <> new.store_id or old.id <> new.id or old.currency <> new.currency
  or old.initial_value <> new.initial_value or old.created_at <> new.created_at
  or old.api_client_id is distinct from new.api_client_id)
execute function refuse('what a gift card was issued with does not change');
