#!/bin/sh
# Runs once, when the primary is created.
set -eu
echo "host replication all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
