-- The width of the paper of a till's printer (mm).
alter table tills add column paper_mm integer not null default 80 check (paper_mm in (58, 80));
