-- The VAT in the sums of closed days that is due at the sale, and what was sold and redeemed by the month of issue. Null: an
-- earlier version stored the sum. The next start computes it again.
alter table store_days add column raised_tax bigint;
alter table store_days add column lowered_tax bigint;
alter table store_ages add column tax bigint;
alter table store_ages add column sold bigint;
alter table store_ages add column sold_tax bigint;
alter table store_ages add column redeemed bigint;
alter table store_ages add column redeemed_tax bigint;
