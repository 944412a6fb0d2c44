-- kept: written to a folder of this machine and not sent, because the service has no mail server. Such emails were
-- recorded as sent.
alter table email_deliveries drop constraint if exists email_deliveries_state_check,
  add constraint email_deliveries_state_check
  check (state in ('scheduled', 'queued', 'deferred', 'sent', 'kept', 'bounced', 'dead', 'cancelled'));
update email_deliveries set state = 'kept' where state = 'sent' and response like 'kept as %';
