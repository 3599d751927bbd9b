package main

import "postino/infra/coldstart/figures"

const introduction = `# Cold start

<!-- Written by make coldstart and make coldstart-containers. -->

How long a function takes before it can do anything, which Lambda lets the first
caller of each new process wait for. *Init* is from the start of the process until it
asks for its first event: the Go runtime, reading the settings, making the clients,
and for Publish and Deliver the signing key, which is read from the table. *First
invocation* is from handing over the event until its answer, with the first calls of
AWS and the connections for them, here to an emulator on the same machine. The event
is one message for a topic with one subscriber, an HTTP endpoint on that machine too:

- Publish gets a signed Publish as from its Function URL. It reads the caller's key and
  has KMS open it, checks the signature, reads the topic and its subscriptions, signs
  the message, queues its job and answers 200.
- Fanout gets a page of FanoutQueue. It reads the topic's subscriptions and queues the
  job.
- Deliver gets a first attempt. It reads the subscription and its topic and pushes: the
  endpoint's answer, which comes at once, is in the time.
- Redrive gets a letter of DeadLetterQueue. It reads the subscription and queues the
  message again.

A start counts only if the answer says that the work was done and the message was then
pushed to the endpoint.

A function that does nothing but answer is measured in the same run, in turns, and
what counts is how much longer Postino's take: that part is Postino's own. What Lambda
adds is not in it: making the sandbox, fetching and unpacking the code, and a share of
a processor that goes with the memory (128 MB for Deliver, 256 MB for the others)
where a whole one is had here.

## As processes

The functions' own binaries, built as for AWS, started with the variables of a deployed
stack. A stand-in for Lambda's runtime API hands them one event.

` + "```\nmake local-aws   # a stack whose variables the functions get\nmake coldstart\n```" + `

`

const containers = `
## In containers

Each function in a container of its own, with its memory as the limit, started by the
real ` + "`sam local invoke`" + `. The times are those that the runtime emulator tells which sam
puts into the container. (Its REPORT line always shows an init of less than a
millisecond, which is not what init takes.) The making of the container is not in them.

` + "```\nmake coldstart-containers   # as root, on Linux\n```" + `

`

// page is docs/cold-start.md, of the figures of processes and of containers in two
// files.
func page(processes, contained string) (string, error) {
	alone, err := figures.Read(processes)
	if err != nil {
		return "", err
	}
	within, err := figures.Read(contained)
	if err != nil {
		return "", err
	}
	return introduction + alone.Table() + containers + within.Table(), nil
}
