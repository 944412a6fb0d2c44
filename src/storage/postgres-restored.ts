/**
 * Events that were restored from a dump into another cluster.
 *
 * Transaction numbers start over there: an event whose number the new cluster has not come to yet would not be told
 * until it has, and then among later ones. Nothing that this cluster has committed has such a number, so that it
 * tells a restored database. All its events are then told first, in the order of their ids.
 */
export const tellRestoredFirst = `
do $$ begin
  if to_regclass('events') is null then return; end if;
  if exists (
    select from stores s where pg_snapshot_xmax(pg_current_snapshot())::text::bigint
      <= (select max(transaction_id) from events where store_id = s.id)
  ) then
    update events set transaction_id = 0 where transaction_id <> 0;
  end if;
end $$`;
