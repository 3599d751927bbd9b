"""Runs MiniStack, the AWS emulator, as Postino's tests need it. infra/local/ministack.sh
starts it; POSTINO_CALLS names the file that calls are recorded in, POSTINO_EVERY_CALL
the one that has a line for each.

Permissions are enforced (AUTH=true): a function calls with its role's credentials, and
what the role's policies do not allow is denied, as on AWS. Every call that a role makes
is recorded once with its outcome, so that the tests can tell what is allowed and never
used.
"""

import contextvars
import json
import os

import functionlogs
import ministack.core.iam_actions as iam_actions
import ministack.core.iam_evaluator as iam_evaluator
import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.scheduler as scheduler
import ministack.services.sts as sts
from hypercorn.config import Config

# stop finds what the functions leave behind by the process group.
if os.getpgrp() != os.getpid():
    os.setsid()

# Schedules fire within half a second instead of ten.
scheduler._SCHEDULE_TICK_INTERVAL = 0.5

# The server would close each connection after 1,000 requests, in the middle of one,
# and SDKs then send that request twice.
Config.keep_alive_max_requests = 1 << 40
Config.keep_alive_timeout = 120

functionlogs.apply()

# It knows no saved queries, which are there for people alone: a stack may have them.
provisioners._RESOURCE_HANDLERS["AWS::Logs::QueryDefinition"] = {
    "create": lambda logical_id, props, stack_name: (f"{stack_name}-{logical_id}", {}),
    "update": lambda physical_id, old_props, new_props, stack_name: (physical_id, {}),
    "delete": lambda physical_id, props: None,
}

context_of = iam_actions.dynamodb_service_context


def leading_keys(body):
    """The partition keys that a DynamoDB request names, which policies may be about."""
    found = set()

    def walk(value):
        if isinstance(value, dict):
            if isinstance(value.get("pk"), dict) and "S" in value["pk"]:
                found.add(value["pk"]["S"])
            for v in value.values():
                walk(v)
        elif isinstance(value, list):
            for v in value:
                walk(v)

    request = json.loads(body or b"{}")
    walk({k: request[k] for k in ("Key", "Item", "RequestItems", "TransactItems") if k in request})
    return sorted(found)


def context_with_keys(body):
    context = context_of(body)
    try:
        keys = leading_keys(body)
    except ValueError:
        keys = []
    return {**context, "dynamodb:LeadingKeys": keys} if keys else context


iam_actions.dynamodb_service_context = context_with_keys

resource_of = iam_actions.extract_resource_arn
# The role that the request at hand passes to EventBridge Scheduler, and its KMS
# encryption context.
passed_role = contextvars.ContextVar("passed_role", default=None)
encryption_context = contextvars.ContextVar("encryption_context", default={})


def resource_and_conditions(service, method, path, headers, body, *rest):
    """A new schedule's group stands in the body alone, as does what conditions are about."""
    resource = resource_of(service, method, path, headers, body, *rest)
    if service == "scheduler" and method == "POST" and path.startswith("/schedules/"):
        request = json.loads(body)
        passed_role.set(request.get("Target", {}).get("RoleArn"))
        resource = resource.replace(":schedule/default/", ":schedule/" + request.get("GroupName", "default") + "/")
    if service == "kms":
        encryption_context.set(json.loads(body or b"{}").get("EncryptionContext", {}))
    return resource


iam_actions.extract_resource_arn = resource_and_conditions

enforce_of = iam_evaluator.enforce
seen = set()


def enforce_and_record(access_key_id, iam_action, service, region, resource_arn="*", service_context=None):
    if iam_action == "lambda:InvokeFunctionUrl" and (service_context or {}).get("lambda:FunctionUrlAuthType") == "NONE":
        return None  # signatures are the function's business (AWS Lambda developer guide, function URL access)
    called = iam_action
    if service == "sqs":
        # Batches have no permissions of their own (Amazon SQS developer guide, API permissions).
        iam_action = iam_action.removesuffix("Batch")
    if iam_action == "scheduler:CreateSchedule" and passed_role.get():
        # Who makes a schedule passes its role on (EventBridge Scheduler user guide, identity-based policies).
        denied = enforce_and_record(access_key_id, "iam:PassRole", "iam", region, passed_role.get(),
                                    {"iam:PassedToService": "scheduler.amazonaws.com"})
        if denied is not None:
            return denied
    if service == "kms":
        service_context = {f"kms:EncryptionContext:{k}": v for k, v in encryption_context.get().items()}
    denied = enforce_of(access_key_id, iam_action, service, region, resource_arn, service_context)
    session = sts._sessions.get(access_key_id or "")
    if session is not None:
        count(session["Arn"], called)
        keys = (service_context or {}).get("dynamodb:LeadingKeys", [])
        record(session["Arn"], iam_action, resource_arn, keys, "Allow" if denied is None else getattr(denied, "decision", "Unknown"))
    return denied


# One line for each call: FUNCTION ACTION. The benchmark counts them.
every_call = open(os.environ["POSTINO_EVERY_CALL"], "a", buffering=1, encoding="utf-8")  # noqa: SIM115  until the end


def count(principal, action):
    """PassRole is no call of its own."""
    if action != "iam:PassRole":
        every_call.write(principal.split("/")[2] + " " + action + "\n")


def record(principal, action, resource, keys, decision):
    """principal is arn:aws:sts::ACCOUNT:assumed-role/ROLE/FUNCTION."""
    role, function = principal.split("/")[1:3]
    # Of a key its kind is enough, the part before the first #.
    line = json.dumps({"role": role, "function": function, "action": action, "resource": resource,
                       "keys": sorted({k.split("#")[0] for k in keys}), "decision": decision}, sort_keys=True)
    if line not in seen:
        seen.add(line)
        with open(os.environ["POSTINO_CALLS"], "a", encoding="utf-8") as f:
            f.write(line + "\n")


iam_evaluator.enforce = enforce_and_record

from ministack.app import main  # noqa: E402  it reads the settings above when it is imported

main()
