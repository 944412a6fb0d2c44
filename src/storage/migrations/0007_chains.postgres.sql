-- Entries of the ledger in format 2: their hash covers a commitment to reference and note, which can be erased, a salt
-- for each chain, and the expiry with which a card was issued. The end of a card's chain is in the card's row, and
-- each transfer names the one before it, so that no index by card is needed.

create table chain_entries (
  store_id bigint not null,
  id bigint not null,
  card_id bigint not null,
  sequence bigint not null,
  previous_id bigint,
  salt bytea,
  issued_expires_on text collate "C",
  text_salt bytea,
  text_digest bytea,
  hash bytea not null
);
create table chain_ends (
  store_id bigint not null,
  card_id bigint not null,
  transfer_id bigint not null,
  sequence bigint not null,
  hash bytea not null
);
-- Cards that had another expiry when they were issued.
create table issued_terms (
  store_id bigint not null,
  card_id bigint not null,
  expires_on text collate "C",
  primary key (store_id, card_id)
);
insert into issued_terms (store_id, card_id, expires_on)
select e.store_id, g.id, e.data::json #>> '{gift_card,expires_on}'
from events e join gift_cards g on g.store_id = e.store_id and g.id = e.subject_id
where e.type = 'gift_card.created' and (e.data::json #>> '{gift_card,expires_on}') is distinct from g.expires_on
on conflict do nothing;

-- run rewrite-chains

analyze chain_entries;
analyze chain_ends;

alter table gift_cards add column last_transfer_id bigint, add column chain_length bigint, add column chain_hash bytea;
update gift_cards g set last_transfer_id = c.transfer_id, chain_length = c.sequence, chain_hash = c.hash
from chain_ends c where c.store_id = g.store_id and c.card_id = g.id;
alter table gift_cards alter column last_transfer_id set not null, alter column chain_length set not null,
  alter column chain_hash set not null;

create function is_sound_card(
  id bigint, version bigint, currency text, initial_value bigint, balance bigint, held bigint, last_characters text,
  expires_on text, chain_length bigint, chain_hash bytea
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and version >= 1
    and length(currency) = 3 and length(last_characters) = 4 and length(expires_on) = 10
    and initial_value > 0 and balance >= 0 and held >= 0 and held <= balance
    and chain_length >= 1 and length(chain_hash) = 32;
end $$;
alter table gift_cards drop constraint if exists gift_cards_check, add constraint gift_cards_check check (
  is_sound_card(id, version, currency, initial_value, balance, held, last_characters, expires_on, chain_length,
    chain_hash)
);
drop function is_sound_card(bigint, bigint, text, bigint, bigint, bigint, text, text);

drop trigger transfers_are_append_only on transfers;
alter table transfers drop constraint if exists transfers_check, drop constraint transfers_pkey;
alter table transfers add column previous_id bigint, add column salt bytea,
  add column issued_expires_on text collate "C", add column text_salt bytea, add column text_digest bytea;
update transfers t set previous_id = e.previous_id, salt = e.salt, issued_expires_on = e.issued_expires_on,
  text_salt = e.text_salt, text_digest = e.text_digest, hash = e.hash
from chain_entries e where e.store_id = t.store_id and e.id = t.id;
alter table transfers drop constraint transfers_store_id_id_key, add primary key (store_id, id);

create function is_sound_transfer(
  id bigint, sequence bigint, previous_id bigint, kind text, amount bigint, currency text, debit_account text,
  credit_account text, balance_after bigint, reference text, note text, hold_id bigint, reverses bigint, salt bytea,
  issued_expires_on text, text_salt bytea, text_digest bytea, hash bytea
) returns boolean immutable language plpgsql as $$
begin
  return id > 0 and sequence >= 1 and amount > 0 and balance_after >= 0
    and length(currency) = 3 and length(hash) = 32
    and kind in ('issue', 'adjustment', 'debit', 'credit', 'capture', 'reversal')
    and debit_account in ('card', 'sales', 'promotions', 'redemptions', 'adjustments', 'breakage')
    and credit_account in ('card', 'sales', 'promotions', 'redemptions', 'adjustments', 'breakage')
    -- Each transfer moves money between the card and one system account.
    and (debit_account = 'card') <> (credit_account = 'card')
    and (kind = 'reversal') = (reverses is not null)
    and (kind = 'capture') = (hold_id is not null)
    and (sequence = 1) = (previous_id is null)
    and (sequence = 1) = (salt is not null)
    and (sequence = 1 or issued_expires_on is null)
    and (text_salt is not null or (reference is null and note is null))
    and (text_salt is null or text_digest is not null)
    and (salt is null or length(salt) = 16)
    and (text_salt is null or length(text_salt) = 16)
    and (text_digest is null or length(text_digest) = 32)
    and (issued_expires_on is null or length(issued_expires_on) = 10);
end $$;
alter table transfers add constraint transfers_check check (
  is_sound_transfer(id, sequence, previous_id, kind, amount, currency, debit_account, credit_account, balance_after,
    reference, note, hold_id, reverses, salt, issued_expires_on, text_salt, text_digest, hash)
);
drop function is_sound_transfer(
  bigint, bigint, text, bigint, text, text, text, bigint, bigint, bigint, bytea
);

drop table chain_entries;
drop table chain_ends;
drop table issued_terms;

-- Every 32nd transfer of a card, so that a page in the middle of a long chain is found in few steps. Most cards have none.
create index transfers_by_place on transfers (store_id, card_id, sequence) where sequence % 32 = 0;
-- Only reference and note can be erased, with the salt that connects them with what the hash covers.
create trigger transfers_are_not_updated before update on transfers
for each row when (
  old.text_salt is null or new.text_salt is not null or new.reference is not null or new.note is not null
  or (old.store_id, old.id, old.card_id, old.sequence, old.previous_id, old.kind, old.amount, old.currency,
    old.debit_account, old.credit_account, old.balance_after, old.actor, old.order_id, old.hold_id, old.reverses,
    old.created_at, old.salt, old.issued_expires_on, old.text_digest, old.hash)
  is distinct from (new.store_id, new.id, new.card_id, new.sequence, new.previous_id, new.kind, new.amount,
    new.currency, new.debit_account, new.credit_account, new.balance_after, new.actor, new.order_id, new.hold_id,
    new.reverses, new.created_at, new.salt, new.issued_expires_on, new.text_digest, new.hash)
) execute function refuse('transfers are append-only');
create trigger transfers_are_not_deleted before delete on transfers
for each row execute function refuse('transfers are append-only');
-- A transfer follows the last one of its card: chains have no forks. A copy inserts the cards as they are at the end.
create unique index transfers_first on transfers (store_id, card_id) where sequence = 1;
create function extend_chain() returns trigger language plpgsql as $$
begin
  update gift_cards set last_transfer_id = new.id, chain_length = new.sequence, chain_hash = new.hash
  where store_id = new.store_id and id = new.card_id
    and last_transfer_id = new.previous_id and chain_length = new.sequence - 1;
  if not found and not exists (select 1 from copies where state = 'copying') then
    raise exception 'a transfer must follow the last transfer of its card';
  end if;
  return null;
end $$;
create trigger transfers_extend_chains after insert on transfers
for each row when (new.sequence > 1) execute function extend_chain();
