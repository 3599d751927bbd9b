"""Resource types that LocalEmu's CloudFormation lacks."""

from localemu.services.cloudformation.resource_provider import (
    CloudFormationResourceProviderPlugin,
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
)


def done(request) -> ProgressEvent:
    return ProgressEvent(status=OperationStatus.SUCCESS, resource_model=request.desired_state, custom_context=request.custom_context)


class Dashboard(ResourceProvider):
    TYPE = "AWS::CloudWatch::Dashboard"
    SCHEMA = {"typeName": TYPE, "primaryIdentifier": ["/properties/DashboardName"]}

    def create(self, request) -> ProgressEvent:
        wanted = request.desired_state
        request.aws_client_factory.cloudwatch.put_dashboard(DashboardName=wanted["DashboardName"], DashboardBody=wanted["DashboardBody"])
        return done(request)

    update = create

    def delete(self, request) -> ProgressEvent:
        request.aws_client_factory.cloudwatch.delete_dashboards(DashboardNames=[request.desired_state["DashboardName"]])
        return done(request)


class QueryDefinition(ResourceProvider):
    """Saved queries are there for people alone: a stack may have them."""

    TYPE = "AWS::Logs::QueryDefinition"
    SCHEMA = {"typeName": TYPE, "primaryIdentifier": ["/properties/Name"]}

    def create(self, request) -> ProgressEvent:
        return done(request)

    update = delete = create


class DashboardPlugin(CloudFormationResourceProviderPlugin):
    name = Dashboard.TYPE

    def load(self):
        self.factory = Dashboard


class QueryDefinitionPlugin(CloudFormationResourceProviderPlugin):
    name = QueryDefinition.TYPE

    def load(self):
        self.factory = QueryDefinition
