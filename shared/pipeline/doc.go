// Package pipeline is the four verbs of Postino: Publish, Fanout, Deliver and
// Redrive, over the small ports in ports.go. It knows no SDK, no database and
// no HTTP server; adapters implement the ports and must pass the suites in
// shared/conformance.
//
// What a crash, a duplicate or a lost write may do to a delivery is settled in
// one page of code, fence.go; docs/reliability.md explains it.
package pipeline
