"""Asks the market at the URL of the first argument, and prints what boto3 made of the answers."""

from __future__ import annotations

import datetime
import json
import sys

import boto3
from botocore.exceptions import ClientError


def main(url: str) -> None:
    ec2 = boto3.client(
        "ec2",
        endpoint_url=url,
        region_name="us-east-1",
    )
    now = datetime.datetime.now(datetime.timezone.utc)
    family = ["c5.xlarge", "c6i.xlarge", "m5.xlarge"]
    scores = ec2.get_spot_placement_scores(
        InstanceTypes=family,
        TargetCapacity=4,
        SingleAvailabilityZone=True,
        RegionNames=["us-east-1"],
    )["SpotPlacementScores"]
    prices = ec2.describe_spot_price_history(
        InstanceTypes=["c5.xlarge"], StartTime=now, AvailabilityZoneId="use1-az1"
    )["SpotPriceHistory"]
    pages = ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=["c5.xlarge"],
        StartTime=now - datetime.timedelta(days=3),
        PaginationConfig={"PageSize": 10},
    )
    types = ec2.describe_instance_types(InstanceTypes=["g5.xlarge"])["InstanceTypes"]
    try:
        ec2.get_spot_placement_scores(InstanceTypes=["x9.huge"], TargetCapacity=1)
        refusal: list[object] = []
    except ClientError as error:
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        refusal = [error.response["Error"]["Code"], status]
    print(
        json.dumps(
            {
                "best": scores[0]["AvailabilityZoneId"],
                "regions": sorted({score["Region"] for score in scores}),
                "price": prices[0]["SpotPrice"],
                "priceIsBeforeNow": prices[0]["Timestamp"] <= now,
                "pages": sum(1 for _ in pages),
                "zones": [
                    zone["ZoneId"]
                    for zone in ec2.describe_availability_zones()["AvailabilityZones"]
                ],
                "gpuMemoryMib": types[0]["GpuInfo"]["TotalGpuMemoryInMiB"],
                "refusal": refusal,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
