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
alter table mail_settings rename to email_settings;
alter table mail_deliveries rename to email_deliveries;

drop index mail_deliveries_due;
create index email_deliveries_due on email_deliveries (next_at) where next_at is not null;
drop index mail_deliveries_by_occasion;
create unique index email_deliveries_by_occasion on email_deliveries (store_id, card_id, occasion)
  where occasion is not null;

-- Subscribers read events in the order of their ids, so a new event has the highest id of its store. Its id can be
-- lower at first, if another process on this file or a clock that was set back generated it. Then the event is enqueued
-- for the matching webhooks.
drop trigger events_are_booked;
create trigger events_are_enqueued after insert on events
when exists (select 1 from webhooks where store_id = new.store_id)
  or new.id < (select id from events where store_id = new.store_id order by id desc limit 1)
begin
  update events set id = 1 + (select id from events where store_id = new.store_id order by id desc limit 1)
  where store_id = new.store_id and id = new.id
    and id < (select id from events where store_id = new.store_id order by id desc limit 1);
  insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, next_at)
  select w.store_id, w.id, (select id from events where store_id = new.store_id order by id desc limit 1), 'queued',
    new.created_at, new.created_at
  from webhooks w
  where w.store_id = new.store_id and w.status = 'active' and case
    when new.type = 'webhook.test' then w.id = new.subject_id
    else instr(w.patterns, ' ' || new.type || ' ') > 0 or instr(w.patterns, ' * ') > 0
      or instr(w.patterns, ' ' || substr(new.type, 1, instr(new.type, '.')) || '* ') > 0
  end;
end;
