# shellcheck shell=bash
# Functions of the drills with PostgreSQL servers of their own: sourced after common.sh.

# PostgreSQL does not run as root: the servers run as this account.
pg_account=$(id -un)
[ "$(id -u)" -ne 0 ] || pg_account=postgres
pg_bin=${PG_BIN:-$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)}
[ -x "${pg_bin:-/nowhere}/initdb" ] || missing_packages+=(postgresql)
[ "$(id -u)" -ne 0 ] || need runuser util-linux

# as_pg COMMAND…: runs a command as the account of the servers.
as_pg() {
  if [ "$(id -un)" = "$pg_account" ]; then "$@"; else runuser -u "$pg_account" -- "$@"; fi
}

random_password() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# make_work NAME SCRATCH: makes the scratch folder: `pg` for the account of the servers, the rest for this account.
work=
make_work() {
  work=$(mktemp -d "$2/$1.XXXXXX")
  chmod 0711 "$work"
  mkdir -m 0700 "$work/pg" "$work/service"
  [ "$(id -un)" = "$pg_account" ] || chown "$pg_account" "$work/pg"
  log=$work/drill.log
  touch "$log"
}
