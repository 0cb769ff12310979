"""boto3 threads feed webdataset's ShardWriter, shards go up with upload_file."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import webdataset  # type: ignore[import-untyped]
from botocore.config import Config  # type: ignore[import-untyped]

PREFIX = "bench/incoming/"
THREADS = 32


def main() -> None:
    config = Config(max_pool_connections=THREADS, s3={"addressing_style": "path"})
    s3: Any = boto3.client("s3", endpoint_url=os.environ["ENDPOINT"], config=config)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=PREFIX)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def fetch(key: str) -> tuple[str, bytes]:
        return key, s3.get_object(Bucket="bench", Key=key)["Body"].read()

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPFS", "/dev/shm")) as folder:
        pattern = f"{folder}/shard-%06d.tar"
        limit = int(os.environ["FILES_PER_SHARD"])
        with (
            webdataset.ShardWriter(pattern, maxcount=limit, mtime=0, verbose=0) as writer,
            ThreadPoolExecutor(THREADS) as pool,
        ):
            for key, body in pool.map(fetch, keys):
                name, _, suffix = key[len(PREFIX) :].rpartition(".")
                writer.write({"__key__": name, suffix: body})
        for shard in sorted(Path(folder).glob("*.tar")):
            s3.upload_file(str(shard), "bench", f"out/{shard.name}")


main()
