-- When a notification arrived after which the sale was not claimed yet; null: there is none.
alter table online_sales add column hinted_at integer;
create index online_sales_due_at_provider on online_sales (store_id, provider, is_test, next_at)
  where next_at is not null;

-- Since when notifications have had wrong signatures, without a right one; null: they have not.
alter table payment_providers add column hints_rejected_since integer;
-- When that was last recorded.
alter table payment_providers add column hints_rejected_at integer;
