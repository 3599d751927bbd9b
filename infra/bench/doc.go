// Command bench measures a Postino server from outside, through its public API.
//
// Client, server and receiver are separate processes on loopback: the program
// starts the server binary, and itself twice more ("bench receiver" and "bench
// client"), and drives both over their standard input. Deliveries a second are
// set against straight keep-alive POSTs of the very bytes the server pushed,
// made by the same client to the same receiver, in turns within one run, so
// that the ratio survives a busy or a slow machine.
//
// "bench aws" uses the same client and receiver on a deployed stack (aws.go).
//
// What it reports, and what it holds the figures against, is in targets.go. A
// missed target is printed as MISSED and is no failure; the exit code is 1 when
// something was lost or broken, or a phase could not be measured in its time.
package main
