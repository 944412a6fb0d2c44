#!/bin/sh
# Builds Citus from its source and installs it into Debian's PostgreSQL 15. See README.md.
#   sh test/citus/build.sh <a clone of https://github.com/citusdata/citus>
# The clone is changed: it is checked out at the tag below, and one file is patched.
set -eu
tag=v13.2.2
commit=cc91f4c29cc358f66e70eb1ef204a45999933926
source=${1:?the folder of a clone of https://github.com/citusdata/citus}

missing=
for package in gcc libc6-dev make postgresql-15 postgresql-server-dev-15 libkrb5-dev liblz4-dev libzstd-dev libssl-dev \
  libxml2-dev libicu-dev libreadline-dev zlib1g-dev; do
  dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -n "$missing" ]; then
  apt-get update -qq
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
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
