-- The people who work in a store, and how they sign in.

create table staff (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  name text collate "C" not null,
  -- As first given.
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
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, created_by) references staff (store_id, id)
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
  primary key (store_id, id),
  unique (store_id, hash),
  foreign key (store_id, staff_id) references staff (store_id, id),
  foreign key (store_id, till_id) references tills (store_id, id)
); -- by store
create index staff_sessions_by_staff on staff_sessions (store_id, staff_id);

-- The audit log: what members of staff did. Movements of money are in the ledger as well.
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
-- What was done with a card.
create index staff_actions_by_subject on staff_actions (store_id, subject_id, id);
create trigger staff_actions_are_append_only before update or delete on staff_actions
for each row execute function refuse('the audit log is append-only');
create trigger staff_actions_are_not_truncated before truncate on staff_actions
execute function refuse('the audit log is append-only');
