#!/usr/bin/env bash
# Subscribes an endpoint to a topic and publishes to it, with the AWS CLI.
#
#     eval "$(bin/postino env)"        # nothing below knows of Postino
#     samples/sdk/cli/publish.sh http://127.0.0.1:8080/
set -euo pipefail

topic=$(aws sns create-topic --name orders --query TopicArn --output text)
if (($# > 0)); then
  aws sns subscribe --topic-arn "$topic" --protocol http --notification-endpoint "$1" --output text \
    --attributes '{"DeliveryPolicy":"{\"healthyRetryPolicy\":{\"numRetries\":10,\"minDelayTarget\":5,\"maxDelayTarget\":260,\"backoffFunction\":\"exponential\"}}"}'
  read -rp 'Press Enter when the receiver says that it has confirmed … '
fi
aws sns publish --topic-arn "$topic" --subject 'Order paid' --message '{"order":1042}' \
  --message-attributes '{"kind":{"DataType":"String","StringValue":"paid"}}' --query MessageId --output text
