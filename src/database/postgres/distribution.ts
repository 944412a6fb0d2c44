/**
 * Databases that are distributed by store over the servers of a Citus cluster (docs/decisions/postgresql.md). Every
 * table has an entry: a test compares them with the catalog.
 */

/**
 * `by store`: divided by `store_id`, so that the rows of one store are on one server.
 * `everywhere`: copied to every server; triggers and foreign keys of divided tables refer to it, or every server reads it.
 * `own`: each server has a table of its own, about itself.
 */
export type TableKind = 'by store' | 'everywhere' | 'own';

export const tableKinds: Readonly<Record<string, TableKind>> = {
  access_tokens: 'by store',
  accountant_emails: 'by store',
  accountants: 'by store',
  backup_settings: 'everywhere',
  backups: 'everywhere',
  batch_parts: 'by store',
  batches: 'by store',
  card_changes: 'by store',
  checkpoint_keys: 'by store',
  checkpoints: 'by store',
  column_headings: 'by store',
  copies: 'everywhere',
  customer_erasure_cards: 'by store',
  customer_erasures: 'by store',
  customers: 'by store',
  email_deliveries: 'by store',
  email_logos: 'by store',
  email_servers: 'by store',
  email_settings: 'by store',
  email_texts: 'by store',
  erased_events: 'by store',
  events: 'by store',
  external_ids: 'by store',
  gift_card_codes: 'by store',
  gift_cards: 'by store',
  heartbeat: 'own',
  hold_extensions: 'by store',
  holds: 'by store',
  idempotency_records: 'by store',
  key_checks: 'everywhere',
  late_entries: 'by store',
  locations: 'by store',
  log_backfills: 'by store',
  log_cursors: 'by store',
  log_pages: 'by store',
  log_subtrees: 'by store',
  log_turn: 'own',
  logs: 'by store',
  lookup_throttle: 'by store',
  online_sale_refunds: 'by store',
  online_sales: 'by store',
  owner_notices: 'by store',
  passkeys: 'by store',
  payment_movements: 'by store',
  payment_providers: 'by store',
  request_blocks: 'by store',
  sale_pages: 'by store',
  sandbox: 'everywhere',
  sandbox_payments: 'by store',
  schema_migrations: 'everywhere',
  setup_steps: 'by store',
  staff: 'by store',
  staff_actions: 'by store',
  staff_links: 'by store',
  staff_sessions: 'by store',
  stock_codes: 'by store',
  stock_parts: 'by store',
  stocks: 'by store',
  store_ages: 'by store',
  store_changes: 'by store',
  store_closings: 'by store',
  store_copies: 'by store',
  store_days: 'by store',
  store_work: 'by store',
  stores: 'everywhere',
  tills: 'by store',
  transfers: 'by store',
  unknown_addresses: 'by store',
  verifications: 'by store',
  version_check: 'everywhere',
  wallet_cards: 'by store',
  wallet_devices: 'by store',
  wallets: 'by store',
  webhook_attempts: 'by store',
  webhook_deliveries: 'by store',
  webhooks: 'by store',
};

/** The number of distributed tables of this service. The catalog exists only with the extension. */
export const selectDistribution = `
  select count(*) as tables from pg_catalog.pg_dist_partition where logicalrelid = to_regclass('gift_cards')`;

/**
 * In a distributed database the number of a transaction has three parts, the highest first: how often the store has
 * changed its server (11 bits), the transaction id on the server (42 bits), and the server's group in the cluster (10
 * bits). Numbers of a store therefore rise when its shard moves to a server whose transaction ids are lower. Rows from
 * before the distribution have the last group, which no server has.
 */
const groupBits = 10;
const groupMax = 2 ** groupBits - 1;
const idMax = 2n ** 42n - 1n;
const moveBits = groupBits + 42;
const movesMax = 2 ** 11 - 1;

const oldest = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint';

/** A condition: the transaction with this number has ended. A move waits for the transactions of the earlier server. */
export function hasEndedOf(number: string): string {
  return `(${number} & ${groupMax} <> own_group() or (${number} >> ${groupBits}) & ${idMax} < ${oldest})`;
}

/** @param newest the highest number of a store. @returns a number: the store's transactions up to it have ended. */
export function endedPlace(newest: string): string {
  return `(coalesce(${newest}, 0) >> ${moveBits} << ${moveBits}) | ((${oldest} - 1) << ${groupBits}) | ${groupMax}`;
}

/**
 * Numbers transactions by server. It changes the rows of earlier transactions once, or again after a dump was restored
 * into tables that are not distributed.
 */
export const numberByServer = `
create or replace function own_group() returns bigint language sql stable as
  'select groupid::bigint from pg_catalog.pg_dist_local_group';

create or replace function set_transaction_id() returns trigger language plpgsql as $body$
declare
  own constant bigint := own_group();
  id constant bigint := pg_current_xact_id()::text::bigint;
  newest bigint;
  moves bigint := 0;
begin
  -- The shard itself, because a query on the table could leave the server.
  execute format('
    select transaction_id from %s where store_id = $1 order by transaction_id desc limit 1', tg_relid::regclass)
    into newest using new.store_id;
  if newest is not null then
    moves := newest >> ${moveBits};
    if newest & ${groupMax} <> own
      -- This transaction can have written a row before.
      or (newest >> ${groupBits}) & ${idMax}
        >= greatest(pg_snapshot_xmax(pg_current_snapshot())::text::bigint, id + 1)
    then
      moves := moves + 1;
    end if;
  end if;
  if own >= ${groupMax} or moves > ${movesMax} then
    raise exception 'the number of a transaction has no room for server % and move %', own, moves;
  end if;
  new.transaction_id := (moves << ${moveBits}) | (id << ${groupBits}) | own;
  return new;
end $body$;

do $body$
declare
  renumbered text := 'transaction_id | ${groupMax}';
  shifted text := 'place | ${groupMax}';
begin
  if not exists (select from pg_trigger where tgrelid = 'events'::regclass and tgname = 'events_are_ordered') then
    renumbered := '(transaction_id << ${groupBits}) | ${groupMax}';
    shifted := '(place << ${groupBits}) | ${groupMax}';
    alter table events alter column transaction_id set default 0;
    create trigger events_are_ordered before insert on events
    for each row execute function set_transaction_id();
  end if;
  alter table transfers disable trigger transfers_are_not_updated;
  alter table card_changes disable trigger card_changes_are_not_updated;
  execute 'update events set transaction_id = ' || renumbered;
  execute 'update transfers set transaction_id = ' || renumbered;
  execute 'update card_changes set transaction_id = ' || renumbered;
  execute 'update log_cursors set place = ' || shifted;
  execute 'update log_backfills set until_place = ' || replace(shifted, 'place', 'until_place');
  alter table transfers enable trigger transfers_are_not_updated;
  alter table card_changes enable trigger card_changes_are_not_updated;
end $body$`;
