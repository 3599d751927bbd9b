"""What the SAM transform makes, and UsePreviousTemplate.

LocalEmu resolves a template's references once before it applies the transform and
refuses those to resources that only the transform adds: a function's URL, say. AWS
applies the transform first. Here such a reference stays as it is until then.

It also wants a template for each update of a stack, whatever UsePreviousTemplate says,
looks once a second whether a resource is there, one resource after another, and
gives a function its code anew whatever it is that has changed. Transforms that run at
the same time break each other, and what broke is said nowhere: here one runs after
another, and the log says why a stack failed.
"""

import functools
import logging
import threading

from localemu import config
from localemu.aws.api.cloudformation import ChangeSetStatus
from localemu.services.cloudformation.engine.v2.change_set_model_executor import ChangeSetModelExecutor
from localemu.services.cloudformation.engine.v2.change_set_model_transform import ChangeSetModelTransform
from localemu.services.cloudformation.engine.validations import ValidationError
from localemu.services.cloudformation.resource_provider import ResourceProviderExecutor
from localemu.services.cloudformation.stores import get_cloudformation_store
from localemu.services.cloudformation.v2.provider import CloudformationProviderV2, find_stack_v2
from localemu.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider

LOG = logging.getLogger(__name__)


def apply() -> None:
    for name in ("visit_node_intrinsic_function_fn_get_att", "visit_node_intrinsic_function_ref"):
        setattr(ChangeSetModelTransform, name, tolerant(getattr(ChangeSetModelTransform, name)))
    ResourceProviderExecutor.deploy_loop = functools.partialmethod(ResourceProviderExecutor.deploy_loop, sleep_time=0.1)
    CloudformationProviderV2._setup_change_set_model = staticmethod(one_at_a_time(CloudformationProviderV2._setup_change_set_model))
    ChangeSetModelExecutor.execute = telling(ChangeSetModelExecutor.execute)
    config.BOTO_WAITER_DELAY = 0.1  # of its own clients
    LambdaFunctionProvider.update = with_changed_code(LambdaFunctionProvider.update)
    CloudformationProviderV2.update_stack = with_previous_template(CloudformationProviderV2.update_stack)


def tolerant(visit):
    def visit_or_leave(self, node):
        try:
            return visit(self, node)
        except ValidationError:
            return self.visit(node.arguments)

    return visit_or_leave


def one_at_a_time(setup):
    lock = threading.Lock()

    def alone(change_set, **kwargs):
        with lock:
            setup(change_set=change_set, **kwargs)
        if change_set.status == ChangeSetStatus.FAILED:
            LOG.warning("the change set of %s failed: %s", change_set.stack.stack_name, change_set.status_reason)

    return alone


def telling(execute):
    @functools.wraps(execute)
    def execute_and_tell(self):
        result = execute(self)
        if result.failure_message:
            LOG.warning("the stack %s failed: %s", self._change_set.stack.stack_name, result.failure_message)
        return result

    return execute_and_tell


def with_changed_code(update_function):
    def update(self, request):
        code = request.desired_state.get("Code")
        if code is None or code != request.previous_state.get("Code"):
            return update_function(self, request)
        del request.desired_state["Code"]
        event = update_function(self, request)
        event.resource_model["Code"] = code
        return event

    return update


def with_previous_template(update_stack):
    @functools.wraps(update_stack)  # with the marks that make it a handler
    def update(self, context, request):
        if request.get("UsePreviousTemplate"):
            stack = find_stack_v2(get_cloudformation_store(context.account_id, context.region), request["StackName"])
            if stack:
                request["TemplateBody"] = stack.template_body
        return update_stack(self, context, request)

    return update
