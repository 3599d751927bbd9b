// Package deploytest runs infra/deploy.sh, which is make deploy, against the
// emulated AWS that AWS_ENDPOINT_URL leads to, and make local-aws on a port of its own.
package deploytest
