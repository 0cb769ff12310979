"""boto3 threads feed webdataset's ShardWriter; upload_file sends each shard once it is finished."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import webdataset
from botocore.config import Config

PREFIX = "bench/incoming/"
THREADS = 32
# Fetched and not yet written: memory stays bounded whatever the sizes.
AHEAD = 4 * THREADS


def main() -> None:
    config = Config(max_pool_connections=THREADS, s3={"addressing_style": "path"})
    s3: Any = boto3.client("s3", endpoint_url=os.environ["ENDPOINT"], config=config)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=PREFIX)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def fetch(key: str) -> tuple[str, bytes]:
        return key, s3.get_object(Bucket="bench", Key=key)["Body"].read()

    def in_order(pool: ThreadPoolExecutor) -> Iterator[tuple[str, bytes]]:
        running: deque[Future[tuple[str, bytes]]] = deque()
        for key in keys:
            running.append(pool.submit(fetch, key))
            if len(running) >= AHEAD:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def upload(shard: str) -> None:
        s3.upload_file(shard, "bench", f"out/{Path(shard).name}")
        Path(shard).unlink()

    # Samples, not files: set C has two files a sample.
    per_sample = 2 if any(key.endswith(".json") for key in keys[:2]) else 1
    limit = int(os.environ["FILES_PER_SHARD"]) // per_sample
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPFS", "/dev/shm")) as folder:
        pattern = f"{folder}/shard-%06d.tar"
        with (
            webdataset.ShardWriter(
                pattern, maxcount=limit, mtime=0, verbose=0, post=upload
            ) as writer,
            ThreadPoolExecutor(THREADS) as pool,
        ):
            sample: dict[str, Any] = {}
            for key, body in in_order(pool):
                name, _, suffix = key[len(PREFIX) :].rpartition(".")
                if sample and sample["__key__"] != name:
                    writer.write(sample)
                    sample = {}
                sample["__key__"] = name
                sample[suffix] = body
            writer.write(sample)


main()
