package main

import (
	"bytes"
	"strconv"
)

// A marker starts every message body, so that the receiver knows which message
// of which run arrived and when it was due to be sent:
//
//	PBM1.<run, 8 hex>.<sequence, 10 digits>.<Unix nanoseconds, 19 digits>.
//
// Its characters need no escaping in a form, in JSON or in XML, and its width
// is fixed, so that prepared bodies are patched in place.
type marker struct {
	Run uint32
	Seq int64
	// At is when the message was scheduled to be sent, in Unix nanoseconds.
	At int64
}

const (
	markerPrefix = "PBM1."
	markerLen    = len(markerPrefix) + 8 + 1 + 10 + 1 + 19 + 1
	// messageLen is the size of every message measured.
	messageLen = 256
)

// put writes the marker over the first markerLen bytes of b.
func (m marker) put(b []byte) {
	n := copy(b, markerPrefix)
	n += digits(b[n:n+8], uint64(m.Run), 16)
	b[n] = '.'
	n++
	n += digits(b[n:n+10], uint64(m.Seq), 10)
	b[n] = '.'
	n++
	n += digits(b[n:n+19], uint64(m.At), 10)
	b[n] = '.'
}

// digits fills b with v, zero-padded, and gives len(b).
func digits(b []byte, v, base uint64) int {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = "0123456789abcdef"[v%base]
		v /= base
	}
	return len(b)
}

// findMarker reads the first marker in body and says where it starts.
func findMarker(body []byte) (m marker, offset int, ok bool) {
	offset = bytes.Index(body, []byte(markerPrefix))
	if offset < 0 || len(body) < offset+markerLen {
		return marker{}, 0, false
	}
	b := body[offset : offset+markerLen]
	run, err1 := strconv.ParseUint(string(b[5:13]), 16, 32)
	seq, err2 := strconv.ParseInt(string(b[14:24]), 10, 64)
	at, err3 := strconv.ParseInt(string(b[25:44]), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || b[13] != '.' || b[24] != '.' || b[44] != '.' {
		return marker{}, 0, false
	}
	return marker{Run: uint32(run), Seq: seq, At: at}, offset, true
}

// newMessage is a body of messageLen bytes with room for a marker at its start.
func newMessage() []byte {
	b := make([]byte, messageLen)
	for i := range b {
		b[i] = "etaoinshrdlucmfw"[i*7%16]
	}
	return b
}
