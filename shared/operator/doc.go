// Package operator is what a person does with a running Postino: look at
// deliveries and dead letters, send them again, pause a subscription, send a
// test. Operator holds the verbs over the small ports in ports.go, HTTP serves
// them as JSON under /_postino/v1/, and Client is the other end, which the
// command line uses. Dial gives a Client of the server that runs on a data
// directory, Local one of an Operator in the same process. Nothing here knows
// where deliveries and queues are kept.
package operator
