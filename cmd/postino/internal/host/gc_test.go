package host

import "testing"

func TestGarbageMayGatherToTheFloorOrTheLiveHeapWhicheverIsLarger(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 100}, {1 << 20, 1000}, {16 << 20, 200}, {32 << 20, 100}, {500 << 20, 100}} {
		if got := gcPercent(c.live); got != c.want {
			t.Errorf("live %d MiB: GOGC %d, want %d", c.live>>20, got, c.want)
		}
	}
}
