-- Whether tills ask before they sell a code that is in no stock; `stock_required`: they reject it.
alter table stores add column stock_asked integer not null default 0 check (stock_asked in (0, 1));
update stores set stock_asked = 1 where id in (select store_id from stocks);
