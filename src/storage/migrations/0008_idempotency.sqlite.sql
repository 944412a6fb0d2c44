-- The key of a record is one digest of 128 bits, which includes the caller. A second digest from the same computation
-- is not stored: it is the salt of the request's fingerprint. A response without a secret is stored in clear.
--
-- Rows from before migration 5 have the bytes of the idempotency key itself, until they are erased after 24 hours. The
-- missing column keeps processes of a version before this one from executing a request again whose record they cannot
-- find.
create table new_idempotency_records (
  store_id integer not null references stores (id),
  key_digest blob not null check (length(key_digest) between 1 and 512),
  -- Salted digest of the request. Before migration 8: keyed digest.
  fingerprint blob not null check (length(fingerprint) = 32),
  created_at integer not null,
  -- The response: packed after a zero byte, or sealed if it can contain a secret.
  response blob not null,
  primary key (store_id, key_digest)
) strict;
insert into new_idempotency_records (store_id, key_digest, fingerprint, created_at, response)
select store_id,
  case
    -- A digest. A key of 32 bytes has only visible characters.
    when length(key_digest) = 32 and (instr(key_digest, x'00') > 0 or cast(key_digest as text) glob '*[^!-~]*')
    then substr(key_digest, 1, 16)
    else cast('before migration 5: ' || api_client_id || ' ' || cast(key_digest as text) as blob)
  end,
  fingerprint, created_at, response
from idempotency_records order by created_at;
drop table idempotency_records;
alter table new_idempotency_records rename to idempotency_records;
create index idempotency_records_by_age on idempotency_records (created_at);
create index idempotency_records_in_clear on idempotency_records (store_id, key_digest)
  where length(key_digest) <> 16;
