-- For developers: the requests to the API of the last 24 hours, and tokens that expire.

-- Requests of one process to the API of a store, in the order of their responses. A process replaces its newest block
-- until that is long enough. Nothing in it is personal or secret.
create table request_blocks (
  store_id bigint not null references stores (id),
  id bigint not null check (id > 0),
  -- The first and the last request.
  started_at bigint not null,
  ended_at bigint not null check (ended_at >= started_at),
  requests bigint not null check (requests >= 0),
  -- Requests that were not recorded, because there were too many.
  dropped bigint not null check (dropped >= 0),
  -- Bits: 1 if a response was a success, 2 if a request was rejected, 4 if the service failed.
  results bigint not null check (results between 0 and 7),
  -- JSON: what requests have in common.
  kinds text collate "C" not null,
  -- The rest of each request, in a fixed number of bytes.
  content bytea not null,
  primary key (store_id, id)
); -- by store

-- From when on the token is rejected; null: never.
alter table access_tokens add column expires_at bigint;
