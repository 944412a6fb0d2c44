-- Stores that move to another installation. Requests of a store that is not open are rejected, and background jobs omit it.

-- open; closing: requests in progress can still change it; closed: nothing changes it; moved: another installation has
-- it; arriving: its rows are being copied into this database.
alter table stores add column status text not null default 'open'
  check (status in ('open', 'closing', 'closed', 'moved', 'arriving'));
-- When it was last closed.
alter table stores add column closed_at integer;
-- Where it was moved to, without a password.
alter table stores add column moved_to text;
create index stores_not_open on stores (id) where status <> 'open';

-- Stores that were copied into this database.
create table store_copies (
  store_id integer primary key references stores (id),
  -- Stands for the database that it comes from: hex.
  source text not null,
  -- Where that was, without a password.
  source_shown text not null,
  -- When the store was closed there. If it was opened again, the copy starts over.
  closed_at integer not null,
  -- The last run of the command.
  run text not null,
  state text not null check (state in ('copying', 'failed', 'complete')),
  started_at integer not null,
  ended_at integer,
  check ((state = 'copying') = (ended_at is null))
) strict;

-- The triggers that check new rows do not apply to the rows of a store that arrives, and its rows can be deleted.
drop trigger transfers_begin_chains;
create trigger transfers_begin_chains after insert on transfers
when new.sequence = 1 and not exists (
  select 1 from gift_cards
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.id and chain_length = 1 and chain_hash = new.hash
)
begin
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

drop trigger transfers_extend_chains;
create trigger transfers_extend_chains after insert on transfers when new.sequence > 1
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  select raise(abort, 'a transfer must follow the last transfer of its card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

drop trigger card_changes_extend_chains;
create trigger card_changes_extend_chains after insert on card_changes
begin
  update gift_cards set last_change_id = new.id, change_count = new.sequence, change_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_change_id is new.previous_id and change_count = new.sequence - 1;
  select raise(abort, 'a change must follow the last change of its gift card')
  where changes() = 0 and not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

drop trigger transfers_are_late;
create trigger transfers_are_late after insert on transfers
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

drop trigger card_changes_are_late;
create trigger card_changes_are_late after insert on card_changes
when new.id / 4096 + 1735689600000 not between new.created_at - 300000 and new.created_at + 300000
  or new.created_at < (
    select until_at from store_closings where store_id = new.store_id order by day desc limit 1
  )
begin
  insert into late_entries (store_id, id, card_id, created_at)
  select new.store_id, new.id, new.card_id, new.created_at
  where not exists (select 1 from copies where state = 'copying')
    and not exists (select 1 from stores where id = new.store_id and status = 'arriving');
end;

drop trigger card_changes_are_not_deleted;
create trigger card_changes_are_not_deleted before delete on card_changes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'changes of gift cards are append-only'); end;

drop trigger checkpoint_keys_are_not_deleted;
create trigger checkpoint_keys_are_not_deleted before delete on checkpoint_keys
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'public keys are kept'); end;

drop trigger checkpoints_are_not_deleted;
create trigger checkpoints_are_not_deleted before delete on checkpoints
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'checkpoints are never deleted'); end;

drop trigger codes_are_not_deleted;
create trigger codes_are_not_deleted before delete on gift_card_codes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a used code stays used'); end;

drop trigger cards_are_not_deleted;
create trigger cards_are_not_deleted before delete on gift_cards
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'gift cards are never deleted'); end;

drop trigger holds_are_not_deleted;
create trigger holds_are_not_deleted before delete on holds
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'holds are never deleted'); end;

drop trigger late_entries_are_not_deleted;
create trigger late_entries_are_not_deleted before delete on late_entries
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a closed day does not change'); end;

drop trigger log_pages_are_not_deleted;
create trigger log_pages_are_not_deleted before delete on log_pages
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

drop trigger log_subtrees_are_not_deleted;
create trigger log_subtrees_are_not_deleted before delete on log_subtrees
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

drop trigger logs_are_not_deleted;
create trigger logs_are_not_deleted before delete on logs
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'a log only grows'); end;

drop trigger staff_actions_are_not_deleted;
create trigger staff_actions_are_not_deleted before delete on staff_actions
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'the audit log is append-only'); end;

drop trigger store_changes_are_not_deleted;
create trigger store_changes_are_not_deleted before delete on store_changes
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'changes of stores are append-only'); end;

drop trigger transfers_are_not_deleted;
create trigger transfers_are_not_deleted before delete on transfers
when not exists (select 1 from stores where id = old.store_id and status = 'arriving')
begin select raise(abort, 'transfers are append-only'); end;
