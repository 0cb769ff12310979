"""Uploads one file in the ways that boto3 offers without further packages: as one request and in
parts, with each of its checksums and with none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config

MEBIBYTE = 1024 * 1024
IN_ONE = TransferConfig(multipart_threshold=1024 * MEBIBYTE)
IN_PARTS = TransferConfig(multipart_threshold=8 * MEBIBYTE, multipart_chunksize=8 * MEBIBYTE)


def main(url: str, bucket: str, file: str) -> None:
    body = Path(file)

    def upload(pipeline: str, name: str, when: str, **extra: Any) -> None:
        config = Config(request_checksum_calculation=when)  # type: ignore[arg-type]
        s3: Any = boto3.client("s3", endpoint_url=url, config=config)
        for way, transfer in (("whole", IN_ONE), ("parts", IN_PARTS)):
            key = f"{pipeline}/incoming/{name}-{way}.bin"
            s3.upload_file(str(body), bucket, key, ExtraArgs=extra, Config=transfer)

    upload("crc32", "default", "when_supported")
    upload("others", "sha256", "when_supported", ChecksumAlgorithm="SHA256")
    upload("others", "sha1", "when_supported", ChecksumAlgorithm="SHA1")
    upload("others", "none", "when_required")


if __name__ == "__main__":
    main(*sys.argv[1:])
