"""What boto3 does with the region's key in its environment, and with a key of the region's STS."""

from __future__ import annotations

import io
import json
import sys
import urllib.error
import urllib.request
import uuid
from typing import Any

import boto3
from botocore.config import Config

PATH_STYLE = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
VERSION_4 = PATH_STYLE.merge(Config(signature_version="s3v4"))
BUCKET = "boto3"
ODD_KEYS = [
    "plain.txt",
    "with space+plus.txt",
    "ümläut/日本.txt",
    "a//b/../c/./d",
    "100%/%20/%2F",
    "!'()*;:@&=$,?#[]~",
]


def send(request: urllib.request.Request | str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def send_form(form: dict[str, Any], body: str) -> int:
    boundary = uuid.uuid4().hex
    parts = [*form["fields"].items(), ("file", body)]
    text = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parts
    )
    request = urllib.request.Request(
        form["url"],
        data=f"{text}--{boundary}--\r\n".encode(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    return send(request)[0]


def try_presigned(s3: Any, version: str) -> dict[str, object]:
    """Statuses of what a client without any key gets with addresses and forms that a key signed."""

    def presign(operation: str, key: str) -> str:
        signed: str = s3.generate_presigned_url(operation, Params={"Bucket": BUCKET, "Key": key})
        return signed

    get, put = presign("get_object", ODD_KEYS[1]), presign("put_object", f"presigned-{version}")
    # An empty type, because Version 2 signs the one that urllib would add.
    upload = urllib.request.Request(put, b"put", {"Content-Type": ""}, method="PUT")
    form = s3.generate_presigned_post(BUCKET, f"by-form-{version}")
    fields = form["fields"]
    tampered = {**form, "fields": {**fields, "policy": fields["policy"].replace("e", "f", 1)}}
    other_key = {**form, "fields": {**fields, "key": "stolen"}}
    return {
        "isVersion4": "X-Amz-Algorithm" in get and "x-amz-algorithm" in fields,
        "get": send(get)[0],
        "put": send(upload)[0],
        "otherKey": send(get.replace("plus", "other"))[0],
        "form": send_form(form, "by form"),
        "tamperedForm": send_form(tampered, "by form"),
        "formWithOtherKey": send_form(other_key, "by form"),
    }


def main() -> None:
    url = sys.argv[1]
    s3 = boto3.client("s3", endpoint_url=url, config=PATH_STYLE)
    s3.create_bucket(Bucket=BUCKET)
    for key in ODD_KEYS:
        s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    listed = [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    read = {key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read().decode() for key in ODD_KEYS}
    # Over the threshold of an upload in parts, from a stream whose length is not known.
    s3.upload_fileobj(io.BytesIO(b"x" * 9_000_000), BUCKET, "large")
    large = s3.head_object(Bucket=BUCKET, Key="large")["ContentLength"]

    signers = {"s3": s3, "s3v4": boto3.client("s3", endpoint_url=url, config=VERSION_4)}
    presigned = {version: try_presigned(signer, version) for version, signer in signers.items()}

    role = boto3.client("iam", endpoint_url=url).create_role(
        RoleName="reader",
        AssumeRolePolicyDocument=json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}],
            }
        ),
    )["Role"]["Arn"]
    given = boto3.client("sts", endpoint_url=url).assume_role(RoleArn=role, RoleSessionName="reads")
    session = boto3.Session(
        given["Credentials"]["AccessKeyId"],
        given["Credentials"]["SecretAccessKey"],
        given["Credentials"]["SessionToken"],
    )
    by_role = session.client("s3", endpoint_url=url, config=PATH_STYLE)
    forged = boto3.Session(given["Credentials"]["AccessKeyId"], "guessed", "guessed")
    try:
        forged.client("s3", endpoint_url=url, config=PATH_STYLE).list_buckets()
        forgery = "answered"
    except Exception as error:
        forgery = getattr(error, "response", {}).get("Error", {}).get("Code", str(error))
    print(
        json.dumps(
            {
                "listed": sorted(listed) == sorted(ODD_KEYS),
                "read": all(read[key] == key for key in ODD_KEYS),
                "large": large,
                "presigned": presigned,
                "byRole": len(by_role.list_objects_v2(Bucket=BUCKET)["Contents"]),
                "forgery": forgery,
            }
        )
    )


if __name__ == "__main__":
    main()
