-- The digest of the mailbox of the buyer: addresses of one person share the limits of a day.
alter table online_sales add column mailbox blob;

-- Those from which texts and addresses were erased are deleted as well.
drop index online_sales_unpaid;
create index online_sales_unpaid on online_sales (created_at) where paid_at is null;

-- Failed attempts to sign in with one address on one day are one entry of the audit log. Null: from before.
alter table unknown_addresses add column day text check (length(day) = 10);
alter table unknown_addresses add column attempts integer not null default 1 check (attempts > 0);
alter table unknown_addresses add column last_at integer;
create unique index unknown_addresses_by_day on unknown_addresses (store_id, day, digest) where day is not null;
