#!/usr/bin/env bash
# Restores the newest backup of an embedded database into a scratch folder, and checks it. docs/backup.md describes it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

help() {
  cat <<'TEXT'
Usage: restore.sh --backups <folder or file> --keys <key file> [options]

Restores the newest backup into a scratch folder, verifies it, starts a service on it, and reads one card. The
service of the drill sends no emails and no webhooks. The live database is neither opened nor changed.

  --backups <path>          the folder of the backups (*.db), or one backup
  --keys <file>             the key file, from its own backup
  --live-url <url>          the live service, to compare the liability with
  --live-token-file <file>  an access token with the scope read_reports, which the backup contains as well
  --max-age <hours>         fail if the newest backup is older
  --scratch <folder>        where to make the scratch folder (default: TMPDIR or /tmp)
  --port <port>             the port of the drill's service (default: any free one)
  --keep                    do not remove the scratch folder, which contains data of customers

LARGESSE is the command of the service if it is not next to this script: LARGESSE="largesse" or
LARGESSE="node /opt/largesse/bin/largesse.js". Exit codes: 0 passed, 1 failed, 2 wrong use or a missing program.
TEXT
}

backups='' keys='' live_url='' live_token_file='' max_age='' scratch=${TMPDIR:-/tmp} port=0 keep=
while [ $# -gt 0 ]; do
  option=$1
  case $option in
    --help) help; exit 0 ;;
    --keep) keep=yes; shift; continue ;;
    --backups | --keys | --live-url | --live-token-file | --max-age | --scratch | --port) ;;
    *) usage_error "unknown option $option" ;;
  esac
  [ $# -ge 2 ] || usage_error "$option needs a value"
  case $option in
    --backups) backups=$2 ;;
    --keys) keys=$2 ;;
    --live-url) live_url=${2%/} ;;
    --live-token-file) live_token_file=$2 ;;
    --max-age) max_age=$2 ;;
    --scratch) scratch=$2 ;;
    --port) port=$2 ;;
  esac
  shift 2
done
[ -n "$backups" ] || usage_error '--backups is missing'
[ -n "$keys" ] || usage_error '--keys is missing'
[ -z "$live_url" ] || [ -n "$live_token_file" ] || usage_error '--live-url needs --live-token-file'
[[ $max_age =~ ^[0-9]*$ ]] || usage_error '--max-age must be a number of hours'

need curl curl
need jq jq
assert_programs

[ -r "$keys" ] || fail "the key file $keys cannot be read"
if [ -d "$backups" ]; then
  backup=$(find "$backups" -maxdepth 1 -type f -name '*.db' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
  [ -n "$backup" ] || fail "$backups contains no backup (*.db)"
else
  backup=$backups
  [ -f "$backup" ] || fail "there is no file $backup"
fi
backup=$(realpath "$backup")
keys=$(realpath "$keys")

umask 077
work=$(mktemp -d "$scratch/largesse-restore-drill.XXXXXX")
log=$work/drill.log
clean_up() {
  stop_step
  stop_service
  if [ -n "$keep" ]; then echo "Kept $work"; else rm -rf "$work"; fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# No variable of the caller is passed on: in production without SMTP_URL, the service sends no emails.
environment=(
  "PATH=$PATH" "HOME=$work" NODE_ENV=production "DATABASE_URL=file:$work/largesse.db" "KEYS_FILE=$keys"
  HOST=127.0.0.1 "PORT=$port" PUBLIC_URL=http://localhost
)
run() { env -i "${environment[@]}" "${largesse[@]}" "$@"; }

# api TOKEN URL…: prints a response of the service. The token is not visible in the list of processes.
api() {
  local token=$1
  shift
  curl --silent --show-error --fail --max-time 120 --noproxy 127.0.0.1,localhost \
    --config <(printf 'header = "Authorization: Bearer %s"\n' "$token") "$@"
}

age=$((($(date +%s) - $(stat --format=%Y "$backup")) / 60))
started=$(now_ms)
note 'backup' "$backup"
note 'size and age' "$(($(stat --format=%s "$backup") / 1048576)) MiB, $age minutes"
if [ -n "$max_age" ] && [ "$age" -ge $((max_age * 60)) ]; then
  fail "the newest backup is $age minutes old, and --max-age is $max_age hours"
fi

step 'restored, and verified by the restore' run restore "$backup"

verified=$work/verified.json
verify() { run verify --json >"$verified"; }
step 'verified again' verify
jq --raw-output '.stores[] | "  \(.store): \(.cards) cards, \(.transfers) transfers, outstanding \(.outstanding) \(.currency)"' "$verified"

# The backup contains deliveries that the live service has made since then. The service must not repeat them.
delete_webhooks() {
  local store id
  for store in $(jq --raw-output '.stores[].store' "$verified"); do
    for id in $(run webhook list --store "$store" --json | jq '.[].id'); do
      run webhook delete --store "$store" "$id"
    done
  done
}
step 'webhooks deleted from the copy' delete_webhooks

store=$(jq --raw-output '[.stores[] | select(.cards > 0)] | max_by(.cards) | .store // empty' "$verified")
[ -n "$store" ] || fail 'the backup contains no cards'
token=$(run token create --store "$store" --name restore-drill --json | jq --raw-output .token)

serving=$(now_ms)
start_service "$work/service.log"
note 'service started, /readyz returns 200' "$(seconds $(($(now_ms) - serving)))"

read_card() {
  local card balance sum
  card=$(api "$token" "$service_url/gift_cards?limit=1" | jq '.gift_cards[0].id')
  balance=$(api "$token" "$service_url/gift_card/$card/balance" | jq --raw-output .gift_card.balance)
  sum=$(api "$token" "$service_url/gift_card/$card/transactions?limit=1" | jq --raw-output '.transactions[0].balance_after')
  [ "$balance" = "$sum" ] || { echo "card $card: the balance is $balance, its last transaction says $sum"; return 1; }
  echo "card $card of $store: balance $balance, as its last transaction says" >"$work/card"
}
step 'one card read' read_card
sed 's/^/  /' "$work/card"

if [ -n "$live_url" ]; then
  live_token=$(tr -d '[:space:]' <"$live_token_file")
  # The moment is a little before the last event of the backup, so that the live service has the same entries.
  compare() {
    local last moment live restored
    last=$(api "$token" "$service_url/events?after=latest&limit=1" --dump-header - --output /dev/null | sed -En 's/^[Ll]ink: .*[?&]after=([0-9]+).*/\1/p')
    [ -n "$last" ] || { echo 'the backup contains no event'; return 1; }
    moment=$(api "$token" "$service_url/events/$last" | jq --raw-output .event.created_at)
    moment=$(date --utc --date="$moment - 5 seconds" +%Y-%m-%dT%H:%M:%SZ)
    restored=$(api "$live_token" "$service_url/reports/liability?as_of=$moment" | jq --compact-output --sort-keys .liability)
    live=$(api "$live_token" "$live_url/reports/liability?as_of=$moment" | jq --compact-output --sort-keys .liability)
    printf '%s\n' "restored: $restored" "live:     $live"
    [ -n "$restored" ] && [ "$restored" = "$live" ] || return 1
    printf '%s' "$restored" | jq --raw-output --arg moment "$moment" \
      '"at \($moment): \(.cards) cards, outstanding \(.outstanding) \(.currency)"' >"$work/compared"
  }
  step 'liability equal to that of the live service' compare
  sed 's/^/  /' "$work/compared"
else
  note 'liability of the live service' 'not compared (--live-url)'
fi

stop_service
echo "PASSED in $(seconds $(($(now_ms) - started))): $(basename "$backup") can be restored."
