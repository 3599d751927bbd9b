// Package integration tests a deployed stack from outside: it publishes through
// the Function URL with the SNS SDK and looks at what subscribers, queues,
// schedules and functions then do. The stack is the one that AWS_ENDPOINT_URL
// leads to and POSTINO_STACK names ("postino" unless set); nothing is deployed
// here. SNS calls are signed with the key in POSTINO_ACCESS_KEY_ID and
// POSTINO_SECRET_ACCESS_KEY, one of the stack's own. Endpoints are on this host,
// so the stack must allow loopback networks, as infra/local/sam.sh deploys it.
//
//	make integration
package integration
