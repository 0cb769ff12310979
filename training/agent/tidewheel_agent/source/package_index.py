"""A private package index: the job holds its URL, Secrets Manager its credentials.

The credentials reach the installer through its environment. No argument, hyperparameter or log
holds them, and the script does not get them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit

from ..configuration.settings import ConfigurationError
from .secrets_manager import SecretError

URL_VARIABLE = "TIDEWHEEL_INDEX_URL"
SECRET_VARIABLE = "TIDEWHEEL_INDEX_SECRET"
"""An ARN. The secret is `{"username": …, "password": …}` or a token."""
_TOKEN_USER = "__token__"


def installer_variables(
    environment: Mapping[str, str], read: Callable[[str, Mapping[str, str]], str]
) -> tuple[dict[str, str], list[str]]:
    """Variables for the installer, and the texts that its output must not show."""
    url, arn = environment.get(URL_VARIABLE, ""), environment.get(SECRET_VARIABLE, "")
    if not url:
        return {}, []
    try:
        user, password = _user_and_password(read(arn, environment)) if arn else ("", "")
    except SecretError as error:
        raise ConfigurationError(
            [
                f"the credentials of the package index cannot be read: {error}. The stack's role "
                'reads the one secret that it was deployed with: --param="packageIndexSecret=ARN"'
            ]
        ) from error
    at = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    parts = urlsplit(url)
    whole = parts._replace(netloc=at + parts.netloc).geturl()
    hidden = [text for text in (password, quote(password, safe="")) if text]
    return {"PIP_INDEX_URL": whole, "UV_DEFAULT_INDEX": whole}, hidden


def _user_and_password(text: str) -> tuple[str, str]:
    try:
        secret = json.loads(text)
    except ValueError:
        secret = None
    if isinstance(secret, dict):
        user, password = secret.get("username"), secret.get("password")
        if isinstance(user, str) and isinstance(password, str) and user:
            return user, password
        raise ConfigurationError(
            ["the secret of the package index is JSON without `username` and `password`: add both"]
        )
    return _TOKEN_USER, text.strip()
