-- Failed lookups are limited per caller, with one row per caller.
drop table misses;
create table lookup_throttle (
  store_id integer not null references stores (id),
  -- Whose failures are counted: 'token:7', 'development', 'customer:1001' (a storefront's id).
  caller text not null check (length(caller) between 1 and 64),
  -- The instant at which the caller's whole budget is available again. Each failure moves it on by one share.
  refilled_at integer not null,
  primary key (store_id, caller)
) strict, without rowid;
create index lookup_throttle_by_refill on lookup_throttle (refilled_at);

-- Null: the default of the service.
alter table stores add column lookup_failures_per_hour integer
  check (lookup_failures_per_hour between 1 and 100000);

-- The id that the storefront has given to the customer.
alter table customers add column storefront_customer_id integer
  check (storefront_customer_id between 1 and 9007199254740991);
create unique index customers_by_storefront_id on customers (store_id, storefront_customer_id)
  where storefront_customer_id is not null;
