-- Digests of the addresses without an account with which people tried to sign in. The audit log is append-only, so they
-- are outside of it and can be erased.
create table unknown_addresses (
  store_id bigint not null,
  -- The entry of the audit log.
  id bigint not null check (id > 0),
  -- Keyed, of the compared form of the address.
  digest bytea not null check (length(digest) = 32),
  primary key (store_id, id),
  foreign key (store_id, id) references staff_actions (store_id, id)
); -- by store
create index unknown_addresses_by_digest on unknown_addresses (store_id, digest);

-- Earlier versions wrote the addresses into the audit log. In this transaction the trigger accepts updates.
create or replace function refuse() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    return new;
  end if;
  raise exception '%', tg_argv[0];
end $$;

update staff_actions set details = '{"method":"password"}'
where action = 'sign-in-failed' and details like '{"method":"password","email":%';

create or replace function refuse() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if is_arriving((to_jsonb(old) ->> 'store_id')::bigint) then
      return old;
    end if;
  end if;
  raise exception '%', tg_argv[0];
end $$;

-- When the session was last used. Until now that followed from its end.
alter table staff_sessions add column last_used_at bigint not null default 0;
update staff_sessions set last_used_at = expires_at - case when till_id is null then 43200000 else 300000 end;
-- A session ends 30 days after the sign-in.
update staff_sessions set expires_at = created_at + 2592000000 where expires_at > created_at + 2592000000;
