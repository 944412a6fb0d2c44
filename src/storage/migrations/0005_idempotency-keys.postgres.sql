-- An idempotency key may be an order number or an address, so a keyed digest of it is stored. Rows from before have
-- the bytes of the key itself, until they are erased after 24 hours. The column's new name keeps processes of a
-- version before this one from executing a request again whose record they cannot find.
alter table idempotency_records rename column key to key_digest;
alter table idempotency_records alter column key_digest type bytea using convert_to(key_digest, 'UTF8');
