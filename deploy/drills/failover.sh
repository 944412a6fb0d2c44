#!/usr/bin/env bash
# Failovers and switchovers of a Patroni cluster of three PostgreSQL servers in a scratch folder, while clients write
# through the service. docs/backup.md describes it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source-path=SCRIPTDIR source=postgres.sh
. "$drills/postgres.sh"

rounds=1 load_seconds=10 scratch=${TMPDIR:-/tmp} keep=
while [ $# -gt 0 ]; do
  case $1 in
    --help) echo 'Usage: failover.sh [--rounds 1] [--seconds 10] [--scratch /tmp] [--keep]'; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --rounds | --seconds | --scratch) [ $# -ge 2 ] || usage_error "$1 needs a value" ;;&
    --rounds) rounds=$2 ;;
    --seconds) load_seconds=$2 ;;
    --scratch) scratch=$2 ;;
    *) usage_error "unknown option $1" ;;
  esac
  shift 2
done
need patroni 'patroni python3-etcd'
need etcd etcd-server
need etcdctl etcd-client
need pgrep procps
need curl curl
need jq jq
need node nodejs
assert_programs

make_work largesse-failover-drill "$scratch"
declare -A patroni_pid=() sql_port=() rest_port=()
members=(one two three)
etcd_pid='' load_pid='' first_pid=''

# The processes of a member's PostgreSQL server.
server_processes() {
  local main
  main=$(as_pg head -n 1 "$pg/$1/postmaster.pid" 2>/dev/null) || return 0
  printf '%s\n' "$main"
  pgrep --parent "$main" || true
}
clean_up() {
  local member pid
  stop_step
  [ -z "$load_pid" ] || kill "$load_pid" 2>/dev/null || true
  [ -z "$first_pid" ] || kill "$first_pid" 2>/dev/null || true
  stop_service
  for member in "${members[@]}"; do
    pid=${patroni_pid[$member]:-}
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
    as_pg "$pg_bin/pg_ctl" stop --pgdata="$work/pg/$member" --mode=immediate >/dev/null 2>&1 || true
  done
  [ -z "$etcd_pid" ] || kill "$etcd_pid" 2>/dev/null || true
  if [ -n "$keep" ]; then echo "Kept $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP
# The account of the servers may not enter the current folder.
cd /

pg=$work/pg etcd_port=$(free_port) peer_port=$(free_port) password=$(random_password) internal=$(random_password)
for member in "${members[@]}"; do
  sql_port[$member]=$(free_port)
  rest_port[$member]=$(free_port)
done
query() {
  PGPASSWORD=$internal as_pg "$pg_bin/psql" --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 \
    --host=127.0.0.1 --port="${sql_port[$1]}" --username=postgres --dbname=postgres --command="$2"
}

# exec_pg COMMAND…: replaces this subshell by a command as the account of the servers, so that its id is known.
exec_pg() {
  if [ "$(id -un)" = "$pg_account" ]; then exec "$@"; fi
  exec setpriv --reuid="$pg_account" --regid="$(id -g "$pg_account")" --init-groups "$@"
}

start_etcd() {
  (exec_pg etcd --name drill --data-dir "$pg/etcd" --logger zap --log-outputs stderr \
    --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
    --listen-peer-urls "http://127.0.0.1:$peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
    --initial-cluster "drill=http://127.0.0.1:$peer_port" --heartbeat-interval 500 --election-timeout 5000) \
    >"$work/etcd.log" 2>&1 &
  etcd_pid=$!
}
configure() {
  as_pg tee "$pg/$1.yml" >/dev/null <<TEXT
scope: drill
name: $1
restapi: { listen: "127.0.0.1:${rest_port[$1]}", connect_address: "127.0.0.1:${rest_port[$1]}" }
etcd3: { host: "127.0.0.1:$etcd_port" }
bootstrap:
  dcs:
    # Twice as fast as Patroni's defaults (30, 10, 10).
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    # Only a synchronous standby is promoted.
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters: { max_connections: 100, wal_keep_size: 256MB }
  initdb: [{ encoding: UTF8 }, data-checksums]
  pg_hba:
    - local all all trust
    - host replication replicator 127.0.0.1/32 scram-sha-256
    - host all all 127.0.0.1/32 scram-sha-256
postgresql:
  listen: 127.0.0.1:${sql_port[$1]}
  connect_address: 127.0.0.1:${sql_port[$1]}
  data_dir: $pg/$1
  bin_dir: $pg_bin
  pgpass: $pg/$1.pgpass
  remove_data_directory_on_rewind_failure: true
  parameters: { unix_socket_directories: "$pg" }
  authentication:
    superuser: { username: postgres, password: "$internal" }
    replication: { username: replicator, password: "$internal" }
    rewind: { username: rewinder, password: "$internal" }
TEXT
}
start_patroni() {
  (exec_pg patroni "$pg/$1.yml") >>"$work/patroni-$1.log" 2>&1 &
  patroni_pid[$1]=$!
}

cluster() {
  local member
  for member in "${members[@]}"; do
    curl --silent --fail --max-time 5 --noproxy 127.0.0.1 "http://127.0.0.1:${rest_port[$member]}/cluster" && return 0
  done
  return 1
}
leader() { cluster | jq --raw-output '.members[] | select(.role == "leader" and .state == "running") | .name'; }
synchronous() { cluster | jq --raw-output '.members[] | select(.role == "sync_standby") | .name'; }
# Whether all members follow the leader on its timeline, one of them synchronously.
is_whole() {
  local state
  state=$(cluster) || return 1
  jq --exit-status '(.members | length == 3) and ([.members[].timeline] | unique | length == 1)
    and ([.members[] | select(.role == "leader")] | length == 1)
    and ([.members[] | select(.role == "sync_standby")] | length == 1)
    and all(.members[]; .state == "running" or .state == "streaming")' <<<"$state"
}
has_leader_other_than() { local now; now=$(leader) && [ -n "$now" ] && [ "$now" != "$1" ]; }
show() {
  cluster | jq --raw-output '.members | sort_by(.name)[] | "  \(.name): \(.role), \(.state), timeline \(.timeline // "-")"'
}

start_etcd
within 30 etcdctl --endpoints="127.0.0.1:$etcd_port" endpoint health || { tail -n 20 "$work/etcd.log" >&2; fail 'etcd did not start'; }
started=$(now_ms)
for member in "${members[@]}"; do configure "$member"; done
# The first member initializes the cluster, and the others copy it.
for member in "${members[@]}"; do start_patroni "$member"; done
within 180 is_whole || { tail -n 20 "$work"/patroni-*.log >&2; fail 'the cluster did not start'; }
note 'cluster of three, one of them synchronous' "$(seconds $(($(now_ms) - started)))"
show

create_database() {
  query "$(leader)" "create role largesse login password '$password'"
  query "$(leader)" "grant pg_read_all_stats to largesse"
  query "$(leader)" "create database largesse owner largesse encoding 'UTF8' template template0"
}
step 'role and database' create_database

hosts=127.0.0.1:${sql_port[one]},127.0.0.1:${sql_port[two]},127.0.0.1:${sql_port[three]}
environment=(
  "PATH=$PATH" "HOME=$work/service" NODE_ENV=production "DATABASE_URL=postgres://largesse:$password@$hosts/largesse"
  "KEYS_FILE=$work/service/largesse.keys.json" RATE_LIMIT=off HOST=127.0.0.1 PORT=0 PUBLIC_URL=http://localhost CONSOLE=off
)
run() { env -i "${environment[@]}" "${largesse[@]}" "$@"; }
create_shop() {
  run migrate
  run store create flowers.example --currency EUR >/dev/null
  run token create --store flowers.example --name drill --json | jq --raw-output .token >"$work/service/token"
}
step 'a store' create_shop
start_service "$work/service/first.log"
first_pid=$service_pid first_url=$service_url
start_service "$work/service/second.log"
second_pid=$service_pid second_url=$service_url

record=$work/service/record
load() {
  node "$drills/load.ts" --url "$first_url" --url "$second_url" --token-file "$work/service/token" --record "$record" \
    >"$work/service/load.log" 2>&1 &
  load_pid=$!
}
# Compares all that was acknowledged with what each process of the service returns.
check() {
  local url code
  kill -TERM "$load_pid"
  wait "$load_pid" || { cat "$work/service/load.log" >&2; fail 'the load client failed'; }
  load_pid=
  echo "  $(cat "$work/service/load.log")"
  for url in "$first_url" "$second_url"; do
    code=0
    node "$drills/check-load.ts" --url "$url" --token-file "$work/service/token" --record "$record" \
      --since "$1" >"$work/service/check" || code=$?
    [ "$code" -eq 0 ] || { cat "$work/service/check" >&2; fail 'the database does not match what was acknowledged'; }
  done
  sed 's/^/  /' "$work/service/check"
}
utc() { date --utc +%Y-%m-%dT%H:%M:%S.%3NZ; }

for ((round = 1; round <= rounds; round++)); do
  old=$(leader)
  echo "-- failover $round: kill -9 of Patroni and PostgreSQL on $old"
  since=$(utc)
  load
  sleep "$load_seconds"
  killed=$(now_ms)
  # Patroni first, because it would start the server again.
  mapfile -t processes < <(server_processes "$old")
  kill -KILL "${patroni_pid[$old]}" "${processes[@]}" 2>/dev/null || true
  wait "${patroni_pid[$old]}" 2>/dev/null || true
  within 120 has_leader_other_than "$old" || fail 'no standby was promoted'
  note "$(leader) is the leader" "$(seconds $(($(now_ms) - killed)))"
  sleep "$load_seconds"
  start_patroni "$old"
  rejoined=$(now_ms)
  within 180 is_whole || { tail -n 20 "$work/patroni-$old.log" >&2; fail "$old did not rejoin"; }
  note "$old has rejoined as a standby" "$(seconds $(($(now_ms) - rejoined)))"
  grep -q 'pg_rewind exit code=0' "$work/patroni-$old.log" && echo '  with pg_rewind'
  sleep "$load_seconds"
  check "$since"
  show
  step 'largesse verify' run verify --json

  old=$(leader) candidate=$(synchronous)
  echo "-- switchover $round: from $old to $candidate"
  since=$(utc)
  load
  sleep "$load_seconds"
  switched=$(now_ms)
  curl --silent --show-error --max-time 120 --noproxy 127.0.0.1 --data "{\"leader\": \"$old\", \"candidate\": \"$candidate\"}" \
    "http://127.0.0.1:${rest_port[$old]}/switchover" | sed 's/^/  /; s/$/\n/'
  within 120 is_whole || fail 'the cluster is not whole after the switchover'
  [ "$(leader)" = "$candidate" ] || fail "$(leader) is the leader, not $candidate"
  note "$candidate is the leader, all members follow" "$(seconds $(($(now_ms) - switched)))"
  sleep "$load_seconds"
  check "$since"
  show
  step 'largesse verify' run verify --json
done

for pid in "$first_pid" "$second_pid"; do
  kill -0 "$pid" || fail 'a process of the service has ended'
done
grep -h '"level":"fatal"' "$work/service/first.log" "$work/service/second.log" && fail 'the service has logged a fatal error'
kill -TERM "$first_pid" "$second_pid"
for pid in "$first_pid" "$second_pid"; do
  wait "$pid" || fail 'a process of the service did not end with 0'
done
first_pid='' service_pid=''
note 'timeline that the service has recorded' "$(jq '.clusters[].timeline' "$work/service/largesse.timelines.json")"
echo PASSED
