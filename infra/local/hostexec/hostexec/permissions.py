"""The permissions that a request needs, as AWS has them (Service Authorization
Reference, Amazon DynamoDB and Amazon EventBridge Scheduler).

LocalEmu asks for every kind of write, on every table, for any transaction, knows
neither indexes nor the condition keys of DynamoDB and KMS, names schedules without
their group, lets anybody pass any role to them, takes whoever asks who he is for known
and a key that needs no token for right with any, tells nobody from those who are
denied, and has one code for those of all services.

Calls that functions make are written down for the benchmark, which counts them: one
line each, FUNCTION ACTION, in the file that POSTINO_EVERY_CALL names.
"""

import contextvars
import os

from localemu.aws.api import CommonServiceException
from localemu.services.iam_enforcement import arn_builder, enforcer, service_action_map
from localemu.services.iam_enforcement.enforcer import IAMEnforcementHandler, resolve_caller
from localemu.services.iam_enforcement.evaluator import Decision
from moto.sts.models import sts_backends

request = contextvars.ContextVar("request", default=None)

every_call = open(os.environ.get("POSTINO_EVERY_CALL", os.devnull), "a", buffering=1, encoding="utf-8")  # until the end

ACTIONS = {"ConditionCheck": "ConditionCheckItem", "Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem"}


def apply() -> None:
    enforce, map_action, conditions = IAMEnforcementHandler.__call__, service_action_map.map_action, enforcer._build_conditions

    def enforce_request(self, chain, context, response):
        caller = context.operation and known(self, context)
        token = request.set(context.service_request)
        try:
            enforce(self, chain, context, response)
            if caller and context.service.service_name == "scheduler":
                may_pass_role(self, context, caller)
        except CommonServiceException as e:
            raise denial(context.service, e) from None
        finally:
            request.reset(token)
            if caller and caller.principal_type == "AssumedRole":
                every_call.write(f"{caller.arn.rsplit('/')[-1]} {context.service.service_name}:{context.operation.name}\n")

    def map_request(service, operation):
        items = (request.get() or {}).get("TransactItems")
        if service == "dynamodb" and items:
            return sorted({"dynamodb:" + ACTIONS[kind] for item in items for kind in item})
        return map_action(service, operation)

    def conditions_with_keys(context, caller):
        asked = context.service_request or {}
        found = conditions(context, caller)
        if context.service.service_name == "dynamodb" and (keys := sorted(leading_keys(asked))):
            found["dynamodb:LeadingKeys"] = keys
        for name, value in (asked.get("EncryptionContext") or {}).items():
            found["kms:EncryptionContext:" + name] = value
        return found

    IAMEnforcementHandler.__call__ = enforce_request
    enforcer._build_conditions = conditions_with_keys
    service_action_map.map_action = map_request
    arn_builder._SERVICE_ARN_BUILDERS.update(dynamodb=table, scheduler=schedule)


def known(handler: IAMEnforcementHandler, context):
    """Gives who calls, None for LocalEmu itself and for callers without a name, and
    refuses credentials that are nobody's."""
    key = enforcer._extract_access_key(context)
    if not key or handler._is_internal_call(context, key):
        return None
    caller = resolve_caller(key, context.account_id, context.region)
    token = context.request.headers.get("X-Amz-Security-Token") or context.request.args.get("X-Amz-Security-Token")
    if caller is None or token != token_of(key, context.account_id):
        code = "UnrecognizedClientException" if has_json_errors(context.service) else "InvalidClientTokenId"
        raise CommonServiceException(code, "The security token included in the request is invalid.", status(context.service))
    return caller


def token_of(key: str, account: str) -> str | None:
    """The session token that belongs to an access key, None for one that needs none."""
    return next((r.session_token for r in sts_backends[account]["global"].assumed_roles if r.access_key_id == key), None)


def may_pass_role(handler: IAMEnforcementHandler, context, caller) -> None:
    """Who makes a schedule passes its role on (EventBridge Scheduler user guide,
    identity-based policies)."""
    role = (context.service_request.get("Target") or {}).get("RoleArn")
    if not role:
        return
    about = {**enforcer._build_conditions(context, caller), "iam:PassedToService": "scheduler.amazonaws.com"}
    if handler.evaluator.evaluate(caller, "iam:PassRole", role, about) != Decision.ALLOW:
        raise CommonServiceException("AccessDenied", f"User: {caller.arn} is not authorized to perform: iam:PassRole on resource: {role}", 403)


def denial(service, error: CommonServiceException) -> CommonServiceException:
    """A refusal for want of a permission with the code that the service has for it."""
    if error.code != "AccessDenied" or not has_json_errors(service):
        return error
    return CommonServiceException("AccessDeniedException", str(error), status(service))


def has_json_errors(service) -> bool:
    """SQS keeps the codes of the days when it spoke the query protocol."""
    return service.service_name != "sqs" and service.protocol in ("json", "rest-json")


def status(service) -> int:
    return 400 if has_json_errors(service) and service.protocol == "json" else 403


def table(params: dict, region: str, account: str) -> str:
    """The table of a request that is about one, and the index if it has one."""
    names = {params["TableName"]} if "TableName" in params else set(params.get("RequestItems", ()))
    names |= {op["TableName"] for item in params.get("TransactItems", ()) for op in item.values()}
    name = names.pop() if len(names) == 1 else "*"
    arn = name if name.startswith("arn:") else f"arn:aws:dynamodb:{region}:{account}:table/{name}"
    return f"{arn}/index/{params['IndexName']}" if "IndexName" in params else arn


def leading_keys(value) -> set[str]:
    """The partition keys, which this table's items have under pk, of a request."""
    if isinstance(value, list):
        return set().union(*map(leading_keys, value))
    if not isinstance(value, dict):
        return set()
    own = {value["pk"]["S"]} if isinstance(value.get("pk"), dict) and "S" in value["pk"] else set()
    return own.union(*map(leading_keys, value.values()))


def schedule(params: dict, region: str, account: str) -> str:
    return f"arn:aws:scheduler:{region}:{account}:schedule/{params.get('GroupName', 'default')}/{params.get('Name', '*')}"
