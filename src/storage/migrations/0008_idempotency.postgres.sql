-- The key of a record is one digest of 128 bits, which includes the caller. A second digest from the same computation
-- is not stored: it is the salt of the request's fingerprint. A response without a secret is stored in clear.
--
-- Rows from before migration 5 have the bytes of the idempotency key itself, until they are erased after 24 hours. The
-- missing column keeps processes of a version before this one from executing a request again whose record they cannot
-- find.
alter table idempotency_records drop constraint idempotency_records_pkey;
-- Its name depends on the column's name when the table was created.
alter table idempotency_records drop constraint if exists idempotency_records_key_check,
  drop constraint if exists idempotency_records_key_digest_check;
update idempotency_records set key_digest = case
  -- A digest. A key of 32 bytes has only visible characters.
  when length(key_digest) = 32 and encode(key_digest, 'hex') !~ '^(2[1-9a-f]|[3-6][0-9a-f]|7[0-9a-e])+$'
  then substr(key_digest, 1, 16)
  else convert_to('before migration 5: ' || api_client_id || ' ', 'UTF8') || key_digest
end;
alter table idempotency_records drop column api_client_id,
  add constraint idempotency_records_key_digest_check check (length(key_digest) between 1 and 512),
  add primary key (store_id, key_digest);
create index idempotency_records_in_clear on idempotency_records (store_id, key_digest)
  where length(key_digest) <> 16;
