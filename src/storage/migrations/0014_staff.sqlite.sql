-- The people who work in a store, and how they sign in.

create table staff (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  name text not null,
  -- As first given.
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
  primary key (store_id, id),
  unique (store_id, email_key)
) strict, without rowid;

create table passkeys (
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

-- Links that are used once: to join, or to set a new password.
create table staff_links (
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

-- Devices on which cashiers sign in with a PIN.
create table tills (
  store_id integer not null references stores (id),
  id integer not null check (id > 0),
  name text not null,
  -- SHA-256 of the token in the device's cookie.
  hash blob not null check (length(hash) = 32),
  created_by integer not null,
  created_at integer not null,
  revoked_at integer,
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, created_by) references staff (store_id, id)
) strict, without rowid;

create table staff_sessions (
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
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id),
  foreign key (store_id, till_id) references tills (store_id, id)
) strict, without rowid;
create index staff_sessions_by_staff on staff_sessions (store_id, staff_id);

-- The audit log: what members of staff did. Movements of money are in the ledger as well.
create table staff_actions (
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
-- What was done with a card.
create index staff_actions_by_subject on staff_actions (store_id, subject_id, id);
create trigger staff_actions_are_not_updated before update on staff_actions
begin select raise(abort, 'the audit log is append-only'); end;
create trigger staff_actions_are_not_deleted before delete on staff_actions
begin select raise(abort, 'the audit log is append-only'); end;
