# shellcheck shell=bash
# Sourced by scripts that run sam build, whose Go builder takes its flags from the
# environment alone. The functions are built without symbols, debugging data and
# paths of this machine, and without the RPC mode that only Lambda's retired go1.x
# runtime used: half of the size goes, and with it time at each cold start.

# stripped COMMAND... runs a build with those flags, after one's own.
stripped() {
  GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath -tags=lambda.norpc -ldflags=-s" CGO_ENABLED=0 "$@"
}
