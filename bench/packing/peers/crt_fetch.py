"""The AWS CRT fetching alone: the bar for a data path. Keys come from boto3."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from typing import Any
from urllib.parse import quote, urlparse

import boto3
from awscrt.auth import AwsCredentialsProvider
from awscrt.http import HttpHeaders, HttpRequest
from awscrt.io import ClientBootstrap, DefaultHostResolver, EventLoopGroup
from awscrt.s3 import S3Client, S3RequestTlsMode, S3RequestType

PREFIX = "bench/incoming/"
IN_FLIGHT = 256


def main() -> None:
    endpoint = os.environ["ENDPOINT"]
    host = urlparse(endpoint).netloc
    s3: Any = boto3.client("s3", endpoint_url=endpoint)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket="bench", Prefix=PREFIX)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
    group = EventLoopGroup(1)
    client = S3Client(
        bootstrap=ClientBootstrap(group, DefaultHostResolver(group)),
        region="us-east-1",
        credential_provider=AwsCredentialsProvider.new_static("bench", "bench"),
        tls_mode=S3RequestTlsMode.DISABLED,
    )
    room = threading.Semaphore(IN_FLIGHT)
    done: list[Future[None]] = []
    seen = 0

    def on_body(chunk: bytes, offset: int, **_: object) -> None:
        nonlocal seen
        seen += len(chunk)

    for key in keys:
        room.acquire()
        request = HttpRequest("GET", f"/bench/{quote(key)}", HttpHeaders([("host", host)]))
        made = client.make_request(type=S3RequestType.GET_OBJECT, request=request, on_body=on_body)
        made.finished_future.add_done_callback(lambda _: room.release())
        done.append(made.finished_future)
    for future in done:
        future.result()
    print(seen)


main()
