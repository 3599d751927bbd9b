#!/usr/bin/env bash
# Builds Postino and deploys it into the AWS account whose credentials are set.
# AWS_ENDPOINT_URL, where it is set, decides the target as for every AWS tool.
#
#   STACK       the stack's name, postino unless set
#   REGION      the region, AWS_REGION or the profile's unless set
#   PARAMETERS  parameters of template.yaml as a shell would read them:
#               PARAMETERS="LogLevel=debug EventPattern='{\"source\":[\"orders\"]}'"
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
stack=${STACK:-postino}
venv=$root/.cache/sam
export SAM_CLI_TELEMETRY=0 CGO_ENABLED=0

. infra/local/stripped.sh

fail() { echo "make deploy: $1" >&2; exit 1; }

[[ $stack =~ ^[a-zA-Z][a-zA-Z0-9-]{0,127}$ ]] || fail "STACK=$stack is no stack name: letters, digits and hyphens, a letter first"

infra/local/sam.sh install

# account prints region and account that the credentials lead to, or says in one
# line what is missing.
account() {
  REGION=${REGION:-} "$venv/bin/python" - <<'PY'
import os, re, sys
import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, ProfileNotFound
from botocore.config import Config

try:
    session = boto3.Session(region_name=os.environ["REGION"] or os.environ.get("AWS_REGION") or None)
    if not session.region_name:
        sys.exit("make deploy: there is no region: set REGION=eu-west-1, say")
    if not re.fullmatch(r"[a-z]+(-[a-z]+)+-[0-9]+", session.region_name):
        sys.exit(f"make deploy: {session.region_name!r} is no region: set REGION=eu-west-1, say")
    if session.get_credentials() is None:
        raise NoCredentialsError()
    once = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
    print(session.region_name, session.client("sts", config=once).get_caller_identity()["Account"])
except NoCredentialsError:
    sys.exit("make deploy: there are no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
except ProfileNotFound as e:
    sys.exit(f"make deploy: AWS_PROFILE names no profile: {e}")
except ClientError as e:
    sys.exit("make deploy: the AWS credentials are not accepted (" + e.response["Error"]["Code"] + "): renew them (aws sso login), or check AWS_PROFILE")
except BotoCoreError as e:
    sys.exit(f"make deploy: AWS does not answer: {e}")
PY
}

# overrides prints PARAMETERS one a line, in sam's own quoting.
overrides() {
  PARAMETERS=${PARAMETERS:-} "$venv/bin/python" - <<'PY'
import os, re, shlex, sys

try:
    words = shlex.split(os.environ["PARAMETERS"])
except ValueError as e:
    sys.exit(f"make deploy: PARAMETERS cannot be read: {e}")
known = set(re.findall(r"^  (\w+):$", open("template.yaml").read().split("\nConditions:")[0], re.M))
for word in words:
    name, given, value = word.partition("=")
    if not given:
        sys.exit(f"make deploy: PARAMETERS has {word!r}, which is not Name=Value")
    if name not in known:
        sys.exit(f"make deploy: template.yaml has no parameter {name}: it has " + ", ".join(sorted(known)))
    if "\n" in value:
        sys.exit(f"make deploy: the value of {name} has a line break: write it in one line")
    if '\\"' in value:
        sys.exit(f"make deploy: the value of {name} has a backslash before a quotation mark, which sam cannot pass on: write \\u0022 in JSON")
    print(name + '="' + value.replace('"', '\\"') + '"')
PY
}

# architecture prints the parameter Arch of the stack as it is: sam deploy keeps
# what is not given, but sam build would build for the template's default.
architecture() {
  REGION=$region STACK=$stack "$venv/bin/python" - <<'PY'
import os, sys
import boto3
from botocore.exceptions import BotoCoreError, ClientError

try:
    stacks = boto3.client("cloudformation", region_name=os.environ["REGION"]).describe_stacks(StackName=os.environ["STACK"])["Stacks"]
except ClientError as e:
    if "does not exist" not in str(e):
        sys.exit("make deploy: the stack cannot be looked at (" + e.response["Error"]["Code"] + "): the permission cloudformation:DescribeStacks is missing")
except BotoCoreError as e:
    sys.exit(f"make deploy: AWS does not answer: {e}")
else:
    for p in stacks[0].get("Parameters", []):
        if p["ParameterKey"] == "Arch":
            print('Arch="' + p["ParameterValue"] + '"')
PY
}

# answers asks the publish function for the page that says what it is; one that cannot
# start says so. A refusal would count among its errors, which an alarm is about.
answers() {
  REGION=$region STACK=$stack "$venv/bin/python" - <<'PY'
import json, os, sys
import boto3
from botocore.exceptions import BotoCoreError, ClientError

try:
    region = os.environ["REGION"]
    stack = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=os.environ["STACK"])["Stacks"][0]
    name = {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}["PublishFunctionName"]
    http = {"method": "GET", "path": "/"}
    event = {"version": "2.0", "rawPath": "/", "requestContext": {"domainName": "localhost", "http": http}}
    answer = json.load(boto3.client("lambda", region_name=region).invoke(FunctionName=name, Payload=json.dumps(event))["Payload"])
    if "statusCode" not in answer:
        sys.exit(f"make deploy: the stack is deployed, and its publish function does not start: {answer.get('errorMessage')}; its log group says more")
except (BotoCoreError, ClientError) as e:
    sys.exit(f"make deploy: the stack is deployed, and its publish function cannot be tried: {e}")
PY
}

at=$(account) || exit 1
read -r region account <<<"$at"
parameters=$(overrides) || exit 1
override=()
while IFS= read -r word; do
  [[ -n $word ]] && override+=("$word")
done <<<"$parameters"
if [[ $'\n'$parameters != *$'\n'Arch=* ]]; then
  word=$(architecture) || exit 1
  [[ -z $word ]] || override+=("$word")
fi
((${#override[@]} == 0)) || override=(--parameter-overrides "${override[@]}")

"${MAKE:-make}" -s build
echo "Building the functions." >&2
# A folder for each target: builds for others may be under way.
built=$root/.aws-sam/$account-$region-$stack/build
stripped "$venv/bin/sam" build --build-dir "$built" "${override[@]}" >&2
echo "Deploying the stack $stack to $region of account $account${AWS_ENDPOINT_URL:+ at $AWS_ENDPOINT_URL}." >&2
# A folder for each stack in the bucket too: sam delete would take the code that
# another stack has alike.
"$venv/bin/sam" deploy --template-file "$built/template.yaml" --config-file "$root/samconfig.toml" --stack-name "$stack" --s3-prefix "$stack" --region "$region" "${override[@]}" >&2

answers
export AWS_REGION=$region
keys=$(bin/postino keys list --stack "$stack" --json) || fail "the stack is deployed, and its keys cannot be listed: see above, then run bin/postino keys list --stack $stack"
if [[ ${keys//[[:space:]]/} == "[]" ]]; then
  echo
  echo "The first key for callers. Its secret is shown this once:"
  bin/postino keys add --stack "$stack" --note first
fi
cat <<END

Postino is deployed. Next, with your own AWS credentials in the shell and a key's id
and secret in the second line:
  eval "\$(bin/postino env --stack $stack)"
  sns() { AWS_ACCESS_KEY_ID=ID AWS_SECRET_ACCESS_KEY=SECRET AWS_SESSION_TOKEN= aws sns "\$@"; }
  sns create-topic --name orders
  bin/postino deliveries list --stack $stack
docs/deploy.md tells about parameters, updates and deleting.
END
