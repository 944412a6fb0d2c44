-- kept: written to a folder of this machine and not sent, because the service has no mail server. Such emails were
-- recorded as sent.
create table new_email_deliveries (
  store_id integer not null,
  card_id integer not null,
  id integer not null check (id > 0),
  kind text not null
    check (kind in ('gift_card', 'receipt', 'expiry_reminder', 'balance_reminder', 'delivery_failed')),
  address text not null,
  state text not null
    check (state in ('scheduled', 'queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled')),
  -- The subject of a reminder, so that it is enqueued once.
  occasion text,
  -- The card's code, sealed, until the email is sent.
  code blob,
  send_at integer not null,
  -- When it is due; while it is claimed, when the claim expires; null after it has ended.
  next_at integer,
  -- The claim of a process; of a cancelled email, the last one.
  lease integer,
  -- The number of attempts, and when the first and the last one started.
  attempts integer not null default 0 check (attempts >= 0),
  first_at integer,
  last_at integer,
  -- The last response of the mail server.
  response text,
  created_at integer not null,
  ended_at integer,
  trace_context blob,
  primary key (store_id, card_id, id),
  foreign key (store_id, card_id) references gift_cards (store_id, id),
  check ((state in ('scheduled', 'queued', 'deferred')) = (next_at is not null)),
  check ((next_at is null) = (ended_at is not null)),
  check ((code is not null) = (kind = 'gift_card' and next_at is not null)),
  check (lease is null or next_at is not null or state = 'cancelled')
) strict, without rowid;
insert into new_email_deliveries (store_id, card_id, id, kind, address, state, occasion, code, send_at, next_at, lease,
  attempts, first_at, last_at, response, created_at, ended_at, trace_context)
select store_id, card_id, id, kind, address,
  case when state = 'sent' and response like 'kept as %' then 'kept' else state end,
  occasion, code, send_at, next_at, lease, attempts, first_at, last_at, response, created_at, ended_at, trace_context
from email_deliveries order by store_id, card_id, id;
drop table email_deliveries;
alter table new_email_deliveries rename to email_deliveries;
create index email_deliveries_by_id on email_deliveries (store_id, id, state);
create unique index email_deliveries_by_occasion on email_deliveries (store_id, card_id, occasion)
  where occasion is not null;
create index email_deliveries_by_state on email_deliveries (store_id, state, kind, id);
create index email_deliveries_due on email_deliveries (next_at) where next_at is not null;
create index email_deliveries_failed on email_deliveries (store_id, state, card_id, id)
  where kind = 'gift_card' and (state = 'bounced' or state = 'dead');
create index email_deliveries_scheduled on email_deliveries (store_id, card_id, id)
  where kind = 'gift_card' and state = 'scheduled';
