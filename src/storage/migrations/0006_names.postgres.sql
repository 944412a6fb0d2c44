-- Names in plain English. Only names change: the rows stay as they are.
alter table gift_cards rename column expiry_told to expired_event_day;
alter table gift_cards rename column expiring_told to expiring_soon_event_day;
alter table webhook_deliveries rename column answer_status to response_status;
alter table webhook_deliveries rename column answer_body to response_body;
alter table webhook_attempts rename column answer_status to response_status;
alter table webhook_attempts rename column answer_body to response_body;
alter table idempotency_records rename column answer to response;
alter table mail_settings rename column tell_failures to notify_failures;
alter table mail_deliveries rename column answer to response;
alter function book_deliveries rename to enqueue_deliveries;
alter trigger events_are_booked on events rename to events_are_enqueued;

-- The tables of emails, with their partitions, indexes and constraints.
do $$
declare
  item record;
begin
  for item in
    select conrelid::regclass as owner, conname as name from pg_constraint
    where connamespace = current_schema()::regnamespace and conname ~ '^mail_(settings|deliveries)'
      and contype not in ('p', 'u') and (contype = 'f' or coninhcount = 0)
  loop
    execute format('alter table %s rename constraint %I to %I', item.owner, item.name, 'e' || item.name);
  end loop;
  for item in
    select oid::regclass as owner, relname as name, relkind in ('i', 'I') as is_index from pg_class
    where relnamespace = current_schema()::regnamespace and relname ~ '^mail_(settings|deliveries)'
      and relkind in ('r', 'p', 'i', 'I')
  loop
    execute format('alter %s %s rename to %I', case when item.is_index then 'index' else 'table' end, item.owner,
      'e' || item.name);
  end loop;
end $$;
