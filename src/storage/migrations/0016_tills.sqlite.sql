-- The figures of a day at the tills, and the last use of each device.

-- The movements of staff only: those of API clients are not in this index, so that it costs them nothing.
create index transfers_by_staff on transfers (store_id, id) where actor >= 'staff:' and actor < 'staff;';
-- What was done on a day, by kind: the till and the reason of each movement.
create index staff_actions_by_action on staff_actions (store_id, action, id);
create index staff_sessions_by_till on staff_sessions (store_id, till_id, created_at) where till_id is not null;
