#!/bin/sh
# s5cmd fetches into memory-backed files, GNU tar packs them in key order, s5cmd uploads: what a shell user would do.
# With BATCHED it does so shard by shard: what would not fit into memory at once.
set -eu
folder=$(mktemp -d "${TMPFS:-/dev/shm}/bench-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/in"
pack() {
  tar --format=ustar --mtime=@0 --owner=0 --group=0 --mode=0444 -C "$folder/in" -cf "$folder/shard-${1##*-}.tar" -T "$1"
}
fetch_list() {
  sed "s|.*|cp s3://bench/bench/incoming/& $folder/in/&|" "$1" >"$folder/commands"
  "$S5CMD" --endpoint-url "$ENDPOINT" run "$folder/commands" >/dev/null
}
if [ -n "${BATCHED:-}" ]; then
  "$S5CMD" --endpoint-url "$ENDPOINT" ls 's3://bench/bench/incoming/*' | awk '{print $NF}' | LC_ALL=C sort |
    split -l "$FILES_PER_SHARD" -d -a 6 - "$folder/list-"
  for list in "$folder"/list-*; do
    fetch_list "$list"
    pack "$list"
    "$S5CMD" --endpoint-url "$ENDPOINT" cp "$folder/shard-*" s3://bench/out/ >/dev/null
    rm -rf "$folder"/in/* "$folder"/shard-*
  done
else
  "$S5CMD" --endpoint-url "$ENDPOINT" cp 's3://bench/bench/incoming/*' "$folder/in/" >/dev/null
  (cd "$folder/in" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) |
    split -l "$FILES_PER_SHARD" -d -a 6 - "$folder/list-"
  for list in "$folder"/list-*; do pack "$list"; done
  "$S5CMD" --endpoint-url "$ENDPOINT" cp "$folder/shard-*" s3://bench/out/ >/dev/null
fi
