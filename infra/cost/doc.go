// Command cost writes docs/cost.md: what Postino asks of AWS, counted, times the
// list prices of prices.json.
//
// The counts come from named scenarios that run the functions' own handlers on
// the AWS adapters against an emulator, through a transport that counts calls and
// billable units (meter.go). They are kept in counts.json, which the same
// scenarios check again in every integration run:
//
//	go test -tags integration ./infra/cost  check counts.json; make integration does
//	make cost-counts                        write it and docs/cost.md
//	make cost                               write docs/cost.md from it
//
// What no transport sees is modelled, in model.go and in the page's own words:
// the receives and deletes of the event source mappings, and how long an
// invocation lasts on AWS.
package main
