package pipeline

import (
	"testing"
	"time"
)

func TestScratch(t *testing.T) {
	for f := 0; f <= 3; f++ {
		for _, st := range []bool{false, true} {
			at := time.Now()
			c := newCode(crashPolicy)
			e, v := explore(c, limits{faults: f, waits: 1, retries: 2, stalls: st})
			t.Logf("faults %d stalls %v: %d points %d edges %d ends %d nodes %s", f, st, len(e.points), len(e.edges), len(e.ends), c.nodes, time.Since(at))
			if v != nil {
				t.Logf("%s", v)
			}
		}
	}
}

var noRecordCheck = false
