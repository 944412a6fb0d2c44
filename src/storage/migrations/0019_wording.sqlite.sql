-- The wording of emails: the texts that a store has in place of the standard ones.
create table email_texts (
  store_id integer not null references stores (id),
  kind text not null
    check (kind in ('gift_card', 'receipt', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  language text not null,
  part text not null check (part in ('subject', 'heading', 'greeting', 'intro', 'closing')),
  text text not null check (text <> ''),
  updated_at integer not null,
  primary key (store_id, kind, language, part)
) strict, without rowid;

-- The logos that emails contain.
create table email_logos (
  store_id integer not null references stores (id),
  type text not null check (type in ('image/png', 'image/jpeg')),
  width integer not null check (width > 0),
  height integer not null check (height > 0),
  content blob not null check (length(content) between 1 and 100000),
  updated_at integer not null,
  primary key (store_id)
) strict;
