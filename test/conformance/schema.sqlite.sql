-- Written by test/conformance/sqlite-schema.test.ts. Do not edit.

CREATE TABLE access_tokens (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- Does not change when the token is rotated.
  api_client_id integer not null check (api_client_id > 0),
  name text not null,
  -- SHA-256 of a token of more than 230 random bits.
  hash blob not null check (length(hash) = 32),
  -- Space-separated.
  scopes text not null,
  created_at integer not null,
  last_used_at integer,
  revoked_at integer,
  -- The token is rejected from then on; null: it does not expire.
  expires_at integer,
  -- The movements of the token take place there; null: it belongs to none.
  location_id integer,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, location_id) references locations (store_id, id)
) strict, without rowid;

CREATE TABLE accountant_emails (
  store_id integer not null,
  id integer not null check (id > 0),
  accountant_id integer not null,
  -- `month`: enqueued once, after the month. `again`, `test`: an owner requested it.
  kind text not null check (kind in ('month', 'again', 'test')),
  -- `YYYY-MM`
  month text not null,
  -- The format of the file that the link downloads.
  format text not null check (format in ('csv', 'xlsx', 'datev', 'quickbooks', 'xero')),
  link_until integer not null,
  state text not null check (state in ('queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled')),
  created_at integer not null,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at integer,
  lease integer,
  attempts integer not null default 0 check (attempts >= 0),
  first_at integer,
  -- The last response of the mail server.
  response text,
  ended_at integer,
  -- When the page was first opened, and the file first downloaded.
  opened_at integer,
  downloaded_at integer,
  primary key (store_id, id),
  foreign key (store_id, accountant_id) references accountants (store_id, id) on delete cascade,
  check ((state in ('queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check (lease is null or next_at is not null)
) strict, without rowid;

CREATE TABLE accountants (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  address text not null,
  -- Equal for all spellings of one address.
  address_key text not null,
  language text not null,
  format text not null check (format in ('csv', 'xlsx', 'datev', 'quickbooks', 'xero')),
  created_at integer not null,
  primary key (store_id, id)
) strict, without rowid;

CREATE TABLE backup_settings (
  id integer primary key check (id = 1),
  -- The public half of the key on the recovery sheet, which the service does not have.
  recipient text,
  sheet_made_at integer,
  -- When a person last confirmed to have the sheet.
  sheet_seen_at integer,
  -- A keyed digest of the last characters on the sheet.
  sheet_digest blob,
  -- A new sheet that is not confirmed yet.
  draft_recipient text,
  draft_digest blob,
  -- JSON; null: an owner has not chosen one.
  place text,
  place_set_at integer,
  -- Of S3, sealed, and bound to the bucket.
  secret blob,
  secret_set_at integer,
  rhythm text not null check (rhythm in ('nightly', 'hourly')),
  -- Failures in a row.
  failures integer not null check (failures >= 0),
  failed_at integer,
  trouble text,
  response text,
  next_at integer,
  -- JSON: the last backup that was opened with the sheet, and what was in it.
  trial text
, mac_key blob, draft_mac_key blob) strict;

CREATE TABLE backups (
  place text not null,
  name text not null,
  made_at integer not null,
  bytes integer not null check (bytes > 0),
  database_bytes integer not null check (database_bytes > 0),
  verified_at integer not null,
  downloaded_at integer,
  primary key (place, name)
) strict, without rowid;

CREATE TABLE batch_parts (
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
  failures text, file_lines text,
  primary key (store_id, batch_id, part),
  foreign key (store_id, batch_id) references batches (store_id, id),
  check ((lines is null) = (card_ids is not null)),
  check (lines is null or (codes is null and failures is null))
) strict;

CREATE TABLE batches (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- The caller's name for it.
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
  -- Where its cards are issued; null: at no location.
  location_id integer,
  primary key (store_id, id),
  unique (store_id, key_digest),
  check (issued + failed <= cards and issued_total <= total),
  check ((state = 'complete') = (completed_at is not null) and (state = 'running' or issued + failed = cards)),
  check (codes_until is null or completed_at is not null)
) strict;

CREATE TABLE card_changes (
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

CREATE TABLE checkpoint_keys (
  store_id integer not null references logs (store_id),
  -- Of the master key that it is derived from.
  key_id text not null,
  public_key blob not null check (length(public_key) = 32),
  created_at integer not null,
  primary key (store_id, key_id)
) strict;

CREATE TABLE checkpoints (
  store_id integer not null references logs (store_id),
  id integer not null check (id > 0),
  size integer not null check (size >= 0),
  root blob not null check (length(root) = 32),
  -- The day in the store's time zone that it concludes; null: made on demand.
  day text check (length(day) = 10),
  -- A signed note: the text that was signed, and the signatures.
  note text not null,
  created_at integer not null,
  primary key (store_id, id)
) strict;

CREATE TABLE column_headings (
  store_id integer not null references stores (id),
  -- JSON: {heading: column, …}, the latest decision last; null: the column is not read.
  columns text not null check (json_type(columns) = 'object'),
  updated_at integer not null,
  primary key (store_id)
) strict, without rowid;

CREATE TABLE copies (
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

CREATE TABLE customer_erasure_cards (
  store_id integer not null,
  customer_id integer not null,
  card_id integer not null,
  primary key (store_id, customer_id, card_id)
) strict, without rowid;

CREATE TABLE customer_erasures (
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

CREATE TABLE customers (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- The first spelling.
  email text not null,
  -- Lower case and NFC: equal for two spellings of one address.
  email_key text not null,
  created_at integer not null,
  -- The id that the storefront has given to the customer.
  storefront_customer_id integer check (storefront_customer_id between 1 and 9007199254740991),
  erased_at integer,
  primary key (store_id, id),
  unique (store_id, email_key)
) strict, without rowid;

CREATE TABLE email_deliveries (
  store_id integer not null,
  card_id integer not null,
  id integer not null check (id > 0),
  kind text not null
    check (kind in ('gift_card', 'receipt', 'top_up', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  address text not null,
  state text not null
    check (state in ('scheduled', 'queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled')),
  -- What it is about, if not the card alone, so that it is enqueued once: a reminder, the transfer of a top-up.
  occasion text,
  -- The card's code, sealed, until the email is sent.
  code blob,
  send_at integer not null,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at integer,
  -- The claim of a process; of a cancelled email, the last one.
  lease integer,
  -- The number of attempts, and when the first and the last one started.
  attempts integer not null default 0 check (attempts >= 0),
  first_at integer,
  last_at integer,
  -- The last response of the mail server.
  response text,
  created_at integer not null,
  ended_at integer,
  -- As in events.
  trace_context blob,
  -- The batch of its card; null: the card was issued alone.
  batch_id integer,
  primary key (store_id, card_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((state in ('scheduled', 'queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check ((code is not null) = (kind = 'gift_card' and next_at is not null)),
  check (lease is null or next_at is not null or state = 'cancelled')
) strict, without rowid;

CREATE TABLE email_logos (
  store_id integer not null references stores (id),
  type text not null check (type in ('image/png', 'image/jpeg')),
  width integer not null check (width > 0),
  height integer not null check (height > 0),
  content blob not null check (length(content) between 1 and 100000),
  updated_at integer not null,
  primary key (store_id)
) strict;

CREATE TABLE email_servers (
  store_id integer not null references stores (id),
  state text not null check (state in ('draft', 'verified')),
  host text not null,
  port integer not null check (port in (465, 587, 2465, 2587, 2525)),
  tls text not null check (tls in ('from_start', 'starttls_required')),
  user_name text not null,
  sender text not null,
  -- Sealed, and bound to the store, host, port and user.
  password blob not null,
  password_set_at integer not null,
  -- A keyed digest of the digits in the test email, until they are typed.
  code blob,
  code_sent_at integer,
  code_attempts integer not null default 0 check (code_attempts >= 0),
  updated_at integer not null,
  primary key (store_id, state),
  check (code is null or (state = 'draft' and code_sent_at is not null))
) strict;

CREATE TABLE email_settings (
  store_id integer not null references stores (id),
  enabled integer not null check (enabled in (0, 1)),
  sender_name text,
  address text,
  reply_to text,
  colour text check (length(colour) = 7),
  design text not null default 'plain',
  website text,
  phone text,
  -- Lines.
  hours text,
  -- A URL.
  terms text,
  locale text not null,
  page_url text,
  -- Numbers of days between commas, the largest first; empty: none.
  expiry_reminder_days text not null,
  balance_reminder_days text not null,
  notify_failures integer not null check (notify_failures in (0, 1)),
  updated_at integer not null,
  primary key (store_id)
) strict, without rowid;

CREATE TABLE email_texts (
  store_id integer not null references stores (id),
  kind text not null
    check (kind in ('gift_card', 'receipt', 'top_up', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  language text not null,
  part text not null check (part in ('subject', 'heading', 'greeting', 'intro', 'closing')),
  text text not null check (text <> ''),
  updated_at integer not null,
  primary key (store_id, kind, language, part)
) strict, without rowid;

CREATE TABLE erased_events (
  store_id integer not null references stores (id),
  last_id integer not null check (last_id > 0),
  primary key (store_id)
) strict, without rowid;

CREATE TABLE events (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  type text not null,
  subject_id integer not null,
  -- The version of the card after the event; 0 if the subject has none.
  subject_version integer not null,
  created_at integer not null,
  -- JSON: the record as it was then, and the names of the fields that changed.
  data text not null,
  -- The trace that the delivery continues: trace id, span id and flags of a W3C trace context, 25 bytes; null: the
  -- cause was not traced.
  trace_context blob,
  primary key (store_id, id)
) strict;

CREATE TABLE external_ids (
  store_id integer not null references stores (id),
  kind text not null check (kind in ('card', 'transaction', 'hold', 'online_sale')),
  -- Half of a keyed digest of the id, which is not stored here.
  digest blob not null check (length(digest) = 16),
  actor text not null,
  -- Null: it was used up before an object had it.
  object_id integer,
  -- Half of a keyed digest of what was asked for.
  content blob check (length(content) = 16),
  created_at integer not null,
  primary key (store_id, kind, digest),
  check ((object_id is null) = (content is null))
) strict, without rowid;

CREATE TABLE file_remains (
  id integer primary key check (id = 1),
  absent_since integer
) strict;

CREATE TABLE gift_card_codes (
  store_id integer not null,
  -- The first 64 bits of the digest.
  lookup integer not null,
  digest blob not null check (length(digest) = 32),
  -- Null: the code is in a stock, or was voided there.
  card_id integer,
  primary key (store_id, lookup),
  foreign key (store_id, card_id) references gift_cards (store_id, id)
) strict;

CREATE TABLE gift_cards (
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
  -- When the card was suspended, and why; null: it is not suspended.
  suspended_at integer,
  suspend_reason text check (suspend_reason is null or suspended_at is not null),
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
  sender_name text,
  recipient_name text,
  -- Each tag between newlines, so that one is found by its text.
  tags text,
  -- The caller's own id of the card.
  external_id text,
  design text,
  -- The end of the chain of the card's changes.
  last_change_id integer,
  change_count integer not null default 0 check ((change_count = 0) = (last_change_id is null) and change_count >= 0),
  change_hash blob
    check ((change_hash is null) = (last_change_id is null) and (change_hash is null or length(change_hash) = 32)),
  -- The VAT with which the card was issued.
  vat text,
  -- A cache of the ledger: redemptions less their reversals. Changes only together with a transfer.
  redeemed integer not null default 0 check (redeemed >= 0),
  -- The batch that issued it; null: it was issued alone.
  batch_id integer,
  -- When the recipient's page first showed it; null: it did not, or the time was erased.
  viewed_at integer,
  -- The last version of the card whose event was erased.
  erased_event_version integer check (erased_event_version >= 1),
  primary key (store_id, id),
  check (held <= balance),
  foreign key (store_id, customer_id) references customers (store_id, id),
  foreign key (store_id, recipient_id) references customers (store_id, id)
) strict;

CREATE TABLE heartbeat (
  id integer primary key check (id = 1),
  beaten_at integer not null
) strict;

CREATE TABLE hold_extensions (
  store_id integer not null,
  hold_id integer not null,
  expires_at integer not null,
  previous_expires_at integer not null check (previous_expires_at < expires_at),
  actor text not null,
  created_at integer not null,
  primary key (store_id, hold_id, expires_at),
  foreign key (store_id, hold_id) references holds (store_id, id)
) strict, without rowid;

CREATE TABLE holds (
  store_id integer not null,
  id integer not null check (id > 0),
  card_id integer not null,
  status text not null check (status = 'open' or status = 'captured' or status = 'voided' or status = 'expired'),
  amount integer not null check (amount > 0),
  -- The amount that a capture took; the rest was released.
  captured integer not null check (captured >= 0 and captured <= amount),
  actor text not null,
  reference text,
  note text,
  order_id integer,
  order_reference text,
  -- The caller's own id of it.
  external_id text,
  location_id integer,
  created_at integer not null,
  expires_at integer not null check (expires_at > created_at),
  closed_at integer,
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((status = 'open') = (closed_at is null)),
  check ((status = 'captured') = (captured > 0))
) strict, without rowid;

CREATE TABLE idempotency_records (
  store_id integer not null references stores (id),
  -- 16 bytes that cover the caller and the key. A second digest of the same computation salts the fingerprint.
  key_digest blob not null check (length(key_digest) between 1 and 512),
  -- Salted digest of the request.
  fingerprint blob not null check (length(fingerprint) = 32),
  created_at integer not null,
  -- The response: packed after a zero byte, or sealed if it can contain a secret.
  response blob not null,
  primary key (store_id, key_digest)
) strict;

CREATE TABLE key_checks (
  key_id text primary key,
  digest blob not null check (length(digest) = 32),
  created_at integer not null
) strict, without rowid;

CREATE TABLE late_entries (
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

CREATE TABLE locations (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  name text not null check (length(name) between 1 and 100),
  address text check (length(address) <= 500),
  -- Of its receipts; null: the store's.
  time_zone text check (length(time_zone) <= 64),
  created_at integer not null,
  -- Null: it is open.
  closed_at integer,
  primary key (store_id, id)
) strict, without rowid;

CREATE TABLE log_backfills (
  store_id integer not null,
  source text not null check (source = 'transfers' or source = 'card_changes'),
  after_id integer not null,
  until_place integer not null,
  primary key (store_id, source)
) strict;

CREATE TABLE log_cursors (
  store_id integer not null,
  source text not null check (source = 'transfers' or source = 'card_changes'),
  place integer not null,
  last_id integer not null,
  primary key (store_id, source)
) strict;

CREATE TABLE log_pages (
  store_id integer not null references logs (store_id),
  -- From 0.
  place integer not null check (place >= 0),
  lowest_id integer not null,
  highest_id integer not null,
  -- 8 bytes for each entry, big-endian: its id times 2, plus 1 if it is a change.
  entries blob not null check (length(entries) between 8 and 2048 and length(entries) % 8 = 0),
  primary key (store_id, place)
) strict;

CREATE TABLE log_subtrees (
  store_id integer not null references logs (store_id),
  level integer not null check (level >= 1),
  -- From 0.
  place integer not null check (place >= 0),
  hash blob not null check (length(hash) = 32),
  primary key (store_id, level, place)
) strict;

CREATE TABLE log_turn (
  id integer primary key check (id = 1)
) strict;

CREATE TABLE logs (
  store_id integer primary key references stores (id),
  -- The origin of the store's checkpoints. Its last part is random.
  name text not null,
  -- The number of entries.
  size integer not null check (size >= 0),
  created_at integer not null
) strict;

CREATE TABLE lookup_throttle (
  store_id integer not null references stores (id),
  -- 'token:7', 'development', 'customer:1001' (a storefront's id).
  caller text not null check (length(caller) between 1 and 64),
  -- The instant at which the caller's whole budget is available again. Each failure delays it by one share.
  refilled_at integer not null,
  primary key (store_id, caller)
) strict, without rowid;

CREATE TABLE moving_changes (
  id integer primary key,
  store_id integer not null,
  table_name text not null,
  -- JSON: the values of the primary key, as SQL writes them.
  row_key text not null
) strict;

CREATE TABLE online_sale_refunds (
  store_id integer not null,
  sale_id integer not null,
  id integer not null check (id > 0),
  -- The provider makes one refund of it.
  key text not null,
  requested_by text not null check (requested_by in ('buyer', 'staff', 'review', 'system', 'provider')),
  actor text not null,
  reason text,
  amount integer not null check (amount > 0),
  currency text not null check (length(currency) = 3),
  state text not null check (state in ('requested', 'pending', 'paid', 'failed')),
  provider_id text,
  -- The reason of a failure.
  detail text,
  created_at integer not null,
  settled_at integer,
  primary key (store_id, sale_id, id),
  foreign key (store_id, sale_id) references online_sales (store_id, id)
) strict, without rowid;

CREATE TABLE online_sales (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- Of the rendered form.
  form_key text not null check (length(form_key) = 22),
  provider text not null check (provider in ('stripe', 'mollie', 'sandbox')),
  is_test integer not null check (is_test in (0, 1)),
  session_id text,
  session_url text,
  session_expires_at integer,
  payment_id text,
  state text not null
    check (state in ('new', 'open', 'waiting', 'review', 'issued', 'returned', 'expired', 'failed')),
  amount integer not null check (amount > 0),
  currency text not null check (length(currency) = 3),
  design text not null,
  -- Personal data, until it is erased. The keys are equal for all spellings of one address.
  buyer_name text,
  buyer_address text,
  buyer_key text,
  delivery text not null check (delivery in ('email', 'self')),
  recipient_name text,
  recipient_address text,
  recipient_key text,
  sender_name text,
  message text,
  -- `YYYY-MM-DD`
  send_on text check (length(send_on) = 10),
  language text not null,
  -- As people read it.
  method text,
  -- Digests of the payment card, and of the network of the buyer.
  fingerprint blob,
  network blob,
  card_country text,
  is_bank_checked integer check (is_bank_checked in (0, 1)),
  is_risky integer not null default 0 check (is_risky in (0, 1)),
  -- Between commas; empty: none.
  review_reasons text not null default '',
  return_reason text check (return_reason in ('mismatch', 'refunded', 'disputed', 'staff', 'deadline')),
  card_id integer,
  -- The entry that issued the card.
  issue_id integer,
  -- The code of a card that its buyer can see, sealed for the sale.
  code blob,
  dispute text check (dispute in ('warning', 'open', 'won', 'lost')),
  disputed_at integer,
  disputed integer not null default 0 check (disputed >= 0),
  -- When the card was suspended because of the dispute.
  stopped_at integer,
  -- Of the amounts that were paid, refunded, disputed, lost and owed. A payment in another currency than that of the sale goes
  -- back as a whole.
  paid_currency text not null check (length(paid_currency) = 3),
  paid integer not null default 0 check (paid >= 0),
  refunded integer not null default 0 check (refunded >= 0),
  -- The part of refunds and lost disputes that the card no longer had.
  loss integer not null default 0 check (loss >= 0),
  -- The part that is to go back and that no refund is requested for, because one has failed.
  owed integer not null default 0 check (owed >= 0),
  created_at integer not null,
  paid_at integer,
  decided_at integer,
  review_until integer,
  -- When it is read at the provider again; while it is claimed, when the claim expires; null: nothing is expected.
  next_at integer,
  lease integer,
  attempts integer not null default 0 check (attempts >= 0),
  -- When the buyer is sent the next email about a sale without a card, or about money that goes back; null: never.
  notice_at integer,
  notice_attempts integer not null default 0 check (notice_attempts >= 0),
  erased_at integer, mailbox blob, hinted_at integer,
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
) strict, without rowid;

CREATE TABLE owner_notices (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  address text not null,
  -- Such as the end of a certificate; null: a change by an owner.
  occasion text,
  -- JSON: the subject, the paragraphs and their language.
  content text not null,
  created_at integer not null,
  -- When the next attempt is due; null: it was sent, or given up.
  next_at integer,
  attempts integer not null check (attempts >= 0),
  primary key (store_id, id)
) strict, without rowid;

CREATE TABLE passkeys (
  store_id integer not null,
  id integer not null check (id > 0),
  staff_id integer not null,
  credential_id blob not null check (length(credential_id) between 1 and 1023),
  public_key blob not null,
  -- Of the authenticator; 0: it does not count.
  sign_count integer not null check (sign_count >= 0),
  -- Space-separated, such as 'internal hybrid'.
  transports text not null,
  name text not null,
  created_at integer not null,
  last_used_at integer,
  primary key (store_id, id),
  unique (store_id, credential_id),
  foreign key (store_id, staff_id) references staff (store_id, id)
) strict, without rowid;

CREATE TABLE payment_movements (
  store_id integer not null,
  provider text not null check (provider in ('stripe', 'mollie', 'sandbox')),
  is_test integer not null check (is_test in (0, 1)),
  id text not null,
  kind text not null check (kind in ('payment', 'refund', 'dispute', 'fee', 'payout', 'other')),
  amount integer not null,
  fee integer not null,
  currency text not null check (length(currency) = 3),
  at integer not null,
  payment_id text,
  payout_id text,
  -- The key of the form in the metadata of the payment.
  sale_key text,
  -- Null: no sale has the payment or the key.
  sale_id integer,
  primary key (store_id, provider, is_test, id)
) strict, without rowid;

CREATE TABLE payment_providers (
  store_id integer not null references stores (id),
  kind text not null check (kind in ('stripe', 'mollie', 'sandbox')),
  -- Whether it takes no real money.
  is_test integer not null check (is_test in (0, 1)),
  account text not null,
  -- Its keys, sealed, and bound to the store and the kind.
  credential blob not null,
  has_hint_secret integer not null check (has_hint_secret in (0, 1)),
  is_active integer not null check (is_active in (0, 1)),
  key_set_at integer not null,
  -- Since when every request has failed, and the last failure.
  failing_since integer,
  failure text,
  -- Movements up to this instant were compared with the sales.
  compared_until integer,
  -- The database was restored from a backup of this time, and the payments since then were not compared yet.
  copied_at integer, hints_rejected_since integer, hints_rejected_at integer,
  primary key (store_id, kind, is_test),
  check ((failing_since is null) = (failure is null))
) strict, without rowid;

CREATE TABLE request_blocks (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- The first and the last request.
  started_at integer not null,
  ended_at integer not null check (ended_at >= started_at),
  requests integer not null check (requests >= 0),
  -- Requests that were not recorded, because there were too many.
  dropped integer not null check (dropped >= 0),
  -- Bits: 1 if a response was a success, 2 if a request was rejected, 4 if the service failed.
  results integer not null check (results between 0 and 7),
  -- JSON: what requests have in common.
  kinds text not null,
  -- The rest of each request, in a fixed number of bytes.
  content blob not null,
  primary key (store_id, id)
) strict, without rowid;

CREATE TABLE sale_pages (
  store_id integer not null references stores (id),
  is_open integer not null check (is_open in (0, 1)),
  currency text not null check (length(currency) = 3),
  -- Amounts between commas; empty: none.
  presets text not null,
  lowest integer not null check (lowest > 0),
  highest integer not null check (highest >= lowest),
  validity_months integer check (validity_months between 1 and 1200),
  -- URLs.
  terms text,
  -- The terms themselves, which receipts contain.
  terms_text text check (length(terms_text) between 1 and 40000),
  privacy text,
  imprint text,
  -- Hosts between commas; empty: none.
  frame_domains text not null,
  -- The most that is sold per day.
  address_limit integer check (address_limit > 0),
  card_limit integer check (card_limit > 0),
  network_limit integer check (network_limit > 0),
  store_limit integer check (store_limit > 0),
  review_above integer check (review_above > 0),
  reviews_first integer not null check (reviews_first in (0, 1)),
  reviews_foreign integer not null check (reviews_foreign in (0, 1)),
  review_hours integer not null check (review_hours between 1 and 720),
  delay_minutes integer not null check (delay_minutes between 0 and 10080),
  work text not null check (work in ('off', 'on', 'auto')),
  country text check (length(country) = 2),
  updated_at integer not null,
  primary key (store_id),
  check (is_open = 0 or terms is not null)
) strict, without rowid;

CREATE TABLE sandbox (
  id integer primary key check (id = 1),
  created_at integer not null,
  -- How far the test clock is ahead of the time of the machine, in ms.
  offset_ms integer not null check (offset_ms >= 0),
  -- The last advance, in the time of the test clock: its start, its end, and what was done. Null: there was none.
  advanced_from integer,
  advanced_to integer,
  done text check (json_type(done) = 'object'),
  is_advancing integer not null default 0 check (is_advancing in (0, 1)),
  -- A keyed digest of the request, with which it is repeated; null: it had no Idempotency-Key.
  request_digest blob,
  -- The process that advances the clock, until this time of the machine.
  lease integer,
  leased_until integer,
  check ((advanced_from is null) = (advanced_to is null) and (advanced_to is null) = (done is null)),
  check (is_advancing = 0 or advanced_to is not null)
) strict;

CREATE TABLE sandbox_payments (
  store_id integer not null references stores (id),
  id text not null,
  -- JSON: the session, and what a tester has done.
  content text not null check (json_type(content) = 'object'),
  primary key (store_id, id)
) strict, without rowid;

CREATE TABLE schema_migrations (
    version bigint primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
  );

CREATE TABLE setup_steps (
  store_id integer not null references stores (id),
  step text not null check (step = 'key_file' or step = 'backup' or step = 'restored_copy'),
  done_at integer not null,
  -- Null: the command line.
  staff_id integer,
  primary key (store_id, step),
  foreign key (store_id, staff_id) references staff (store_id, id)
) strict, without rowid;

CREATE TABLE sqlite_stat1(tbl,idx,stat);

CREATE TABLE staff (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  name text not null,
  -- The first spelling.
  email text not null,
  -- Lower case and NFC: equal for two spellings of one address.
  email_key text not null,
  role text not null check (role = 'owner' or role = 'manager' or role = 'accountant' or role = 'cashier'),
  -- Argon2id in PHC format; null: the person signs in with a passkey, or has not accepted the invitation.
  password text,
  -- Argon2id of a keyed digest; null: no PIN.
  pin text,
  -- Wrong PINs since the last right one.
  pin_failures integer not null default 0 check (pin_failures >= 0),
  -- The highest amounts of one sale and one refund, in minor units; null: the store's limit.
  sale_limit integer check (sale_limit >= 0),
  refund_limit integer check (refund_limit >= 0),
  created_at integer not null,
  -- When the person set a password or a passkey for the first time.
  joined_at integer,
  disabled_at integer,
  -- The locations to which the person is limited: their ids, space-separated; null: to none.
  location_ids text check (location_ids is null or role <> 'owner'),
  primary key (store_id, id),
  unique (store_id, email_key)
) strict, without rowid;

CREATE TABLE staff_actions (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  at integer not null,
  -- Null: the command line, or a person who did not sign in.
  staff_id integer,
  till_id integer,
  action text not null,
  -- The card, member of staff, token or webhook that it concerns.
  subject_id integer,
  -- JSON; never a code, password, PIN or secret.
  details text not null,
  primary key (store_id, id)
) strict;

CREATE TABLE staff_links (
  store_id integer not null,
  id integer not null check (id > 0),
  staff_id integer not null,
  -- SHA-256 of a random token of 256 bits.
  hash blob not null check (length(hash) = 32),
  -- The member of staff who created it; null: the command line.
  created_by integer,
  created_at integer not null,
  expires_at integer not null,
  used_at integer,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id)
) strict, without rowid;

CREATE TABLE staff_sessions (
  store_id integer not null,
  id integer not null check (id > 0),
  staff_id integer not null,
  -- The till, if the session was opened with a PIN.
  till_id integer,
  hash blob not null check (length(hash) = 32),
  user_agent text not null check (length(user_agent) <= 200),
  created_at integer not null,
  -- When the password or passkey was last presented; null: only a PIN.
  authenticated_at integer,
  -- Sliding: a request extends it.
  expires_at integer not null,
  ended_at integer,
  -- When a request last used it.
  last_used_at integer not null default 0,
  -- Where a person who is limited to locations works in the office; null: at the first of them.
  location_id integer,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id),
  foreign key (store_id, till_id) references tills (store_id, id)
) strict, without rowid;

CREATE TABLE stock_codes (
  store_id integer not null,
  stock_id integer not null,
  place integer not null check (place >= 0),
  lookup integer not null,
  -- When it was activated or voided; null: it is left.
  sold_at integer,
  voided_at integer,
  -- When a caller who cannot activate it last looked for it.
  tried_at integer,
  primary key (store_id, stock_id, place),
  unique (store_id, lookup),
  foreign key (store_id, stock_id) references stocks (store_id, id),
  foreign key (store_id, lookup) references gift_card_codes (store_id, lookup),
  check (sold_at is null or voided_at is null)
) strict, without rowid;

CREATE TABLE stock_parts (
  store_id integer not null,
  stock_id integer not null,
  part integer not null check (part >= 0),
  -- Sealed, until they are erased.
  codes blob,
  -- JSON: why codes were not added; null: all were, or the part is not added yet.
  failures text,
  primary key (store_id, stock_id, part),
  foreign key (store_id, stock_id) references stocks (store_id, id)
) strict;

CREATE TABLE stocks (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  -- As the caller named it.
  name text,
  actor text not null,
  api_client_id integer,
  state text not null check (state = 'running' or state = 'complete'),
  -- 1: the service generated the codes; 0: the caller uploaded them.
  generated integer not null check (generated in (0, 1)),
  currency text not null,
  -- What a code is sold for, in minor units: the fixed value, or any value from the minimum to the maximum.
  fixed_value integer check (fixed_value > 0),
  minimum_value integer check (minimum_value > 0),
  maximum_value integer check (maximum_value >= minimum_value),
  -- How long a gift card is valid after its activation; null: it never expires.
  valid_months integer check (valid_months > 0),
  -- The number of codes, how many of them are in stock or were, and how many could not be added.
  codes integer not null check (codes > 0),
  printed integer not null check (printed >= 0),
  failed integer not null check (failed >= 0),
  -- The first part that was not added.
  next_part integer not null check (next_part >= 0),
  created_at integer not null,
  completed_at integer,
  -- When all that was left was voided, which holds for codes that are added later.
  voided_at integer,
  -- Until when the codes can be read; null: they are being added, or are erased.
  codes_until integer,
  primary key (store_id, id),
  check ((fixed_value is null) = (minimum_value is not null) and (fixed_value is null) = (maximum_value is not null)),
  check (printed + failed <= codes),
  check ((state = 'complete') = (completed_at is not null) and (state = 'running' or printed + failed = codes)),
  check (codes_until is null or completed_at is not null)
) strict;

CREATE TABLE store_ages (
  store_id integer not null references stores (id),
  currency text not null check (length(currency) = 3),
  issued text not null check (length(issued) = 7),
  -- A month, or the day that is being closed.
  month text not null check (length(month) = 7 or length(month) = 10),
  bucket text not null check (bucket = 'active' or bucket = 'expired' or bucket = 'disabled'),
  raised integer not null,
  lowered integer not null,
  cards integer not null,
  -- VAT, sales and redemptions by the month of issue; null as in store_days.
  tax integer,
  sold integer,
  sold_tax integer,
  redeemed integer,
  redeemed_tax integer,
  primary key (store_id, currency, issued, month, bucket)
) strict, without rowid;

CREATE TABLE store_changes (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  field text not null,
  old_value text,
  new_value text,
  actor text not null,
  created_at integer not null,
  primary key (store_id, id)
) strict;

CREATE TABLE store_closings (
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

CREATE TABLE store_copies (
  store_id integer primary key references stores (id),
  -- Identifies the database that it comes from: hex.
  source text not null,
  -- The location of the source, without a password.
  source_shown text not null,
  -- When the store was closed there. If it was opened again, the copy starts over.
  closed_at integer not null,
  -- The last run of the command.
  run text not null,
  state text not null check (state in ('copying', 'failed', 'complete')),
  started_at integer not null,
  ended_at integer,
  check ((state = 'copying') = (ended_at is null))
) strict;

CREATE TABLE store_days (
  store_id integer not null references stores (id),
  currency text not null check (length(currency) = 3),
  day text not null check (length(day) = 10),
  -- The kind of the transfers, or expire, unexpire, disable or enable.
  kind text not null,
  -- The card's state at that time.
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
  -- The VAT that is due at the sale; null: an earlier version stored the sum, and the next start computes it again.
  raised_tax integer,
  lowered_tax integer,
  -- Where the transfers took place; 0: at no location.
  location_id integer not null default 0,
  primary key (store_id, currency, day, kind, bucket, account, actor, vat, location_id)
) strict, without rowid;

CREATE TABLE store_work (
  store_id integer not null references stores (id),
  kind text not null check (kind in
    ('closing', 'checkpoint', 'expiry', 'reminders', 'months', 'access', 'events', 'emails', 'deliveries', 'requests')),
  -- When it is due. For kinds that erase: the age of the oldest row, from which its period counts. Negative: at once, and
  -- different each time. Null: not before something is added, which sets it.
  at integer,
  primary key (store_id, kind)
) strict, without rowid;

CREATE TABLE stores (
  id integer primary key check (id > 0),
  domain text not null unique check (domain = lower(domain)),
  name text not null,
  currency text not null check (length(currency) = 3),
  time_zone text not null,
  issue_limit integer check (issue_limit > 0),
  -- Sealed: each signature of a request is computed with it.
  proxy_secret blob,
  require_signature integer not null check (require_signature in (0, 1)),
  customer_search integer not null check (customer_search in (0, 1)),
  -- Whether tills sell only printed cards.
  stock_required integer not null default 0 check (stock_required in (0, 1)),
  -- How long a card can be re-enabled; 0: a disabling is final.
  undo_window_minutes integer not null default 0 check (undo_window_minutes between 0 and 60),
  -- How many days before a card's expiry an event is published; 0: none is.
  expiring_soon_days integer not null default 0 check (expiring_soon_days between 0 and 365),
  -- The maximum duration of its holds.
  hold_limit_days integer not null default 7 check (hold_limit_days between 1 and 90),
  demonstration integer not null check (demonstration in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  -- Null: the default of the service.
  lookup_failures_per_hour integer check (lookup_failures_per_hour between 1 and 100000),
  -- The instant from which all changes are recorded; null: since the store was created.
  changes_from integer,
  -- 'multi_purpose', or 'single_purpose' with a space and the rate in percent; null: the store does not record VAT.
  vat text,
  -- JSON: {account: name, …}, the names of the accounts in the journal that differ from the default.
  account_names text check (account_names is null or json_type(account_names) = 'object'),
  -- 'consultant/client/first month/account length', for the files for DATEV; null: none.
  datev text,
  -- open; closing: requests in progress can still change it; closed: nothing changes it; moved: another installation
  -- has it; arriving: its rows are being copied into this database. Only an open store is served.
  status text not null default 'open' check (status in ('open', 'closing', 'closed', 'moved', 'arriving')),
  -- When it was last closed.
  closed_at integer,
  -- Where it was moved to, without a password.
  moved_to text, stock_asked integer not null default 0 check (stock_asked in (0, 1)),
  check (require_signature = 0 or proxy_secret is not null)
) strict;

CREATE TABLE tills (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  name text not null,
  -- SHA-256 of the token in the device's cookie.
  hash blob not null check (length(hash) = 32),
  created_by integer not null,
  created_at integer not null,
  revoked_at integer,
  -- Where the till is; null: at no location.
  location_id integer, paper_mm integer not null default 80 check (paper_mm in (58, 80)),
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, created_by) references staff (store_id, id),
  foreign key (store_id, location_id) references locations (store_id, id)
) strict, without rowid;

CREATE TABLE transfers (
  store_id integer not null,
  id integer not null check (id > 0),
  card_id integer not null,
  sequence integer not null check (sequence >= 1),
  -- The card's transfer before this one; null: this is the first.
  previous_id integer,
  -- Alternatives instead of a list: SQLite makes a table of a list of more than two for every row that is written.
  kind text not null check (
    kind = 'issue' or kind = 'adjustment' or kind = 'debit'
    or kind = 'credit' or kind = 'top_up' or kind = 'capture' or kind = 'reversal'
  ),
  amount integer not null check (amount > 0),
  currency text not null check (length(currency) = 3),
  debit_account text not null check (
    debit_account = 'card' or debit_account = 'sales' or debit_account = 'online_sales' or debit_account = 'top_ups'
    or debit_account = 'promotions' or debit_account = 'redemptions' or debit_account = 'adjustments' or debit_account = 'breakage'
  ),
  credit_account text not null check (
    credit_account = 'card' or credit_account = 'sales' or credit_account = 'online_sales' or credit_account = 'top_ups'
    or credit_account = 'promotions' or credit_account = 'redemptions' or credit_account = 'adjustments' or credit_account = 'breakage'
  ),
  balance_after integer not null check (balance_after >= 0),
  actor text not null,
  reference text,
  note text,
  order_id integer,
  order_reference text,
  -- The caller's own id of it.
  external_id text,
  location_id integer,
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
  -- SHA-256 of text_salt and the texts.
  text_digest blob check (length(text_digest) = 32),
  -- SHA-256 of the previous hash in the card's chain, and the content of the entry.
  hash blob not null check (length(hash) = 32),
  -- The VAT with which the card was issued, in its first entry.
  issued_vat text check (sequence = 1 or issued_vat is null),
  primary key (store_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  -- Each transfer moves money between the card and one system account.
  check ((debit_account = 'card') <> (credit_account = 'card')),
  check ((kind = 'reversal') = (reverses is not null)),
  check ((kind = 'capture') = (hold_id is not null)),
  check ((sequence = 1) = (previous_id is null)),
  check ((sequence = 1) = (salt is not null)),
  check (sequence = 1 or issued_expires_on is null),
  check (
    text_salt is not null
    or (reference is null and note is null and order_reference is null and external_id is null)
  ),
  check (text_salt is null or text_digest is not null)
) strict;

CREATE TABLE unknown_addresses (
  store_id integer not null,
  -- The entry of the audit log.
  id integer not null check (id > 0),
  -- Keyed, of the compared form of the address.
  digest blob not null check (length(digest) = 32), day text check (length(day) = 10), attempts integer not null default 1 check (attempts > 0), last_at integer,
  primary key (store_id, id),
  foreign key (store_id, id) references staff_actions (store_id, id)
) strict, without rowid;

CREATE TABLE verifications (
  store_id integer not null references stores (id),
  verified_at integer not null,
  -- Rows of all stores that were read.
  rows_read integer not null check (rows_read >= 0),
  -- Problems of the store, and of the database as a whole.
  mismatches integer not null check (mismatches >= 0),
  actor text not null,
  primary key (store_id)
) strict, without rowid;

CREATE TABLE version_check (
  id integer primary key check (id = 1),
  -- Null: no owner has decided.
  is_wanted integer check (is_wanted in (0, 1)),
  decided_at integer,
  -- When the next request is due; null: none was made since the decision.
  next_at integer,
  -- The last list that was accepted: its version, its key in base64, when it was published, and when it was read.
  newest text,
  list_key text,
  published_at integer,
  checked_at integer,
  -- Failures in a row, and the last one.
  failures integer not null check (failures >= 0),
  failed_at integer,
  problem text
) strict;

CREATE TABLE wallet_cards (
  store_id integer not null,
  card_id integer not null,
  kind text not null,
  -- The last change of the card; it rises with each one.
  changed_at integer not null,
  -- When the update is due; while it is claimed, when the claim expires; null: nothing is to be sent.
  next_at integer,
  lease integer,
  -- The attempts of this update, and the first one.
  attempts integer not null default 0 check (attempts >= 0),
  first_at integer,
  -- The id of the card at Google.
  object text,
  -- The code that it had when it was added, sealed for the card; null: the object is ended, and then the row is removed.
  code blob,
  primary key (store_id, card_id, kind),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  foreign key (store_id, kind) references wallets (store_id, kind) on delete cascade,
  check (lease is null or next_at is not null),
  check ((kind = 'google') = (object is not null)),
  check (kind = 'google' or code is null)
) strict, without rowid;

CREATE TABLE wallet_devices (
  store_id integer not null,
  card_id integer not null,
  kind text not null default 'apple' check (kind = 'apple'),
  device text not null check (length(device) between 1 and 100),
  push_token text not null check (length(push_token) between 1 and 200),
  registered_at integer not null,
  primary key (store_id, card_id, device),
  foreign key (store_id, card_id, kind) references wallet_cards (store_id, card_id, kind) on delete cascade
) strict, without rowid;

CREATE TABLE wallets (
  store_id integer not null references stores (id),
  kind text not null check (kind in ('apple', 'google')),
  -- The pass type id and the team of Apple; the issuer id and the service account of Google.
  name text not null,
  holder text not null,
  -- Sealed, and bound to the store, kind, name and holder.
  credential blob not null,
  -- Of the certificate, if there is one.
  expires_at integer,
  set_at integer not null,
  -- Since when every update has failed, and the last failure.
  failing_since integer,
  failure text,
  primary key (store_id, kind),
  check ((failing_since is null) = (failure is null))
) strict, without rowid;

CREATE TABLE webhook_attempts (
  store_id integer not null,
  webhook_id integer not null,
  event_id integer not null,
  attempt integer not null check (attempt >= 1),
  attempted_at integer not null,
  duration_ms integer not null,
  response_status integer,
  response_body text,
  failure_reason text,
  failure text,
  primary key (store_id, webhook_id, event_id, attempt),
  foreign key (store_id, webhook_id, event_id)
    references webhook_deliveries (store_id, webhook_id, event_id) on delete cascade
) strict, without rowid;

CREATE TABLE webhook_deliveries (
  store_id integer not null,
  webhook_id integer not null,
  event_id integer not null,
  status text not null check (status = 'queued' or status = 'retrying' or status = 'delivered' or status = 'dead'),
  created_at integer not null,
  attempts integer not null default 0 check (attempts >= 0),
  -- The attempts before the last request to redeliver it, after which the delays start again.
  attempts_before integer not null default 0 check (attempts_before between 0 and attempts),
  -- The first attempt since then, and the last one.
  first_at integer,
  last_at integer,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at integer,
  -- The claim of a process.
  lease integer,
  -- The result of the last attempt: a response, or why there was none.
  response_status integer,
  response_body text,
  failure_reason text,
  failure text,
  duration_ms integer,
  primary key (store_id, webhook_id, event_id),
  foreign key (store_id, webhook_id) references webhooks (store_id, id) on delete cascade,
  check ((status in ('queued', 'retrying')) = (next_at is not null)),
  check (lease is null or next_at is not null)
) strict, without rowid;

CREATE TABLE webhooks (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  version integer not null check (version >= 1),
  url text not null,
  -- Each pattern between spaces, so that one is found by its text: ' gift_card.* customer.created '.
  patterns text not null check (patterns like ' % '),
  secret blob not null,
  -- Messages have signatures with both secrets until then.
  previous_secret blob,
  previous_secret_until integer,
  status text not null check (status in ('active', 'paused')),
  paused_at integer,
  pause_reason text check (pause_reason in ('requested', 'failures', 'gone')),
  -- Since when every attempt has failed, and the first failure.
  failing_since integer,
  failure text,
  created_at integer not null,
  updated_at integer not null,
  primary key (store_id, id),
  check ((previous_secret is null) = (previous_secret_until is null)),
  check ((status = 'paused') = (paused_at is not null)),
  check ((pause_reason is null) = (paused_at is null)),
  check ((failing_since is null) = (failure is null))
) strict, without rowid;

CREATE UNIQUE INDEX accountant_emails_by_month on accountant_emails (store_id, accountant_id, month)
  where kind = 'month';

CREATE INDEX accountant_emails_due on accountant_emails (next_at) where next_at is not null;

CREATE UNIQUE INDEX accountants_by_address on accountants (store_id, address_key);

CREATE INDEX batches_running on batches (created_at) where state = 'running';

CREATE INDEX batches_with_codes on batches (codes_until) where codes_until is not null;

CREATE INDEX card_changes_by_former_disabling
  on card_changes (store_id, substr(fields, instr(fields, '["disabled_at",') + 15, 13), id)
  where instr(fields, '["disabled_at",') > 0 and instr(fields, '["disabled_at",null') = 0;

CREATE INDEX card_changes_by_former_expiry
  on card_changes (store_id, substr(fields, instr(fields, '["expires_on","') + 15, 10), id)
  where instr(fields, '["expires_on","') > 0;

CREATE INDEX card_changes_by_place on card_changes (store_id, card_id, sequence) where sequence % 32 = 0;

CREATE INDEX card_changes_of_resumptions on card_changes (store_id, id)
  where instr(fields, '["suspended_at",') > 0 and instr(fields, '["suspended_at",null') = 0;

CREATE UNIQUE INDEX checkpoints_by_day on checkpoints (store_id, day) where day is not null;

CREATE INDEX customer_erasures_unfinished on customer_erasures (requested_at) where completed_at is null;

CREATE UNIQUE INDEX customers_by_storefront_id on customers (store_id, storefront_customer_id)
  where storefront_customer_id is not null;

CREATE INDEX email_deliveries_by_batch on email_deliveries (store_id, batch_id, state, kind, id, card_id)
  where batch_id is not null;

CREATE INDEX email_deliveries_by_id on email_deliveries (store_id, id, state);

CREATE UNIQUE INDEX email_deliveries_by_occasion on email_deliveries (store_id, card_id, occasion)
  where occasion is not null;

CREATE INDEX email_deliveries_by_state on email_deliveries (store_id, state, kind, id);

CREATE INDEX email_deliveries_due on email_deliveries (next_at) where next_at is not null;

CREATE INDEX email_deliveries_failed on email_deliveries (store_id, state, card_id, id)
  where kind = 'gift_card' and (state = 'bounced' or state = 'dead');

CREATE INDEX email_deliveries_scheduled on email_deliveries (store_id, card_id, id)
  where kind = 'gift_card' and state = 'scheduled';

CREATE INDEX gift_cards_by_batch on gift_cards (store_id, batch_id, id) where batch_id is not null;

CREATE INDEX gift_cards_by_customer on gift_cards (store_id, customer_id, last_characters)
  where customer_id is not null;

CREATE INDEX gift_cards_by_disabling on gift_cards (store_id, disabled_at, id) where disabled_at is not null;

CREATE INDEX gift_cards_by_expiry on gift_cards (store_id, expires_on, id) where expires_on is not null;

CREATE INDEX gift_cards_by_external_id on gift_cards (store_id, external_id) where external_id is not null;

CREATE INDEX gift_cards_by_order on gift_cards (store_id, order_id, id) where order_id is not null;

CREATE INDEX gift_cards_by_recipient on gift_cards (store_id, recipient_id, last_characters)
  where recipient_id is not null;

CREATE INDEX gift_cards_by_suspension on gift_cards (store_id, suspended_at, id) where suspended_at is not null;

CREATE INDEX gift_cards_expiring on gift_cards (store_id, expires_on)
  where expires_on is not null and (expired_event_day is null or expired_event_day <> expires_on);

CREATE INDEX holds_by_card on holds (store_id, card_id, id);

CREATE INDEX holds_by_external_id on holds (store_id, external_id, id) where external_id is not null;

CREATE INDEX holds_by_order_id on holds (store_id, order_id, id) where order_id is not null;

CREATE INDEX holds_by_order_reference on holds (store_id, order_reference, id) where order_reference is not null;

CREATE INDEX holds_by_reference on holds (store_id, reference, id) where reference is not null;

CREATE INDEX holds_open_by_expiry on holds (expires_at) where status = 'open';

CREATE INDEX idempotency_records_by_age on idempotency_records (created_at);

CREATE INDEX late_entries_by_card on late_entries (store_id, card_id);

CREATE INDEX late_entries_by_day on late_entries (store_id, day);

CREATE INDEX log_pages_by_id on log_pages (store_id, highest_id, place, lowest_id);

CREATE INDEX lookup_throttle_by_refill on lookup_throttle (refilled_at);

CREATE UNIQUE INDEX online_sale_refunds_by_key on online_sale_refunds (store_id, key);

CREATE INDEX online_sale_refunds_by_time on online_sale_refunds (store_id, created_at);

CREATE INDEX online_sale_refunds_unsettled on online_sale_refunds (store_id, state, sale_id)
  where state <> 'paid';

CREATE INDEX online_sales_by_buyer on online_sales (store_id, buyer_key, id) where buyer_key is not null;

CREATE UNIQUE INDEX online_sales_by_card on online_sales (store_id, card_id) where card_id is not null;

CREATE UNIQUE INDEX online_sales_by_form on online_sales (store_id, form_key);

CREATE INDEX online_sales_by_network on online_sales (store_id, network, id) where network is not null;

CREATE INDEX online_sales_by_payment on online_sales (store_id, payment_id) where payment_id is not null;

CREATE INDEX online_sales_by_payment_card on online_sales (store_id, fingerprint, id) where fingerprint is not null;

CREATE INDEX online_sales_by_recipient on online_sales (store_id, recipient_key, id) where recipient_key is not null;

CREATE INDEX online_sales_by_session on online_sales (store_id, session_id) where session_id is not null;

CREATE INDEX online_sales_by_state on online_sales (store_id, state, id);

CREATE INDEX online_sales_disputed on online_sales (store_id, id) where dispute is not null;

CREATE INDEX online_sales_due on online_sales (next_at) where next_at is not null;

CREATE INDEX online_sales_due_at_provider on online_sales (store_id, provider, is_test, next_at)
  where next_at is not null;

CREATE INDEX online_sales_notices on online_sales (notice_at) where notice_at is not null;

CREATE INDEX online_sales_owed on online_sales (store_id, id) where owed > 0;

CREATE INDEX online_sales_paid on online_sales (store_id, paid_at) where paid_at is not null;

CREATE INDEX online_sales_unpaid on online_sales (created_at) where paid_at is null;

CREATE INDEX online_sales_with_traces on online_sales (decided_at)
  where decided_at is not null and (code is not null or network is not null);

CREATE UNIQUE INDEX owner_notices_by_occasion on owner_notices (store_id, address, occasion) where occasion is not null;

CREATE INDEX owner_notices_due on owner_notices (next_at) where next_at is not null;

CREATE INDEX payment_movements_by_sale on payment_movements (store_id, sale_id) where sale_id is not null;

CREATE INDEX payment_movements_by_time on payment_movements (store_id, at);

CREATE UNIQUE INDEX payment_providers_active on payment_providers (store_id) where is_active = 1;

CREATE INDEX staff_actions_by_action on staff_actions (store_id, action, id);

CREATE INDEX staff_actions_by_subject on staff_actions (store_id, subject_id, id);

CREATE INDEX staff_sessions_by_staff on staff_sessions (store_id, staff_id);

CREATE INDEX staff_sessions_by_till on staff_sessions (store_id, till_id, created_at) where till_id is not null;

CREATE INDEX stock_codes_sold on stock_codes (store_id, stock_id) where sold_at is not null;

CREATE INDEX stock_codes_voided on stock_codes (store_id, stock_id) where voided_at is not null;

CREATE INDEX stocks_running on stocks (created_at) where state = 'running';

CREATE INDEX stocks_with_codes on stocks (codes_until) where codes_until is not null;

CREATE INDEX store_ages_of_days on store_ages (store_id, currency, month) where length(month) = 10;

CREATE INDEX store_ages_of_months on store_ages (store_id, currency, month) where length(month) = 7;

CREATE INDEX store_work_due on store_work (kind, at, store_id) where at is not null;

CREATE INDEX stores_not_open on stores (id) where status <> 'open';

CREATE INDEX transfers_by_external_id on transfers (store_id, external_id, id) where external_id is not null;

CREATE INDEX transfers_by_issue_location on transfers (store_id, location_id, card_id)
where kind = 'issue' and location_id is not null;

CREATE INDEX transfers_by_order_id on transfers (store_id, order_id, id) where order_id is not null;

CREATE INDEX transfers_by_order_reference on transfers (store_id, order_reference, id) where order_reference is not null;

CREATE INDEX transfers_by_place on transfers (store_id, card_id, sequence) where sequence % 32 = 0;

CREATE INDEX transfers_by_reference on transfers (store_id, reference, id) where reference is not null;

CREATE INDEX transfers_by_reversed on transfers (store_id, reverses) where reverses is not null;

CREATE INDEX transfers_by_staff on transfers (store_id, id) where actor >= 'staff:' and actor < 'staff;';

CREATE UNIQUE INDEX unknown_addresses_by_day on unknown_addresses (store_id, day, digest) where day is not null;

CREATE INDEX unknown_addresses_by_digest on unknown_addresses (store_id, digest);

CREATE INDEX wallet_cards_due on wallet_cards (store_id, kind, next_at);

CREATE INDEX wallet_devices_by_device on wallet_devices (store_id, device);

CREATE INDEX webhook_deliveries_due on webhook_deliveries (store_id, webhook_id, next_at)
  where next_at is not null;

CREATE TRIGGER card_changes_are_late after insert on card_changes
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

CREATE TRIGGER card_changes_are_not_deleted before delete on card_changes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'changes of gift cards are append-only'); end;

CREATE TRIGGER card_changes_are_not_updated before update on card_changes
when old.texts is null or new.texts is old.texts
  or exists (
    select 1 from json_each(new.texts) n
    where not exists (select 1 from json_each(old.texts) o where o.key = n.key and o.value is n.value)
  )
  or old.store_id <> new.store_id or old.id <> new.id or old.card_id <> new.card_id or old.sequence <> new.sequence
  or old.previous_id is not new.previous_id or old.created_at <> new.created_at or old.actor <> new.actor
  or old.fields <> new.fields or old.salt is not new.salt or old.hash <> new.hash
begin select raise(abort, 'changes of gift cards are append-only'); end;

CREATE TRIGGER card_changes_extend_chains after insert on card_changes
begin
  update gift_cards set last_change_id = new.id, change_count = new.sequence, change_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_change_id is new.previous_id and change_count = new.sequence - 1;
  select raise(abort, 'a change must follow the last change of its gift card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

CREATE TRIGGER checkpoint_keys_are_not_deleted before delete on checkpoint_keys
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'public keys are kept'); end;

CREATE TRIGGER checkpoint_keys_are_not_updated before update on checkpoint_keys
begin select raise(abort, 'public keys are kept'); end;

CREATE TRIGGER checkpoints_are_not_deleted before delete on checkpoints
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'checkpoints are never deleted'); end;

CREATE TRIGGER checkpoints_are_not_updated before update on checkpoints
begin select raise(abort, 'checkpoints are never changed'); end;

CREATE TRIGGER events_are_enqueued after insert on events
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

CREATE TRIGGER events_are_not_updated before update on events
when new.store_id <> old.store_id or new.type <> old.type or new.subject_id <> old.subject_id
  or new.subject_version <> old.subject_version or new.created_at <> old.created_at or new.id < old.id
  or (new.id > old.id) = (new.data <> old.data)
  or (new.data <> old.data and (
    json_remove(new.data, '$.gift_card.customer_id', '$.gift_card.customer_email', '$.gift_card.recipient_id',
      '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message', '$.gift_card.sender_name',
      '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note', '$.transaction.order_reference',
      '$.transaction.external_id', '$.hold.reference', '$.hold.note', '$.hold.order_reference', '$.hold.external_id',
      '$.customer.email', '$.customer.storefront_customer_id', '$.delivery.recipient', '$.delivery.last_attempt',
      '$.delivery.cancel_reason')
    <> json_remove(old.data, '$.gift_card.customer_id', '$.gift_card.customer_email', '$.gift_card.recipient_id',
      '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message', '$.gift_card.sender_name',
      '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note', '$.transaction.order_reference',
      '$.transaction.external_id', '$.hold.reference', '$.hold.note', '$.hold.order_reference', '$.hold.external_id',
      '$.customer.email', '$.customer.storefront_customer_id', '$.delivery.recipient', '$.delivery.last_attempt',
      '$.delivery.cancel_reason')
    or exists (
      select 1 from json_each(json_array('$.gift_card.customer_id', '$.gift_card.customer_email',
        '$.gift_card.recipient_id', '$.gift_card.recipient_email', '$.gift_card.note', '$.gift_card.message',
        '$.gift_card.sender_name', '$.gift_card.recipient_name', '$.transaction.reference', '$.transaction.note',
        '$.transaction.order_reference', '$.transaction.external_id', '$.hold.reference', '$.hold.note',
        '$.hold.order_reference', '$.hold.external_id', '$.customer.email', '$.customer.storefront_customer_id',
        '$.delivery.recipient', '$.delivery.last_attempt', '$.delivery.cancel_reason')) p
      where json_extract(new.data, p.value) is not null
        and json_extract(new.data, p.value) is not json_extract(old.data, p.value))))
begin select raise(abort, 'events are append-only'); end;

CREATE TRIGGER events_reach_wallets after insert on events
when exists (select 1 from wallet_cards where store_id = new.store_id and card_id = new.subject_id)
begin
  update wallet_cards set changed_at = max(changed_at + 1, new.created_at), next_at = coalesce(next_at, new.created_at)
  where store_id = new.store_id and card_id = new.subject_id;
end;

CREATE TRIGGER external_ids_are_not_deleted before delete on external_ids
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'external ids are never deleted'); end;

CREATE TRIGGER external_ids_are_not_updated before update on external_ids
begin select raise(abort, 'external ids are never changed'); end;

CREATE TRIGGER codes_are_not_deleted before delete on gift_card_codes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a used code stays used'); end;

CREATE TRIGGER cards_are_not_deleted before delete on gift_cards
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'gift cards are never deleted'); end;

CREATE TRIGGER cards_keep_their_vat before update of vat on gift_cards when old.vat is not new.vat
begin select raise(abort, 'what a gift card was issued with does not change'); end;

CREATE TRIGGER cards_keep_what_was_issued
before update of store_id, id, currency, initial_value, created_at, api_client_id on gift_cards
when old.store_id <> new.store_id or old.id <> new.id or old.currency <> new.currency
  or old.initial_value <> new.initial_value or old.created_at <> new.created_at
  or old.api_client_id is not new.api_client_id
begin select raise(abort, 'what a gift card was issued with does not change'); end;

CREATE TRIGGER hold_extensions_are_not_deleted before delete on hold_extensions
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'extensions of holds are never deleted'); end;

CREATE TRIGGER hold_extensions_are_not_updated before update on hold_extensions
begin select raise(abort, 'extensions of holds are never changed'); end;

CREATE TRIGGER closed_holds_stay_closed before update on holds
when old.status <> 'open' and (
  (new.reference is old.reference and new.note is old.note and new.order_reference is old.order_reference
    and new.external_id is old.external_id)
  or (new.reference is not null and new.reference is not old.reference)
  or (new.note is not null and new.note is not old.note)
  or (new.order_reference is not null and new.order_reference is not old.order_reference)
  or (new.external_id is not null and new.external_id is not old.external_id)
  or new.store_id <> old.store_id or new.id <> old.id or new.card_id <> old.card_id or new.status <> old.status
  or new.amount <> old.amount or new.captured <> old.captured or new.actor <> old.actor
  or new.order_id is not old.order_id or new.created_at <> old.created_at or new.expires_at <> old.expires_at
  or new.closed_at is not old.closed_at or new.location_id is not old.location_id
)
begin select raise(abort, 'a closed hold stays closed'); end;

CREATE TRIGGER holds_are_not_deleted before delete on holds
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'holds are never deleted'); end;

CREATE TRIGGER late_entries_are_not_deleted before delete on late_entries
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a closed day does not change'); end;

CREATE TRIGGER late_entries_keep_their_day before update on late_entries
when old.day is not null or old.id <> new.id or old.card_id <> new.card_id or old.created_at <> new.created_at
begin select raise(abort, 'a closed day does not change'); end;

CREATE TRIGGER log_pages_are_not_deleted before delete on log_pages
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER log_pages_only_grow before update on log_pages
when new.store_id <> old.store_id or new.place <> old.place
  or substr(new.entries, 1, length(old.entries)) <> old.entries
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER log_subtrees_are_not_deleted before delete on log_subtrees
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER log_subtrees_are_not_updated before update on log_subtrees
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER logs_are_not_deleted before delete on logs
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER logs_only_grow before update on logs
when new.store_id <> old.store_id or new.name <> old.name or new.created_at <> old.created_at or new.size < old.size
begin select raise(abort, 'a log only grows'); end;

CREATE TRIGGER sandbox_clock_goes_forward before update on sandbox
when new.id <> old.id or new.created_at <> old.created_at or new.offset_ms < old.offset_ms
begin select raise(abort, 'a sandbox stays a sandbox, and its clock goes forward'); end;

CREATE TRIGGER sandbox_is_first before insert on sandbox when exists (select 1 from stores)
begin select raise(abort, 'a database with stores does not become a sandbox'); end;

CREATE TRIGGER sandbox_stays before delete on sandbox
begin select raise(abort, 'a sandbox stays a sandbox'); end;

CREATE TRIGGER staff_actions_are_not_deleted before delete on staff_actions
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'the audit log is append-only'); end;

CREATE TRIGGER staff_actions_are_not_updated before update on staff_actions
begin select raise(abort, 'the audit log is append-only'); end;

CREATE TRIGGER stock_codes_are_not_deleted before delete on stock_codes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'codes of a stock are never deleted'); end;

CREATE TRIGGER stock_codes_never_return before update of sold_at, voided_at on stock_codes
when old.sold_at is not null or old.voided_at is not null
begin select raise(abort, 'a code never returns to its stock'); end;

CREATE TRIGGER store_changes_are_not_deleted before delete on store_changes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'changes of stores are append-only'); end;

CREATE TRIGGER store_changes_are_not_updated before update on store_changes
begin select raise(abort, 'changes of stores are append-only'); end;

CREATE TRIGGER closed_days_keep_their_time before update on store_closings
when old.part = 'closed' or old.from_at <> new.from_at or old.until_at <> new.until_at or old.day <> new.day
begin select raise(abort, 'a closed day does not change'); end;

CREATE TRIGGER transfers_are_late after insert on transfers
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

CREATE TRIGGER transfers_are_not_deleted before delete on transfers
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'transfers are append-only'); end;

CREATE TRIGGER transfers_are_not_updated before update on transfers
when old.text_salt is null or new.text_salt is not null or new.reference is not null or new.note is not null
  or new.order_reference is not null or new.external_id is not null
  or old.store_id <> new.store_id or old.id <> new.id or old.card_id <> new.card_id or old.sequence <> new.sequence
  or old.previous_id is not new.previous_id or old.kind <> new.kind or old.amount <> new.amount
  or old.currency <> new.currency or old.debit_account <> new.debit_account
  or old.credit_account <> new.credit_account or old.balance_after <> new.balance_after or old.actor <> new.actor
  or old.order_id is not new.order_id or old.hold_id is not new.hold_id or old.reverses is not new.reverses
  or old.created_at <> new.created_at or old.salt is not new.salt
  or old.issued_expires_on is not new.issued_expires_on or old.text_digest is not new.text_digest
  or old.hash <> new.hash or old.location_id is not new.location_id
begin select raise(abort, 'transfers are append-only'); end;

CREATE TRIGGER transfers_begin_chains after insert on transfers
when new.sequence = 1 and not exists (
  select 1 from gift_cards
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.id and chain_length = 1 and chain_hash = new.hash
)
begin
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

CREATE TRIGGER transfers_extend_chains after insert on transfers when new.sequence > 1
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

CREATE TRIGGER transfers_keep_their_vat before update of issued_vat on transfers
when old.issued_vat is not new.issued_vat
begin select raise(abort, 'transfers are append-only'); end;
