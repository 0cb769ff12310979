"""The instance metadata service, version 2: who this host is, and whether EC2 wants it back."""

from __future__ import annotations

import time
import urllib.error
import urllib.request

_TOKEN_SECONDS = 21_600


class Metadata:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html"""

    def __init__(self, url: str = "http://169.254.169.254", timeout_seconds: float = 2.0) -> None:
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._token = ""
        self._token_until = 0.0

    def _ask(self, path: str, method: str = "GET", **headers: str) -> str:
        request = urllib.request.Request(f"{self._url}/latest/{path}", method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        with urllib.request.urlopen(request, timeout=self._timeout_seconds) as answer:
            return str(answer.read().decode())

    def get(self, path: str) -> str | None:
        """None when there is nothing at the path; OSError when the service does not answer."""
        if time.monotonic() > self._token_until:
            ttl = str(_TOKEN_SECONDS)
            self._token = self._ask("api/token", "PUT", X_aws_ec2_metadata_token_ttl_seconds=ttl)
            self._token_until = time.monotonic() + _TOKEN_SECONDS / 2
        try:
            return self._ask(f"meta-data/{path}", X_aws_ec2_metadata_token=self._token)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            if error.code == 401:
                self._token_until = 0.0
            raise

    def taken_back(self) -> bool:
        """Whether EC2 has announced the interruption; an unanswered question counts as no."""
        return self._says("spot/instance-action")

    def is_in_danger(self) -> bool:
        """Whether EC2 recommends to rebalance: the interruption is likelier than before."""
        return self._says("events/recommendations/rebalance")

    def _says(self, path: str) -> bool:
        try:
            return self.get(path) is not None
        except OSError:
            return False
