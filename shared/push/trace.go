package push

import "strings"

// Trace is the W3C trace context that a publisher sent with a message; the zero
// value is none. Postino makes no spans of its own: it hands the context on as it
// came, so that the endpoint's span is the child of the publisher's.
type Trace struct {
	// Parent is a traceparent of version 00, "00-<32 hex>-<16 hex>-<2 hex>".
	Parent string
	// State is the tracestate, printable ASCII of at most MaxTraceState bytes, ""
	// for none. It means nothing without Parent.
	State string
}

// MaxTraceState is the longest tracestate that is carried, in bytes. W3C asks for
// no more (Trace Context, "tracestate Limits").
const MaxTraceState = 512

// Lengths of a traceparent's parts (Trace Context, "traceparent Header").
const (
	traceIDAt    = len("00-")
	parentIDAt   = traceIDAt + 32 + 1
	flagsAt      = parentIDAt + 16 + 1
	parentLength = flagsAt + 2
)

// ParseTrace reads the two headers. A traceparent that is not valid gives no
// trace at all; a tracestate that is not valid or too long is left out by itself.
// Of a later version what version 00 knows is kept, as W3C asks.
func ParseTrace(parent, state string) Trace {
	parent = strings.Trim(parent, " \t")
	if !validParent(parent) {
		return Trace{}
	}
	if !strings.HasPrefix(parent, "00") {
		// Of its flags only "sampled" is known to version 00.
		sampled := "00"
		if strings.IndexByte("13579bdf", parent[parentLength-1]) >= 0 {
			sampled = "01"
		}
		parent = "00" + parent[2:flagsAt] + sampled
	}
	state = strings.Trim(state, " \t")
	if len(state) > MaxTraceState || !validState(state) {
		state = ""
	}
	return Trace{Parent: parent, State: state}
}

// ID is the trace's id, 32 hex digits, "" where there is none.
func (t Trace) ID() string {
	if len(t.Parent) < parentIDAt {
		return ""
	}
	return t.Parent[traceIDAt : parentIDAt-1]
}

func validParent(s string) bool {
	if len(s) < parentLength || s[2] != '-' || s[parentIDAt-1] != '-' || s[flagsAt-1] != '-' {
		return false
	}
	version, rest := s[:2], s[parentLength:]
	if !lowerHex(version) || version == "ff" || rest != "" && (version == "00" || rest[0] != '-') {
		return false
	}
	id, parent := s[traceIDAt:parentIDAt-1], s[parentIDAt:flagsAt-1]
	return lowerHex(id) && lowerHex(parent) && lowerHex(s[flagsAt:parentLength]) &&
		strings.Trim(id, "0") != "" && strings.Trim(parent, "0") != ""
}

func lowerHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// maxStateMembers is the most members a tracestate may have.
const maxStateMembers = 32

// validState takes "" too.
func validState(s string) bool {
	if s == "" {
		return true
	}
	members := strings.Split(s, ",")
	if len(members) > maxStateMembers {
		return false
	}
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		m = strings.Trim(m, " \t")
		if m == "" {
			continue // allowed, so that headers can be joined
		}
		key, value, ok := strings.Cut(m, "=")
		if !ok || !validStateKey(key) || !validStateValue(value) || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// validStateKey takes "vendor" and "tenant@vendor" (Trace Context, "Key").
func validStateKey(s string) bool {
	const first, more = "abcdefghijklmnopqrstuvwxyz0123456789", "_-*/"
	tenant, vendor, multi := strings.Cut(s, "@")
	if multi && (vendor == "" || len(vendor) > 14 || len(tenant) > 241 || strings.Trim(vendor, first+more) != "") {
		return false
	}
	return tenant != "" && len(s) <= 256 && strings.IndexByte(first, tenant[0]) >= 0 && strings.Trim(tenant, first+more) == ""
}

func validStateValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return s != "" && len(s) <= 256
}
