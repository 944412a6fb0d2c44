#!/bin/sh
# Builds Citus from its source and installs it into Debian's PostgreSQL 15. See README.md.
#   sh test/citus/build.sh [--upgrade] <a clone of https://github.com/citusdata/citus>
# The clone is changed: it is checked out at the tag below, and one file is patched. The server keeps its version and is not
# restarted. Other packages are upgraded only with --upgrade.
set -eu
upgrade=
if [ "${1:-}" = --upgrade ]; then
  upgrade=yes
  shift
fi
tag=v13.2.2
commit=cc91f4c29cc358f66e70eb1ef204a45999933926
source=${1:?the folder of a clone of https://github.com/citusdata/citus}

# Debian creates and starts a cluster when it installs the server, and restarts the clusters when it upgrades it.
server=$(dpkg-query -W -f '${db:Status-Status} ${Version}' postgresql-15 2>/dev/null || true)
case $server in
  'installed '*) server=${server#installed } ;;
  *)
    echo "postgresql-15 is not installed: install it first (this creates and starts a cluster)" >&2
    exit 1
    ;;
esac

missing=
for package in gcc libc6-dev make postgresql-server-dev-15 libkrb5-dev liblz4-dev libzstd-dev libssl-dev libxml2-dev \
  libicu-dev libreadline-dev zlib1g-dev; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -n "$missing" ]; then
  apt-get update -qq
  install() {
    # shellcheck disable=SC2086
    apt-get install -y --no-install-recommends "$@" $missing "postgresql-15=$server" "postgresql-server-dev-15=$server"
  }
  plan=$(install --simulate) || {
    echo "apt-get cannot install$missing beside postgresql-15 $server: upgrade postgresql-15 if a newer version replaced it" >&2
    exit 1
  }
  upgrades=$(printf '%s\n' "$plan" | sed -n -e 's/^Inst \([^ ]*\) \[.*/\1/p' -e 's/^Remv \([^ ]*\).*/\1 (removed)/p')
  if [ -n "$upgrades" ] && [ -z "$upgrade" ]; then
    printf 'these installed packages would be upgraded, which can restart services:\n%s\nto allow it: %s\n' \
      "$upgrades" "sh $0 --upgrade $source" >&2
    exit 1
  fi
  DEBIAN_FRONTEND=noninteractive install -qq
fi

cd "$source"
git checkout --quiet --force "$tag"
test "$(git rev-parse HEAD)" = "$commit"
config=/usr/lib/postgresql/15/bin/pg_config
# PostgreSQL 15.18 has a function of its own with the name of this copy.
if grep -q have_createdb_privilege "$("$config" --includedir-server)/commands/dbcommands.h"; then
  perl -0pi -e 's/^static inline bool\nhave_createdb_privilege\(void\)\n\{.*?^\}\n//ms' src/include/pg_version_compat.h
fi
PG_CONFIG=$config ./configure --quiet --without-libcurl
# Not -Werror, and no bitcode: only the libraries are needed.
nice make --silent -j"$(nproc)" extension with_llvm=no
nice make --silent install-extension with_llvm=no
"$config" --version
ls -l "$("$config" --pkglibdir)/citus.so"
