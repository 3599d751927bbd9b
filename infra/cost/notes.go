package main

import (
	"fmt"
	"math"
	"strings"
)

// notes say how warm caches are, and what no row has.
func notes(all []Counted, p Prices) string {
	reads := func(name string) float64 { return find(all, name).Usage[ReadUnit] }
	dollars := func(u Unit, n float64) string { return fmt.Sprintf("$%.2f", million*n*p.Unit[u]) }
	// What comes alone, caches cold, reads for each publish its caller's key and for
	// each delivery what Deliver keeps; a publish is one delivery here and ten there.
	extra1, extra10 := reads("first-1-alone")-reads("first-1"), reads("first-10-alone")-reads("first-10")
	key := math.Round(2*(extra1-extra10)/(1-1.0/10)) / 2 // read units come in halves
	one := reads("first-1-cold") - reads("first-1") - key
	ten := reads("first-10-cold") - reads("first-10") - key/10
	invoked := func(name string) string { return dollars(LogByte, lambdaLines*find(all, name).Usage[Invoke]) }
	return fmt.Sprintf(`
### Cold caches

A process keeps what it has read for five seconds: Deliver a subscription with its
topic (a weak and a strong read, %s units), the Function URL its caller's key (%s).
Rows of batch 1 are counted with cold caches, which is what a lone message finds;
rows of batch 10, and what waits for a slot, with warm ones, unless they say
otherwise. To a row of batch 10 cold ones add %s read units of Deliver's, %s
a million, where its ten jobs are for ten subscriptions, and %s, %s, where they are
for one; to a publish the caller's key, %s a million. What comes by direct invoke or
EventBridge has no caller's key.

### What no row has

- Lambda's own log lines (START, END, REPORT): about %d bytes an invocation, %s a
  million invocations. That is %s for the first row and %s where each comes by
  itself.
- TLS handshakes: the endpoints of the counts speak plain HTTP. A new connection sends
  about %d KB, %s a million.
- The answers of the Function URL: about %d KB with headers, %s a million publishes.
- Cold starts: their time is billed, and a process asks once in its life for the URLs
  of its queues, for the signing key, for a caller's key at KMS (%s a million), and
  for a topic's subscriptions once and after each change of them.
- Log storage: $%.2f a GB and month.
- Free tiers.
`, number(extra1-key), number(key), number(ten), dollars(ReadUnit, ten), number(one), dollars(ReadUnit, one), dollars(ReadUnit, key),
		lambdaLines, dollars(LogByte, lambdaLines), invoked("first-10"), invoked("first-10-alone"),
		handshake/1000, dollars(EgressByte, handshake), answer/1000, dollars(EgressByte, answer), fmt.Sprintf("$%.2f", million*p.Other.KMSRequest), p.Other.LogGBMonth)
}

// links are AWS's pages of prices.
func (p Prices) links() string {
	var out []string
	for _, page := range p.Pages {
		out = append(out, fmt.Sprintf("[%s](%s)", page.Name, page.URL))
	}
	return strings.Join(out, ", ")
}
