# shellcheck shell=bash
# Functions of the drills: sourced by the scripts in this folder.

drills=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$drills/../.." && pwd)

# The commands of the service: LARGESSE, or the program next to this folder, or the installed one.
if [ -n "${LARGESSE:-}" ]; then
  read -ra largesse <<<"$LARGESSE"
elif [ -f "$root/bin/largesse.js" ]; then
  largesse=(node "$root/bin/largesse.js")
else
  largesse=(largesse)
fi
# Of a checkout, npm ci has installed the Node.js that the service needs.
[ -x "$root/node_modules/.bin/node" ] && PATH="$root/node_modules/.bin:$PATH"

# Ends the drill with a message.
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

usage_error() {
  printf '%s: %s. See --help.\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# need PROGRAM PACKAGE: requires a program, and names its Debian package.
missing_packages=()
need() {
  command -v "$1" >/dev/null || missing_packages+=("$2")
}
assert_programs() {
  [ ${#missing_packages[@]} -eq 0 ] ||
    { printf 'Missing programs. On Debian: apt-get install %s\n' "${missing_packages[*]}" >&2; exit 2; }
}

now_ms() {
  local time=${EPOCHREALTIME/[.,]/}
  printf '%s' $((time / 1000))
}

# A number of milliseconds as seconds: 1.2 s.
seconds() {
  printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100))
}

note() {
  printf '%-52s %s\n' "$1" "${2:-}"
}

# step TEXT COMMAND…: runs a command in a subshell, with its output in the log, and prints its duration.
log=
step_pid=
step() {
  local text=$1 started code=0
  shift
  started=$(now_ms)
  printf '== %s: %s\n' "$text" "$*" >>"$log"
  # In the background, because bash ignores `set -e` on the left of `||`.
  "$@" >>"$log" 2>&1 &
  step_pid=$!
  wait "$step_pid" || code=$?
  step_pid=
  if [ "$code" -ne 0 ]; then
    tail -n 20 "$log" >&2
    fail "$text (exit code $code)"
  fi
  note "$text" "$(seconds $(($(now_ms) - started)))"
}

# Ends a step that was interrupted.
stop_step() {
  [ -z "$step_pid" ] || kill "$step_pid" 2>/dev/null || true
}

# within SECONDS COMMAND…: repeats a command until it succeeds.
within() {
  local limit=$1 until
  until=$(($(now_ms) + limit * 1000))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$(now_ms)" -lt "$until" ] || return 1
    sleep 0.1
  done
}

# Whether a file contains a line that matches.
has_line() {
  grep -Eq "$1" "$2"
}

# has_changes NUMBER RECORD: whether the load client has recorded so many changes.
has_changes() {
  [ "$(grep -c '"change"' "$2")" -ge "$1" ]
}

# start_service LOG: starts the service in the background with the environment of the drill, and sets service_pid and
# service_url. The array `environment` is its whole environment.
environment=()
service_pid=
service_url=
start_service() {
  local file=$1
  env -i "${environment[@]}" "${largesse[@]}" serve >"$file" 2>&1 &
  service_pid=$!
  if ! within 120 service_listens "$file"; then
    tail -n 20 "$file" >&2
    fail 'the service did not start'
  fi
  service_url=$(sed -En 's/.*"url":"([^"]+)".*"message":"largesse serves".*/\1/p' "$file" | tail -n 1)
  [ -n "$service_url" ] || { tail -n 20 "$file" >&2; fail 'the service did not start'; }
  within 120 is_ready "$service_url" || fail "$service_url/readyz does not return 200"
}

# Succeeds when the service listens, or has ended.
service_listens() {
  has_line '"largesse serves"' "$1" || ! kill -0 "$service_pid"
}

is_ready() {
  curl --silent --fail --max-time 10 --noproxy '*' --output /dev/null "$1/readyz"
}

stop_service() {
  [ -n "$service_pid" ] || return 0
  kill -TERM "$service_pid" 2>/dev/null || true
  wait "$service_pid" 2>/dev/null || true
  service_pid=
}

# free_port: prints a port that no process uses now.
free_port() {
  node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); })"
}
