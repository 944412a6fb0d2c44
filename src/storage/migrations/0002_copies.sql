-- That this database is, or was once, the target of "largesse copy". Until the copy is complete nothing else may use
-- it. One row at most.
create table copies (
  id bigint primary key check (id = 1),
  -- Stands for the database that is copied: hex.
  source text not null,
  -- Where that was, without a password.
  source_shown text not null,
  -- Which run of the command is at it: the one that came last.
  run text not null,
  state text not null check (state in ('copying', 'complete', 'failed')),
  started_at bigint not null,
  ended_at bigint,
  check ((state = 'copying') = (ended_at is null))
);
