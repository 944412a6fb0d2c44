-- The accountants of a store, who receive an email about each month.
create table accountants (
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
create unique index accountants_by_address on accountants (store_id, address_key);

-- The emails to accountants, without their content.
create table accountant_emails (
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
create unique index accountant_emails_by_month on accountant_emails (store_id, accountant_id, month)
  where kind = 'month';
create index accountant_emails_due on accountant_emails (next_at) where next_at is not null;
