// Package integration tests a deployed stack from outside: it publishes through
// the Function URL with the SNS SDK and looks at what subscribers, queues,
// schedules and functions then do. The stack is the one that AWS_ENDPOINT_URL
// leads to and POSTINO_STACK names ("postino" unless set). SNS calls are signed
// with the key in POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY, one of the
// stack's own. Endpoints are on this host, so the stack must allow loopback
// networks, as infra/local/sam.sh deploys it.
//
// Tests run side by side. What would disturb others (another configuration, a
// failing store, a killed process) is done to a copy of the stack: the deployed
// template once more, under a name of the test's own (own). A copy's functions can
// be sent to AWS through the test (stand), which counts their calls and fails some.
//
// A push is never early; how late a busy machine may be is one constant (late).
//
//	make integration
package integration
