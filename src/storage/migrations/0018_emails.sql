-- Lists of emails of one state and kind: ids grow with time, so the newest are the end of a stretch of this index.
create index email_deliveries_by_state on email_deliveries (store_id, state, kind, id);
