#!/usr/bin/env bash
# Point-in-time recovery with pgBackRest, on a PostgreSQL server of its own in a scratch folder. docs/backup.md describes it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source-path=SCRIPTDIR source=postgres.sh
. "$drills/postgres.sh"

load_seconds=10 scratch=${TMPDIR:-/tmp} keep=
while [ $# -gt 0 ]; do
  case $1 in
    --help) echo 'Usage: point-in-time.sh [--seconds 10] [--scratch /tmp] [--keep]'; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --seconds | --scratch) [ $# -ge 2 ] || usage_error "$1 needs a value" ;;&
    --seconds) load_seconds=$2 ;;
    --scratch) scratch=$2 ;;
    *) usage_error "unknown option $1" ;;
  esac
  shift 2
done
need pgbackrest pgbackrest
need curl curl
need jq jq
need node nodejs
assert_programs

make_work largesse-pitr-drill "$scratch"
load_pid='' receiver_pid=''
clean_up() {
  local data
  stop_step
  for pid in $load_pid $receiver_pid; do kill "$pid" 2>/dev/null || true; done
  stop_service
  for data in "$work/pg/data" "$work/pg/copy"; do
    as_pg "$pg_bin/pg_ctl" stop --pgdata="$data" --mode=immediate >/dev/null 2>&1 || true
  done
  if [ -n "$keep" ]; then echo "Kept $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP
# The account of the servers may not enter the current folder.
cd /

pg=$work/pg port=$(free_port) copy_port=$(free_port) password=$(random_password)
config=$pg/pgbackrest.conf
backrest() { as_pg pgbackrest --config="$config" --stanza=drill "$@"; }
start_server() { as_pg "$pg_bin/pg_ctl" start --pgdata="$pg/$1" --log="$pg/$1.log" --wait --timeout=120 --options="-p $2"; }
stop_server() { as_pg "$pg_bin/pg_ctl" stop --pgdata="$pg/$1" --mode=fast --wait --timeout=120; }
query() { as_pg "$pg_bin/psql" --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 --host="$pg" --port="${2:-$port}" --username=postgres --command="$1"; }
accepts_writes() { [ "$(query 'select pg_is_in_recovery()' "$1")" = f ]; }
utc() { date --utc +%Y-%m-%dT%H:%M:%S.%3NZ; }

create_cluster() {
  as_pg "$pg_bin/initdb" --pgdata="$pg/data" --username=postgres --encoding=UTF8 --data-checksums \
    --auth-local=trust --auth-host=scram-sha-256
  as_pg tee "$config" >/dev/null <<TEXT
[global]
repo1-path=$pg/repository
repo1-retention-full=2
log-path=$pg
lock-path=$pg/lock
start-fast=y

[drill]
pg1-path=$pg/data
pg1-port=$port
pg1-socket-path=$pg
pg1-user=postgres
TEXT
  as_pg tee --append "$pg/data/postgresql.conf" >/dev/null <<TEXT
listen_addresses = '127.0.0.1'
unix_socket_directories = '$pg'
wal_level = replica
archive_mode = on
archive_command = 'pgbackrest --config=$config --stanza=drill archive-push %p'
archive_timeout = 60
TEXT
  start_server data "$port"
  query "create role largesse login password '$password'"
  query "grant pg_read_all_stats to largesse"
  query "create database largesse owner largesse encoding 'UTF8' template template0"
  backrest stanza-create
  backrest check
}
step 'cluster, stanza-create, check' create_cluster

# In development mode, emails are files of a folder, and a webhook can have a URL of this machine.
environment=(
  "PATH=$PATH" "HOME=$work/service" "DATABASE_URL=postgres://largesse:$password@127.0.0.1:$port/largesse"
  "KEYS_FILE=$work/service/largesse.keys.json" RATE_LIMIT=off HOST=127.0.0.1 PORT=0
)
run() { env -i "${environment[@]}" "${largesse[@]}" "$@"; }
timeline() { jq --raw-output '[.clusters[].timeline] | join(", ")' "$work/service/largesse.timelines.json"; }

# load RECORD: starts the load client.
load() {
  node "$drills/load.ts" --url "$service_url" --record "$work/service/$1" --emails >"$work/service/$1.log" 2>&1 &
  load_pid=$!
}
stop_load() {
  kill -TERM "$load_pid"
  wait "$load_pid" || { cat "$work/service/$1.log" >&2; fail 'the load client failed'; }
  load_pid=
  echo "  $(cat "$work/service/$1.log")"
}
# check RECORD OPTION…: compares the record with the service.
check() {
  local file=$work/service/$1 code=0
  shift
  node "$drills/check-load.ts" --url "$service_url" --record "$file" "$@" >"$file.check" || code=$?
  sed 's/^/  /' "$file.check"
  [ "$code" -eq 0 ] || fail 'the database does not match what was acknowledged'
}

start_service "$work/service/first.log"
node "$drills/receive.ts" --output "$work/service/received" >"$work/service/receiver" 2>&1 &
receiver_pid=$!
within 30 has_line '^http' "$work/service/receiver" || fail 'the receiver did not start'
step 'service, and a webhook' run webhook create --url "$(cat "$work/service/receiver")" --events '*' --json

load record
sleep "$load_seconds"
step 'full backup under load' backrest --type=full backup
sleep "$load_seconds"
time=$(utc)
note 'time to recover' "$time"
sleep "$load_seconds"
stop_load record
check record
stop_service
step 'server stopped, the last log archived' stop_server data
note 'timeline that the service has recorded' "$(timeline)"

echo '-- recovery of the server'
restored_at=$(utc)
restore_data() {
  backrest --delta --type=time "--target=$1" --target-action=promote restore
  start_server data "$port"
  within 120 accepts_writes "$port"
}
# The form that pgBackRest requires: 2026-11-21 06:57:02.503+00.
target=${time/T/ } target=${target/Z/+00}
step 'restored to the time, and recovered' restore_data "$target"
grep -Eh 'starting point-in-time|recovery stopping|last completed|selected new timeline|recovery complete' "$pg/data.log" |
  sed -E 's/^.*(LOG: +)/  /'
step 'largesse verify' run verify --json
start_service "$work/service/second.log"
note 'service started with its timeline file' "timeline $(timeline)"
check record --until "$time"

load record-after
sleep "$load_seconds"
stop_load record-after
check record-after

# An event whose delivery failed is retried after some seconds.
is_delivered() {
  node "$drills/check-deliveries.ts" --url "$service_url" --received "$work/service/received" \
    --emails "$work/service/mails" --time "$time" --restored-at "$restored_at" >"$work/service/deliveries"
}
within 60 is_delivered || { cat "$work/service/deliveries" >&2; fail 'events are not delivered'; }
sed 's/^/  /' "$work/service/deliveries"
stop_service
grep -Eh '"level":"(error|fatal)"' "$work/service/first.log" "$work/service/second.log" &&
  fail 'the service has logged errors'

echo '-- the same backup into another folder'
restore_copy() {
  as_pg mkdir -m 0700 "$pg/copy"
  # The copy archives nothing, so that the repository gets no timeline of a drill.
  backrest --pg1-path="$pg/copy" --archive-mode=off --type=time "--target=$target" --target-action=promote restore
  start_server copy "$copy_port"
  within 120 accepts_writes "$copy_port"
}
step 'copy restored to the time' restore_copy
mkdir "$work/service/copy"
cp "$work/service/largesse.keys.json" "$work/service/copy"
environment+=(
  "DATABASE_URL=postgres://largesse:$password@127.0.0.1:$copy_port/largesse"
  "KEYS_FILE=$work/service/copy/largesse.keys.json"
)
verified=$work/service/verified.json
verify() { run verify --json >"$verified"; }
step 'largesse verify' verify
jq --raw-output '.stores[] | "  \(.store): \(.cards) cards, \(.transfers) transfers, outstanding \(.outstanding) \(.currency)"' "$verified"
echo PASSED
