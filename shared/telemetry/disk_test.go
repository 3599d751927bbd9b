package telemetry

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
)

// disk is a file whose room can run out.
type disk struct {
	io.WriteCloser
	mu   sync.Mutex
	room int
	hung chan struct{}
}

func (d *disk) Write(p []byte) (int, error) {
	if d.hung != nil {
		<-d.hung
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(p), d.room)
	d.room -= n
	n, err := d.WriteCloser.Write(p[:n])
	if err == nil && n < len(p) {
		err = errors.New("no space left on device")
	}
	return n, err
}

func (d *disk) setRoom(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = n
}

func onDisk(t *testing.T, dir string, d *disk, log *slog.Logger) *DeliveryLog {
	files := &rotation{path: filepath.Join(dir, DeliveryLogFile), maxSize: 1 << 30, keep: 1}
	if err := files.open(); err != nil {
		t.Fatal(err)
	}
	d.WriteCloser = files.f
	files.f = d
	return startDeliveryLog(files, log)
}

func TestAFullDiskDropsRecordsCountsThemAndWarnsOnce(t *testing.T) {
	dir := t.TempDir()
	var warnings bytes.Buffer
	line, _ := appendRecord(nil, new(numbered(0)))
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: len(line)*2 + 10} // two records and a bit of the third
		l := onDisk(t, dir, d, textLogger(&warnings, slog.LevelInfo))
		flush := func(numbers ...int) {
			for _, n := range numbers {
				l.Observe(numbered(n))
			}
			time.Sleep(flushEvery)
			synctest.Wait()
		}
		flush(1, 2, 3, 4)
		flush(5)
		flush(6)
		if l.Dropped() != 4 {
			t.Errorf("%d dropped, want 4", l.Dropped())
		}
		if n := strings.Count(warnings.String(), "level=WARN"); n != 1 || strings.Contains(warnings.String(), "level=INFO") {
			t.Errorf("%d warnings: %s", n, warnings.String())
		}
		d.setRoom(1 << 20)
		flush(7)
		flush(8)
		if n := strings.Count(warnings.String(), "level=INFO"); n != 1 {
			t.Errorf("the recovery was told %d times: %s", n, warnings.String())
		}
		if err := l.Close(); err != nil || l.Dropped() != 4 {
			t.Errorf("%v, %d dropped", err, l.Dropped())
		}
	})
	if diff := cmp.Diff([]string{"m000008", "m000007", "m000002", "m000001"}, read(t, dir, DeliveryFilter{}, 10)); diff != "" {
		t.Error(diff)
	}
}

func TestADiskThatHangsHoldsNobodyUpAndFillsNoMemory(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: 1 << 30, hung: make(chan struct{})}
		l := onDisk(t, dir, d, nil)
		const events = 100_000
		for n := range events {
			l.Observe(numbered(n)) // would deadlock the bubble if it waited
		}
		if held := len(l.waiting); held > maxWaiting+4096 {
			t.Errorf("%d bytes are held", held)
		}
		if l.Dropped() == 0 {
			t.Error("nothing was dropped")
		}
		l.Observe(event(pipeline.EventRetry)) // ends nothing, so nothing of it is lost
		dropped := l.Dropped()
		close(d.hung)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := len(read(t, dir, DeliveryFilter{}, events)); got+int(dropped) != events {
			t.Errorf("%d written and %d dropped of %d", got, dropped, events)
		}
	})
}
