#!/usr/bin/env bash
# The stack of template.yaml on emulated AWS, put there by the real SAM CLI, which
# is installed once into .cache/sam.
#
#   infra/local/sam.sh up   [PORT]   start the emulator, build, deploy; prints what to export
#   infra/local/sam.sh down [PORT]   stop the emulator and with it the stack
#   infra/local/sam.sh env  [PORT]   export lines for a stack that is up
#   infra/local/sam.sh sam  [PORT] ARGUMENTS...   run sam against the emulator
#   infra/local/sam.sh install     install the SAM CLI, once
#   infra/local/sam.sh lint        check the templates with sam validate and cfn-lint
#
# PORT is 4566 unless given. EMULATOR is ministack or localemu: unless set, the one
# that was started on PORT, or ministack.
set -euo pipefail

VERSION=1.170.0
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$root/.cache/sam
command=${1:-}
port=${2-4566}
. "$root/infra/local/port.sh"
is_port "$port"
emulator=${EMULATOR:-}
if [[ -z $emulator ]]; then
  # Also where it hangs or has died, so that down ends what is left of it.
  [[ -d $root/.cache/localemu-run/$port ]] && emulator=localemu || emulator=ministack
fi
run=$root/.cache/$emulator-run/$port
url=http://127.0.0.1:$port
stack=postino
# A folder for each port: builds for others may be under way.
built=$root/.aws-sam/$port/build
# The first key's secret is told once; down removes it with everything else.
keyfile=$run/key
# Endpoints on this host are for this stack only: AWS has nothing of its own there.
networks=${ALLOW_NETWORKS:-127.0.0.0/8}
# Any queue of the emulated account may be a subscriber's dead-letter queue, unless
# the tests, which make their own, say which.
queues=${DEAD_LETTER_QUEUE_ARNS:-arn:aws:sqs:us-east-1:000000000000:*}
# The longest wait that is left to a queue, in seconds: with 10 the benchmark sees
# schedules within seconds.
delay=${QUEUE_DELAY_SECONDS:-900}
events=arn:aws:sns:us-east-1:000000000000:events
# In sam's own quoting.
pattern='"{\"source\":[\"postino.sample\"]}"'

usage() { sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }

case $emulator in
  ministack | localemu) ;;
  *) echo "no emulator is called $emulator: ministack and localemu are (STACK=… with make, EMULATOR=… with this script)" >&2; exit 2 ;;
esac

# shellcheck source=infra/local/stripped.sh
. "$root/infra/local/stripped.sh"

install() {
  "$root/infra/local/venv.sh" "$venv" "$VERSION" "SAM CLI $VERSION (about 95 s, 340 MB)" "aws-sam-cli==$VERSION"
}

# emulated runs a command without this machine's own AWS settings, lest anything
# reach an account.
emulated() { (become "$@"); }

become() {
  cd "$root"
  local own
  for own in $(compgen -e AWS_); do
    unset "$own"
  done
  exec env NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null \
    AWS_ENDPOINT_URL="$url" AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test \
    AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0 CGO_ENABLED=0 "$@"
}

# cli is the SAM CLI as an emulator needs it: emulated_sam.py says why.
cli=("$venv/bin/python" "$root/infra/local/emulated_sam.py")

sam() { emulated "${cli[@]}" "$@"; }

# architecture is the host's: the emulator runs functions as processes.
architecture() {
  case $(uname -m) in
    aarch64 | arm64) echo arm64 ;;
    *) echo x86_64 ;;
  esac
}

output() {
  sam list stack-outputs --stack-name "$stack" --output json |
    "$venv/bin/python" -c 'import json, sys
for o in json.load(sys.stdin):
    if o["OutputKey"] == sys.argv[1]: print(o["OutputValue"])' "$1"
}

# deploy is quiet unless it fails; the parameters are "Name=Value" words.
deploy() {
  local log=$run/deploy.log
  if ! sam deploy --template-file "$built/template.yaml" --config-file "$root/samconfig.toml" --parameter-overrides "Arch=$(architecture)" "AllowNetworks=$networks" "EventTopicArn=$events" "DeadLetterQueueArns=$queues" \
    "EventPattern=$pattern" "QueueDelaySeconds=$delay" ProtectTable=false Trace=yes "$@" >"$log" 2>&1; then
    sed 's/.*\r//; /Uploading to/d' "$log" >&2
    exit 1
  fi
}

# public turns the Function URL, a host name of AWS's, into one that this machine
# can reach.
public() {
  local id=${1#*://}
  echo "$url/_aws/lambda-url/${id%%.*}"
}

# given_up says why up did not come to its end, if the emulator has died, and stops
# what it has started.
given_up() {
  "$root/infra/local/$emulator.sh" alive "$port" || true
  [[ -n $before ]] || "$root/infra/local/$emulator.sh" stop "$port"
}

up() {
  command -v "${GO:-go}" >/dev/null || { echo "${GO:-go} is not installed: install Go 1.26 or later, the functions are built with it" >&2; exit 1; }
  writable "$root/.cache"
  exec 8>"$root/.cache/$port.up.lock"
  if command -v flock >/dev/null && ! flock -n 8; then
    echo "another deployment to port $port is under way: wait for it, or choose another port (with make: LOCAL_AWS_PORT)" >&2
    exit 1
  fi
  "$root/infra/local/$emulator.sh" alive "$port" 2>/dev/null && before=yes || before=
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  "$root/infra/local/$emulator.sh" start "$port" >/dev/null
  trap given_up EXIT
  install
  echo "building the functions" >&2
  stripped sam build --build-dir "$built" --parameter-overrides "Arch=$(architecture)" >"$run/build.log" 2>&1 || {
    cat "$run/build.log" >&2
    exit 1
  }
  echo "deploying the stack $stack" >&2
  local at
  at=$(output FunctionUrl 2>/dev/null || true)
  if [[ -z $at ]]; then
    deploy
    at=$(output FunctionUrl)
  fi
  # Only now is the id known that links must have.
  deploy "PublicURL=$(public "$at")"
  if [[ ! -s $keyfile ]]; then
    (umask 077 && emulated "${GO:-go}" run ./cmd/postino keys add --stack "$stack" --note "made by sam.sh" >"$keyfile")
  fi
  trap - EXIT
  environment
  example
}

down() {
  local started= other others=
  [[ ! -d $run ]] || started=yes
  "$root/infra/local/$emulator.sh" stop "$port"
  [[ -z $started ]] || { echo "$emulator on port $port is stopped" >&2; return; }
  for other in "$root"/.cache/{ministack,localemu}-run/*; do
    [[ ! -d $other ]] || others+=" ${other##*/}"
  done
  echo "nothing was started on port $port${others:+; there is something on:$others}" >&2
}

environment() {
  local endpoint=
  [[ ! -s $keyfile ]] || ! "$root/infra/local/$emulator.sh" alive "$port" 2>/dev/null || endpoint=$(output EndpointUrl 2>/dev/null) || endpoint=
  [[ -n $endpoint ]] || { echo "no stack is up on port $port: infra/local/sam.sh up $port" >&2; exit 1; }
  cat <<END
unset AWS_PROFILE AWS_SESSION_TOKEN
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost
export AWS_ENDPOINT_URL=$url
export AWS_ENDPOINT_URL_SNS=$endpoint
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
$(sed -n 's/AWS_/POSTINO_/g; /^export/p' "$keyfile")
END
}

# example goes to standard error: what is on standard output can be evaluated. SNS
# calls are signed with the key of Postino's own, everything else with the emulator's.
example() {
  local command='  (export AWS_ACCESS_KEY_ID=$POSTINO_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY=$POSTINO_SECRET_ACCESS_KEY; aws sns publish --message Hello --topic-arn "$(aws sns create-topic --name orders --query TopicArn --output text)")'
  cat >&2 <<END

Set these (infra/local/sam.sh env $port prints them again), then publish with one command:
$command
Nobody is subscribed yet: docs/local-stacks.md has a subscriber to try with. What failed or waits: bin/postino deliveries list --stack $stack (make build). The end: make local-aws-down LOCAL_AWS_PORT=$port
END
}

lint() {
  install
  local said
  # Its sentence about the template that is right is of no use to anybody.
  said=$(sam validate --lint 2>&1) || { echo "$said" >&2; exit 1; }
  (cd "$root" && "$venv/bin/cfn-lint" template.yaml infra/alarms.yaml infra/dashboard.yaml)
}

case $command in
  up) up ;;
  down) down ;;
  env) environment ;;
  sam) install; shift 2; become "${cli[@]}" "$@" ;;
  install) install ;;
  lint) lint ;;
  *) usage ;;
esac
