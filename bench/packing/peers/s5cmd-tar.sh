#!/bin/sh
# s5cmd fetches into memory-backed files, GNU tar packs them in key order, s5cmd uploads: what a shell user would do.
set -eu
folder=$(mktemp -d "${TMPFS:-/dev/shm}/bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
s5cmd --endpoint-url "$ENDPOINT" cp 's3://bench/bench/incoming/*' "$folder/in/" >/dev/null
cd "$folder/in"
find . -type f | sed 's|^\./||' | LC_ALL=C sort | split -l "$FILES_PER_SHARD" -d -a 6 - "$folder/list-"
for list in "$folder"/list-*; do
  tar --format=ustar --mtime=@0 --owner=0 --group=0 --mode=0444 -cf "$folder/shard-${list##*-}.tar" -T "$list"
done
s5cmd --endpoint-url "$ENDPOINT" cp "$folder/shard-*" s3://bench/out/ >/dev/null
