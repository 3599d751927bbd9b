package host_test

import (
	"regexp"
	"strconv"
	"testing"

	"postino/cmd/postino/internal/host"
)

func TestAllThatHasExpiredIsForgottenHoweverMuchItIs(t *testing.T) {
	t.Parallel()
	h, s := open(t, t.TempDir())
	ok(t, h.Seed(t.Context(), 2*host.TidyStep+host.TidyStep/2))
	run(t, h, s)
	eventually(t, "no expired record is left", func() bool { return must[int64](t)(h.Records(t.Context())) == 0 })
}

func TestTheMetricsTellHowFarAheadThrottledSlotsAreReserved(t *testing.T) {
	t.Parallel()
	h, s := open(t, t.TempDir())
	run(t, h, s)
	backlog := func() float64 {
		found := regexp.MustCompile(`(?m)^postino_throttle_backlog_seconds ([0-9.e+-]+)$`).FindSubmatch(get(t, s.url+"/metrics"))
		if found == nil {
			t.Fatal("there is no such gauge")
		}
		return must[float64](t)(strconv.ParseFloat(string(found[1]), 64))
	}
	if b := backlog(); b != 0 {
		t.Errorf("%v seconds with nothing reserved", b)
	}
	ok(t, h.Reserve(t.Context(), 1, 3600))
	if b := backlog(); b <= 3000 || b > 3600 {
		t.Errorf("%v seconds with an hour reserved", b)
	}
}
