-- The trace that the delivery of an event or an email continues: trace id, span id and flags of a W3C trace context,
-- 25 bytes; null: its cause was not traced.
alter table events add column trace_context bytea;
alter table email_deliveries add column trace_context bytea;
