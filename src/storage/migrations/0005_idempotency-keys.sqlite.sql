-- An idempotency key may be an order number or an address, so a keyed digest of it is stored. Rows from before have
-- the bytes of the key itself, until they are erased after 24 hours. The column's new name keeps processes of a
-- version before this one from executing a request again whose record they cannot find.
--
-- The table has rowids, because a table without them moves each row that is larger than a quarter of a page, as most
-- with a response are, to a page of its own.
alter table idempotency_records rename to idempotency_records_before;
drop index idempotency_records_by_age;
create table idempotency_records (
  store_id integer not null references stores (id),
  -- 0: development mode, which has no API client.
  api_client_id integer not null,
  key_digest blob not null check (length(key_digest) between 1 and 255),
  -- Keyed digest of the request.
  fingerprint blob not null check (length(fingerprint) = 32),
  created_at integer not null,
  -- The sealed response: it may hold a card's code.
  answer blob not null,
  primary key (store_id, api_client_id, key_digest)
) strict;
insert into idempotency_records (store_id, api_client_id, key_digest, fingerprint, created_at, answer)
select store_id, api_client_id, cast(key as blob), fingerprint, created_at, answer from idempotency_records_before;
drop table idempotency_records_before;
create index idempotency_records_by_age on idempotency_records (created_at);
