#!/usr/bin/env bash
# Subscribes an endpoint to a topic and publishes to it, with the AWS CLI.
#
#     eval "$(bin/postino env)"
#     samples/sdk/cli/publish.sh http://127.0.0.1:8080/
set -euo pipefail

topic=$(aws sns create-topic --name orders-cli --query TopicArn --output text)
if (($# > 0)); then
  subscription=$(aws sns subscribe --topic-arn "$topic" --protocol http --notification-endpoint "$1" \
    --return-subscription-arn --query SubscriptionArn --output text \
    --attributes '{"DeliveryPolicy":"{\"healthyRetryPolicy\":{\"numRetries\":10,\"minDelayTarget\":5,\"maxDelayTarget\":260,\"backoffFunction\":\"exponential\"}}"}')
  echo "waiting for $1 to confirm …"
  for ((i = 0; ; i++)); do
    pending=$(aws sns get-subscription-attributes --subscription-arn "$subscription" --query Attributes.PendingConfirmation --output text)
    [[ $pending == false ]] && break
    ((i < 30)) || { echo "$1 has not confirmed: what does the receiver say?" >&2; exit 1; }
    sleep 1
  done
fi
aws sns publish --topic-arn "$topic" --subject 'Order paid' --message '{"order":1042}' \
  --message-attributes '{"kind":{"DataType":"String","StringValue":"paid"}}' --query MessageId --output text
