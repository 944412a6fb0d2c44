#!/usr/bin/env bash
# Backs up a database of its own while clients change it, runs restore.sh on the backup, and compares the restored cards
# with what the clients were acknowledged. docs/backup.md describes it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cards=100000 load_seconds=10 scratch=${TMPDIR:-/tmp} keep=
while [ $# -gt 0 ]; do
  case $1 in
    --help) echo 'Usage: backup-under-load.sh [--cards 100000] [--seconds 10] [--scratch /tmp] [--keep]'; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --cards | --seconds | --scratch) [ $# -ge 2 ] || usage_error "$1 needs a value" ;;&
    --cards) cards=$2 ;;
    --seconds) load_seconds=$2 ;;
    --scratch) scratch=$2 ;;
    *) usage_error "unknown option $1" ;;
  esac
  shift 2
done
need curl curl
need jq jq
assert_programs

umask 077
work=$(mktemp -d "$scratch/largesse-backup-drill.XXXXXX")
log=$work/drill.log
load_pid=
clean_up() {
  stop_step
  [ -z "$load_pid" ] || kill "$load_pid" 2>/dev/null || true
  stop_service
  if [ -n "$keep" ]; then echo "Kept $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

mkdir "$work/live" "$work/backups"
environment=(
  "PATH=$PATH" "HOME=$work" NODE_ENV=production "DATABASE_URL=file:$work/live/largesse.db" RATE_LIMIT=off
  HOST=127.0.0.1 PORT=0 PUBLIC_URL=http://localhost CONSOLE=off
)
run() { env -i "${environment[@]}" "${largesse[@]}" "$@"; }

create_shop() {
  run store create flowers.example --currency EUR
  run token create --store flowers.example --name drill --json | jq --raw-output .token >"$work/token"
}
issue_cards() {
  local rows=$cards part=0 size
  while [ "$rows" -gt 0 ]; do
    size=$((rows < 10000 ? rows : 10000)) part=$((part + 1)) rows=$((rows - size))
    { echo initial_value; seq "$size" | sed 's|.*|25.00|'; } >"$work/part.csv"
    run card import "$work/part.csv" --store flowers.example --key "$part" --output "$work/codes.csv" --json
    rm "$work/codes.csv"
  done
}
step 'a store' create_shop
step "$cards gift cards imported" issue_cards
start_service "$work/service.log"

node "$drills/load.ts" --url "$service_url" --token-file "$work/token" --record "$work/record" >"$work/load.log" 2>&1 &
load_pid=$!
sleep "$load_seconds"
within 120 has_changes 50 "$work/record" || { cat "$work/load.log" >&2; fail 'the load client changes nothing'; }
before=$(date --utc +%Y-%m-%dT%H:%M:%S.%3NZ)
step 'backup while clients write' run backup "$work/backups/largesse.db"
after=$(date --utc +%Y-%m-%dT%H:%M:%S.%3NZ)
sleep "$load_seconds"
kill -TERM "$load_pid"
wait "$load_pid" || { cat "$work/load.log" >&2; fail 'the load client failed'; }
load_pid=
echo "  $(cat "$work/load.log")"

echo "-- restore.sh"
"$drills/restore.sh" --backups "$work/backups" --keys "$work/live/largesse.keys.json" --scratch "$work" \
  --live-url "$service_url" --live-token-file "$work/token" --max-age 1
echo "--"
node "$drills/check-load.ts" --url "$service_url" --token-file "$work/token" --record "$work/record" >"$work/live.log" ||
  { cat "$work/live.log" >&2; fail 'the live database does not have what was acknowledged'; }
sed 's/^/  live: /' "$work/live.log"
stop_service

environment+=("DATABASE_URL=file:$work/restored/largesse.db" "KEYS_FILE=$work/live/largesse.keys.json")
mkdir "$work/restored"
step 'backup restored again' run restore "$work/backups/largesse.db"
start_service "$work/restored.log"
node "$drills/check-load.ts" --url "$service_url" --token-file "$work/token" --record "$work/record" \
  --until "$before" --none-after "$after" >"$work/restored.check" ||
  { cat "$work/restored.check" >&2; fail 'the backup does not have what was acknowledged before it began'; }
sed 's/^/  restored: /' "$work/restored.check"
echo PASSED
