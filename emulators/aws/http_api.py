"""Patches MiniStack's HTTP APIs: an address that every client resolves, and the answer of an
overloaded API.
"""

import json
import os
from typing import Any

from ministack.services import apigateway, lambda_svc
from ministack.services.cloudformation import provisioners
from patches import PatchError

_TYPE = "AWS::ApiGatewayV2::Api"
_RETRY_AFTER_SECONDS = 1


def install() -> None:
    _name_a_resolvable_address()
    _answer_overload_as_api_gateway_does()


def takes_tokens(api_id: str) -> bool:
    """Whether the API has JWT authorizers, and no route whose callers sign."""
    routes = [
        route
        for scope, of_api in apigateway._routes._data.items()
        if scope[-1] == api_id
        for route in of_api.values()
    ]
    kinds = {route.get("authorizationType") for route in routes}
    return "JWT" in kinds and kinds <= {"JWT", "NONE", None}


def _name_a_resolvable_address() -> None:
    """Names an API's endpoint by a path of this machine's address. curl resolves MiniStack's
    `<id>.execute-api.localhost` by itself; Python's and Java's clients do not. MiniStack answers
    at both."""
    handlers: Any = provisioners._RESOURCE_HANDLERS
    create = provisioners._apigw_v2_api_create
    if handlers[_TYPE]["create"] is not create:
        raise PatchError(f"MiniStack makes an {_TYPE} in another way now")

    def create_at_path(
        logical_id: str, props: dict[str, Any], stack_name: str
    ) -> tuple[str, dict[str, Any]]:
        api_id, attributes = create(logical_id, props, stack_name)
        address = f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}/_aws/execute-api/{api_id}"
        apigateway._apis[api_id]["apiEndpoint"] = address
        return api_id, {**attributes, "ApiEndpoint": address}

    provisioners._apigw_v2_api_create = create_at_path
    handlers[_TYPE]["create"] = create_at_path


def _answer_overload_as_api_gateway_does() -> None:
    """Answers with API Gateway's own 429 where the account has no free execution; MiniStack passes
    Lambda's error on.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html
    """
    answer = lambda_svc.lambda_execute_result_to_api_proxy_response
    overloaded = {
        "statusCode": 429,
        "headers": {
            "Content-Type": "application/json",
            "Retry-After": str(_RETRY_AFTER_SECONDS),
        },
        "body": json.dumps({"message": "Too Many Requests"}),
    }

    def answer_overload(result: dict[str, Any]) -> Any:
        return (overloaded, None) if result.get("throttle") else answer(result)

    lambda_svc.lambda_execute_result_to_api_proxy_response = answer_overload
