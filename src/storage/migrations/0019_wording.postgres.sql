-- The wording of emails: the texts that a store has in place of the standard ones.
create table email_texts (
  store_id bigint not null references stores (id),
  kind text collate "C" not null
    check (kind in ('gift_card', 'receipt', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  language text collate "C" not null,
  part text collate "C" not null check (part in ('subject', 'heading', 'greeting', 'intro', 'closing')),
  text text collate "C" not null check (text <> ''),
  updated_at bigint not null,
  primary key (store_id, kind, language, part)
); -- by store

-- The logos that emails contain.
create table email_logos (
  store_id bigint not null references stores (id),
  type text collate "C" not null check (type in ('image/png', 'image/jpeg')),
  width bigint not null check (width > 0),
  height bigint not null check (height > 0),
  content bytea not null check (length(content) between 1 and 100000),
  updated_at bigint not null,
  primary key (store_id)
); -- by store
