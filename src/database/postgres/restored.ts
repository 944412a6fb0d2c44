/**
 * SQL for events and entries of the ledger that were restored from a dump into another cluster.
 *
 * Transaction numbers restart in the new cluster. Events with a number that it has not reached would be listed
 * late and among newer events. A committed event cannot have such a number, so the number reveals a restored
 * database. All its events are then listed first, ordered by id. Entries get the number 0 as well, and the cursors of
 * the logs begin again: they append what the logs do not contain.
 */
export const restoredFirst = `
do $$ begin
  if to_regclass('events') is null then return; end if;
  if exists (
    select from stores s where pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      <= (select max(transaction_id) from events where store_id = s.id)
  ) then
    -- All of them, because those of a closed store reject changes.
    alter table events disable trigger user;
    update events set transaction_id = 0 where transaction_id <> 0;
    alter table events enable trigger user;
  end if;
  if to_regclass('log_cursors') is null then return; end if;
  if exists (
    select from stores s where pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      <= greatest((select max(transaction_id) from transfers where store_id = s.id),
        (select max(transaction_id) from card_changes where store_id = s.id))
  ) then
    alter table transfers disable trigger user;
    update transfers set transaction_id = 0 where transaction_id <> 0;
    alter table transfers enable trigger user;
    alter table card_changes disable trigger user;
    update card_changes set transaction_id = 0 where transaction_id <> 0;
    alter table card_changes enable trigger user;
    delete from log_cursors;
    delete from log_backfills;
  end if;
end $$`;
