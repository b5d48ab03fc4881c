#!/bin/sh
# Copies the primary once, and then follows it.
set -eu
data=/var/lib/postgresql/data
if [ ! -e "$data/PG_VERSION" ]; then
  pg_basebackup --host=primary --username=explorer --pgdata="$data" --write-recovery-conf --checkpoint=fast
  chmod 700 "$data"
fi
exec postgres -D "$data" -c hot_standby=on
