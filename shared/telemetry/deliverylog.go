package telemetry

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"postino/shared/pipeline"
)

// DeliveryLogFile is the current file's name in its directory; older ones have
// ".1" (the youngest) and so on behind it.
const DeliveryLogFile = "deliveries.log"

// Bounds of the delivery log.
const (
	// flushEvery is how long a record may stay in memory. A crash loses no more
	// than that, and the files are not synced: the log informs, the store keeps.
	flushEvery = 200 * time.Millisecond
	// flushAt wakes the writer sooner when this many bytes are waiting.
	flushAt = 256 << 10
	// maxWaiting bounds what waits for a slow disk; beyond it records are
	// dropped and counted.
	maxWaiting = 8 << 20
)

// DeliveryLogOptions of OpenDeliveryLog; the zero value has the defaults.
type DeliveryLogOptions struct {
	// MaxSize is the size in bytes at which a file is rotated; 0 means 64 MiB.
	MaxSize int64
	// Keep is how many older files stay; 0 means 3.
	Keep int
	// Log is told once when records are being lost and once when no more are;
	// nil for nobody.
	Log *slog.Logger
}

// DeliveryLog appends a Record in JSON for every delivery that ends, those that
// succeed at their first attempt included: of them there is no other record. It
// never holds the pipeline up: when the disk is full or slow, records are
// dropped, counted (Dropped) and warned of once.
type DeliveryLog struct {
	files   *rotation
	log     *slog.Logger
	dropped atomic.Uint64

	mu      sync.Mutex
	waiting []byte

	kick, stop, done chan struct{}
	closing          sync.Once

	// Only the writer uses these, and Close after it.
	spare   []byte
	failure error  // of the last write or rotation
	seen    uint64 // dropped at the last flush
	losing  bool   // records were being lost then
}

// OpenDeliveryLog opens or makes the log in dir, which must exist. A line that a
// crash left unfinished stays as it is and is skipped by readers. Close it to
// write out what is in memory.
func OpenDeliveryLog(dir string, o DeliveryLogOptions) (*DeliveryLog, error) {
	if o.MaxSize == 0 {
		o.MaxSize = 64 << 20
	}
	if o.Keep == 0 {
		o.Keep = 3
	}
	files := &rotation{path: filepath.Join(dir, DeliveryLogFile), maxSize: o.MaxSize, keep: o.Keep}
	if err := files.open(); err != nil {
		return nil, fmt.Errorf("the delivery log cannot be written: %w", err)
	}
	return startDeliveryLog(files, o.Log), nil
}

func startDeliveryLog(files *rotation, log *slog.Logger) *DeliveryLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	l := &DeliveryLog{files: files, log: log, kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l
}

// Observe takes the events that end a delivery and ignores all others.
func (l *DeliveryLog) Observe(e pipeline.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxWaiting {
		if _, ends := appendRecord(nil, &e); ends {
			l.dropped.Add(1)
		}
		return
	}
	before := len(l.waiting)
	line, ends := appendRecord(l.waiting, &e)
	if !ends {
		return
	}
	l.waiting = line
	if before < flushAt && len(line) >= flushAt {
		select {
		case l.kick <- struct{}{}:
		default:
		}
	}
}

// Dropped counts the records lost to a full or slow disk since the start.
func (l *DeliveryLog) Dropped() uint64 { return l.dropped.Load() }

// Close writes what is in memory and closes the file. Its error is that of the
// last write. Events observed later are lost. Closing twice is harmless.
func (l *DeliveryLog) Close() error {
	l.closing.Do(func() { close(l.stop) })
	<-l.done
	return l.failure
}

func (l *DeliveryLog) run() {
	defer close(l.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.flush()
		case <-l.kick:
			l.flush()
		case <-l.stop:
			l.flush()
			if err := l.files.close(); l.failure == nil {
				l.failure = err
			}
			return
		}
	}
}

// flush writes what is waiting, without holding the lock meanwhile.
func (l *DeliveryLog) flush() {
	l.mu.Lock()
	out := l.waiting
	l.waiting = l.spare[:0]
	l.mu.Unlock()
	if len(out) > 0 {
		written, err := l.files.write(out)
		l.dropped.Add(uint64(bytes.Count(out[written:], []byte{'\n'})))
		l.report(err)
	}
	if l.spare = out; cap(out) > 4*max(len(out), flushAt) {
		l.spare = nil // a burst's buffer is not kept for long
	}
}

// report speaks when trouble begins and when it is over, not in between.
func (l *DeliveryLog) report(err error) {
	lost := l.dropped.Load()
	losing := lost > l.seen || err != nil
	switch {
	case losing && !l.losing:
		l.log.Warn("the delivery log's disk is full, slow or gone: its records are dropped, deliveries go on", "dropped", lost, "error", err)
	case !losing && l.losing:
		l.log.Info("the delivery log is written again", "dropped", lost)
	}
	l.failure, l.seen, l.losing = err, lost, losing
}
