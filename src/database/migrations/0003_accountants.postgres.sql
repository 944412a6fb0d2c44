-- The accountants of a store, who receive an email about each month.
create table accountants (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  address text collate "C" not null,
  -- Equal for all spellings of one address.
  address_key text collate "C" not null,
  language text collate "C" not null,
  format text collate "C" not null check (format in ('csv', 'xlsx', 'datev', 'quickbooks', 'xero')),
  created_at bigint not null,
  primary key (store_id, id)
);
create unique index accountants_by_address on accountants (store_id, address_key);

-- The emails to accountants, without their content.
create table accountant_emails (
  store_id bigint not null,
  id bigint not null check (id > 0),
  accountant_id bigint not null,
  -- `month`: enqueued once, after the month. `again`, `test`: an owner requested it.
  kind text collate "C" not null check (kind in ('month', 'again', 'test')),
  -- `YYYY-MM`
  month text collate "C" not null,
  -- The format of the file that the link downloads.
  format text collate "C" not null check (format in ('csv', 'xlsx', 'datev', 'quickbooks', 'xero')),
  link_until bigint not null,
  state text collate "C" not null check (state in ('queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled')),
  created_at bigint not null,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at bigint,
  lease bigint,
  attempts bigint not null default 0 check (attempts >= 0),
  first_at bigint,
  -- The last response of the mail server.
  response text collate "C",
  ended_at bigint,
  -- When the page was first opened, and the file first downloaded.
  opened_at bigint,
  downloaded_at bigint,
  primary key (store_id, id),
  foreign key (store_id, accountant_id) references accountants (store_id, id) on delete cascade,
  check ((state in ('queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check (lease is null or next_at is not null)
);
create unique index accountant_emails_by_month on accountant_emails (store_id, accountant_id, month)
  where kind = 'month';
create index accountant_emails_due on accountant_emails (next_at) where next_at is not null;
