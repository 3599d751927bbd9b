package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"postino/shared/push"
)

// DeliveryFilter narrows a reading of the delivery log; zero members match
// everything.
type DeliveryFilter struct {
	// Subscription and TopicARN are whole ARNs.
	Subscription, TopicARN string
	MessageID              string
	// States lists the ends wanted; empty means all.
	States []push.State
}

func (f DeliveryFilter) matches(r Record) bool {
	return (f.Subscription == "" || f.Subscription == r.Postino.SubscriptionARN) &&
		(f.TopicARN == "" || f.TopicARN == r.Notification.TopicARN) &&
		(f.MessageID == "" || f.MessageID == r.Notification.MessageID) &&
		(len(f.States) == 0 || slices.Contains(f.States, r.Postino.State))
}

// mayMatch spares the decoding of lines that cannot match: ids and ARNs stand in
// a line as they are.
func (f DeliveryFilter) mayMatch(line []byte) bool {
	for _, s := range []string{f.Subscription, f.TopicARN, f.MessageID} {
		if s != "" && !bytes.Contains(line, []byte(s)) {
			return false
		}
	}
	return true
}

// ReadDeliveryLog gives up to limit matching records of the log in dir, newest
// first, older files included. The log may be written meanwhile: what is still
// in the writer's memory (200 ms) is not seen, and a line that is cut off is
// skipped. No log is an empty one.
func ReadDeliveryLog(dir string, f DeliveryFilter, limit int) ([]Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	var found []Record
	files, err := openNewestFirst(filepath.Join(dir, DeliveryLogFile))
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		err := linesBackwards(file, func(line []byte) bool {
			var r Record
			if f.mayMatch(line) && json.Unmarshal(line, &r) == nil && r.Status != "" && f.matches(r) {
				found = append(found, r)
			}
			return len(found) < limit
		})
		if err != nil || len(found) >= limit {
			return found, err
		}
	}
	return found, nil
}

// openNewestFirst opens the current file and the older ones. A rotation in
// between can show the same file under two names, but hides none.
func openNewestFirst(path string) (files []*os.File, err error) {
	r := rotation{path: path}
	for n := 0; ; n++ {
		file, err := os.Open(r.older(n))
		if errors.Is(err, fs.ErrNotExist) {
			if n == 0 {
				continue // a new file is about to be made
			}
			return files, nil
		}
		if err != nil {
			return files, err
		}
		if len(files) > 0 && same(files[len(files)-1], file) {
			_ = file.Close()
			continue
		}
		files = append(files, file)
	}
}

func same(a, b *os.File) bool {
	ia, errA := a.Stat()
	ib, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// linesBackwards hands f's lines to each, last one first, until each says no.
// The line is only valid during the call.
func linesBackwards(f *os.File, each func(line []byte) bool) error {
	const block, longest = 64 << 10, 1 << 20
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var rest []byte // the beginning of what was read, whose line may start further up
	for end > 0 {
		start := max(0, end-block)
		chunk := make([]byte, end-start, int(end-start)+len(rest))
		if _, err := f.ReadAt(chunk, start); err != nil {
			return err
		}
		chunk = append(chunk, rest...)
		end = start
		for {
			i := bytes.LastIndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			if line := chunk[i+1:]; len(line) > 0 && !each(line) {
				return nil
			}
			chunk = chunk[:i]
		}
		if rest = chunk; len(rest) > longest {
			rest = nil // no record is that long: the file is damaged here
		}
	}
	if len(rest) > 0 {
		each(rest)
	}
	return nil
}
