#!/usr/bin/env bash
# The whole import in a temporary folder: four stores, a running service, 666 gift cards, the same file again after a
# crash, and a verified ledger. Needs bash, curl and what `npm install` installs. Exit code 0: everything succeeded.
set -euo pipefail
umask 077
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"

dir="$(mktemp -d)"
server=''
stop() {
  [ -n "$server" ] || return 0
  local pid="$server"
  server=''
  kill -TERM "$pid" && wait "$pid"
}
finish() {
  code=$?
  stop || true
  if [ "$code" -ne 0 ] && [ -f "$dir/server.log" ]; then tail -n 40 "$dir/server.log" >&2; fi
  rm -rf "$dir"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

free_port="require('node:net').createServer().listen(0, '127.0.0.1', function () {
  console.log(this.address().port); this.close(); })"
PORT="$(node -e "$free_port")"
export PORT DATABASE_URL="file:$dir/largesse.db"
url="http://127.0.0.1:$PORT"

echo '== Stores and tokens'
create_store() { # domain currency time-zone
  npx largesse store create "$1" --currency "$2" --time-zone "$3" --issue-limit none
  npx largesse token create --store "$1" --name import \
    --scopes read_gift_cards,write_gift_cards --json >"$dir/token.$1.json"
}
create_store coffee.example.com USD America/Los_Angeles
create_store books.example.com JPY Asia/Tokyo
create_store perfume.example.com KWD Asia/Kuwait
create_store garden.example.com EUR Europe/Athens
collect_tokens="const { readFileSync } = require('node:fs');
  console.log(JSON.stringify(Object.fromEntries(process.argv.slice(1).map((path) =>
    [path.replace(/.*token\.|\.json$/g, ''), JSON.parse(readFileSync(path, 'utf8')).token]))));"
node -e "$collect_tokens" "$dir"/token.*.json >"$dir/tokens.json"

echo "== Service on $url"
# Without npx, so that the signal reaches the service.
node src/cli.ts serve >"$dir/server.log" 2>&1 &
server=$!
for _ in $(seq 150); do
  curl --silent --fail --output "$dir/readyz" "$url/readyz" && break
  kill -0 "$server" || { echo 'The service has stopped.' >&2; exit 1; }
  sleep 0.2
done
curl --silent --show-error --fail --output "$dir/readyz" "$url/readyz"

import() { # the file for the codes
  node examples/import-csv.ts --url "$url" --tokens "$dir/tokens.json" --out "$1"
}
echo '== First run'
import "$dir/issued.csv"

# A run that crashed leaves the beginning of the file, with an incomplete last line.
echo '== Second run, as after a crash halfway'
head -c "$(($(wc -c <"$dir/issued.csv") / 2))" "$dir/issued.csv" >"$dir/after-crash.csv"
import "$dir/after-crash.csv"
sort "$dir/issued.csv" >"$dir/issued.sorted"
sort "$dir/after-crash.csv" | cmp - "$dir/issued.sorted"
echo 'Nothing was issued twice: both runs have the same cards and the same codes.'

echo '== Stop and verify'
stop
npx largesse verify
echo 'All done.'
