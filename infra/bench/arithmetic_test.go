package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTheMedianIsTheMiddleOrTheMeanOfTheMiddleTwo(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{[]float64{5}, 5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
	in := []float64{3, 1, 2}
	median(in)
	if diff := cmp.Diff([]float64{3, 1, 2}, in); diff != "" {
		t.Errorf("median reorders its argument: %s", diff)
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	if diff := cmp.Diff([]float64{0.5, 2}, ratios([]float64{5, 8}, []float64{10, 4, 7})); diff != "" {
		t.Error(diff)
	}
}

func TestRatesAreEventsOverSeconds(t *testing.T) {
	if got := perSecond(300, 1_000_000_000, 2_500_000_000); got != 200 {
		t.Errorf("300 in 1.5 s are %v/s, want 200", got)
	}
}

func TestBucketQuantilesAreLinearWithinABucket(t *testing.T) {
	// 50 values up to 10, 40 from 10 to 20, 10 beyond.
	b := []bucket{{math.Inf(1), 100}, {10, 50}, {20, 90}}
	for _, c := range []struct{ q, want float64 }{{0.25, 5}, {0.5, 10}, {0.7, 15}, {0.9, 20}, {0.99, 20}} {
		if got := bucketQuantile(b, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("quantile %v = %v, want %v", c.q, got, c.want)
		}
	}
	if got := bucketQuantile([]bucket{{1, 0}, {math.Inf(1), 0}}, 0.5); !math.IsNaN(got) {
		t.Errorf("quantile of an empty histogram = %v, want NaN", got)
	}
	if got := bucketQuantile([]bucket{{1, 0}, {2, 0}, {4, 10}, {math.Inf(1), 10}}, 0); got < 2 || got > 4 {
		t.Errorf("the least value = %v, want it in the only filled bucket, 2 to 4", got)
	}
}

func TestCPUTimeIsReadBehindAProgramNameWithSpacesAndParentheses(t *testing.T) {
	const stat = "4242 (a (b) c) S 1 4242 4242 0 -1 4194560 2029 0 0 0 321 45 7 8 20 0 9 0 100 1000000 2000 18446744073709551615 1 1 0"
	got, err := parseCPU([]byte(stat))
	if err != nil || got != 3660*time.Millisecond {
		t.Errorf("%v, %v; want 3.66 s (321 + 45 ticks of 10 ms)", got, err)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 2", strings.Replace(stat, "321", "many", 1)} {
		if _, err := parseCPU([]byte(bad)); err == nil {
			t.Errorf("no error from %q", bad)
		}
	}
}

func TestBusyTimeLeavesOutIdlingAndGuests(t *testing.T) {
	got, err := parseBusy("cpu  100 20 30 4000 500 6 7 8 900 1000\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
	if err != nil || got != 1710*time.Millisecond {
		t.Errorf("%v, %v; want 1.71 s (100 + 20 + 30 + 6 + 7 + 8 ticks)", got, err)
	}
	for _, bad := range []string{"", "cpu0 1 1 1 1 1 1 1 1", "cpu 1 2", "cpu a 1 1 1 1 1 1 1"} {
		if _, err := parseBusy(bad); err == nil {
			t.Errorf("no error from %q", bad)
		}
	}
}

func TestMemoryIsReadInUnitsOf1024Bytes(t *testing.T) {
	got, err := parseMemory([]byte("Name:\tpostino\nVmPeak:\t 999 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t9\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(memory{Resident: 1 << 20, Peak: 2 << 20}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "VmHWM:\t1 kB\n", "VmHWM:\tx kB\nVmRSS:\t1 kB\n"} {
		if _, err := parseMemory([]byte(bad)); err == nil {
			t.Errorf("no error from %q", bad)
		}
	}
}

const scraped = `# HELP go_memstats_mallocs_total Total number of heap objects allocated.
# TYPE go_memstats_mallocs_total counter
go_memstats_mallocs_total 1.25e+06
# TYPE postino_delivered_total counter
postino_delivered_total{protocol="http"} 3
postino_delivered_total{protocol="https"} 4
# TYPE postino_retry_lateness_seconds histogram
postino_retry_lateness_seconds_bucket{lane="a",le="0.01"} 8
postino_retry_lateness_seconds_bucket{lane="a",le="+Inf"} 10
postino_retry_lateness_seconds_sum{lane="a"} 1
postino_retry_lateness_seconds_count{lane="a"} 10
postino_retry_lateness_seconds_bucket{lane="b",le="0.01"} 10
postino_retry_lateness_seconds_bucket{lane="b",le="+Inf"} 10
postino_retry_lateness_seconds_sum{lane="b"} 0.01
postino_retry_lateness_seconds_count{lane="b"} 10
`

func TestMetricsAreSummedOverTheirLabels(t *testing.T) {
	m, err := parseMetrics(strings.NewReader(scraped))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := m.allocations(); !ok || v != 1.25e6 {
		t.Errorf("allocations %v %v, want 1.25e6", v, ok)
	}
	if v, ok := m.total("postino_delivered_total"); !ok || v != 7 {
		t.Errorf("delivered %v %v, want 7", v, ok)
	}
	if _, ok := m.total("postino_nothing"); ok {
		t.Error("a metric that is not there has a value")
	}
	if got := bucketQuantile(m.histogram("retry_lateness_seconds"), 0.45); math.Abs(got-0.005) > 1e-9 {
		t.Errorf("quantile 0.45 of 18 of 20 within 10 ms = %v, want 0.005", got)
	}
	if _, ok := metrics(nil).allocations(); ok {
		t.Error("a server without metrics has allocations")
	}
}

func TestMountTypeIsThatOfTheLongestMountPoint(t *testing.T) {
	const mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/vdb /tmp/disk xfs rw 0 0\noverlay /t overlay rw 0 0\n"
	for dir, want := range map[string]string{
		"/home/x": "ext4", "/tmp": "tmpfs", "/tmp/a": "tmpfs", "/tmp/disk/a": "xfs", "/tmp/diskette": "tmpfs", "/t/a": "overlay",
	} {
		if got := mountType(mounts, dir); got != want {
			t.Errorf("%s lies on %q, want %q", dir, got, want)
		}
	}
}

func TestUnknownFiguresAreNullInJSONAndADashInPrint(t *testing.T) {
	raw, err := json.Marshal(series{1.5, math.NaN(), math.Inf(1)})
	if err != nil || string(raw) != "[1.5,null,null]" {
		t.Errorf("%s, %v", raw, err)
	}
	var back series
	if err := json.Unmarshal(raw, &back); err != nil || back[0] != 1.5 || !math.IsNaN(back[1]) {
		t.Errorf("read back as %v, %v", back, err)
	}
	for f, want := range map[figure]string{0: "0", 0.123: "0.12", 12.34: "12.3", 4321.7: "4322", -3.14: "-3.14"} {
		if got := f.String(); got != want {
			t.Errorf("%v prints as %q, want %q", float64(f), got, want)
		}
	}
	if got := unknown.String(); got != "–" {
		t.Errorf("an unknown figure prints as %q", got)
	}
}

func TestBitmapsKeepWhatWasAddedThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Int64Range(-5, 3000)).Draw(t, "numbers")
		var b bitmap
		want := map[int64]bool{}
		for _, i := range in {
			if fresh := b.add(i); fresh != (i >= 0 && !want[i]) {
				t.Fatalf("add(%d) says new: %v", i, fresh)
			}
			if i >= 0 {
				want[i] = true
			}
		}
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back bitmap
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		got := map[int64]bool{}
		back.each(func(i int64) { got[i] = true })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if back.count() != int64(len(want)) {
			t.Fatalf("count %d, want %d", back.count(), len(want))
		}
		for i := int64(-5); i < 3000; i++ {
			if back.has(i) != want[i] {
				t.Fatalf("has(%d) = %v", i, back.has(i))
			}
		}
	})
}

func TestMarkersAreReadBackWhereverTheyStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := marker{
			Run: rapid.Uint32().Draw(t, "run"), Seq: rapid.Int64Range(0, 9_999_999_999).Draw(t, "seq"),
			At: rapid.Int64Range(0, math.MaxInt64).Draw(t, "at"),
		}
		prefix := rapid.StringMatching(`[a-z"{:]{0,20}`).Draw(t, "prefix")
		message := newMessage()
		want.put(message)
		got, offset, ok := findMarker([]byte(prefix + string(message)))
		if !ok || offset != len(prefix) || got != want {
			t.Fatalf("read %+v at %d (%v), want %+v at %d", got, offset, ok, want, len(prefix))
		}
	})
}

func FuzzFindMarker(f *testing.F) {
	message := newMessage()
	marker{Run: 7, Seq: 8, At: 9}.put(message)
	f.Add(message)
	f.Add([]byte(markerPrefix))
	f.Add([]byte("PBM1.0000000g.0000000008.0000000000000000009."))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, offset, ok := findMarker(body)
		if !ok {
			return
		}
		again := make([]byte, markerLen)
		m.put(again)
		if !strings.EqualFold(string(again), string(body[offset:offset+markerLen])) {
			t.Fatalf("%q was read as %q", body[offset:offset+markerLen], again)
		}
	})
}
