package push

import (
	"encoding/base64"
	"strings"
)

// readJob reads what EncodeWith writes, byte for byte in its order, in a tenth
// of encoding/json's time: every delivery pays for it. Whatever has another
// form (spaces, escapes, unknown or missing members) answers false and is left
// to encoding/json, which alone judges errors. A test holds the two together.
func readJob(s string) (w jobWire, ok bool) {
	c := cursor{rest: s, ok: true}
	c.expect(`{"v":`)
	w.V = int(c.number())
	c.expect(`,"kind":"`)
	w.Kind = Kind(c.text())
	c.expect(`,"sub":"`)
	w.Subscription = c.text()
	if c.take(`,"gen":"`) {
		w.Generation = c.text()
	}
	c.expect(`,"n":`)
	w.Attempt = int(c.number())
	if c.take(`,"phase":"`) {
		w.Phase = c.text()
	}
	w.NotBefore = c.optional(`,"notBefore":`)
	w.Slot = c.optional(`,"slot":`)
	w.WaitingSince = c.optional(`,"since":`)
	w.Stumbles = int(c.optional(`,"stumbles":`))
	w.Redrives = int(c.optional(`,"redrives":`))
	c.expect(`,"msg":`)
	w.Message = c.message()
	c.expect(`}`)
	return w, c.ok && c.rest == ""
}

func (c *cursor) message() (m messageWire) {
	c.expect(`{"id":"`)
	m.ID = c.text()
	c.expect(`,"topic":"`)
	m.TopicARN = c.text()
	if c.take(`,"subject":"`) {
		m.Subject = c.bytes()
	}
	c.expect(`,"body":"`)
	m.Body = c.bytes()
	if c.take(`,"attrs":[`) {
		for again := true; again && c.ok; again = c.take(`,`) {
			m.Attributes = append(m.Attributes, c.attribute())
		}
		c.expect(`]`)
	}
	c.expect(`,"at":`)
	m.Timestamp = c.number()
	for _, f := range [...]struct {
		name string
		to   *string
	}{{`,"token":"`, &m.Token}, {`,"sv":"`, &m.SigVersion}, {`,"sig":"`, &m.Signature}, {`,"cert":"`, &m.CertURL},
		{`,"tp":"`, &m.TraceParent}, {`,"ts":"`, &m.TraceState}} {
		if c.take(f.name) {
			*f.to = c.text()
		}
	}
	c.expect(`}`)
	return m
}

func (c *cursor) attribute() (a attributeWire) {
	c.expect(`{"n":"`)
	a.Name = c.text()
	c.expect(`,"t":"`)
	a.Type = c.text()
	c.expect(`,"v":"`)
	a.Value = c.bytes()
	c.expect(`}`)
	return a
}

// cursor is a place in a text; ok turns false for good at the first surprise.
type cursor struct {
	rest string
	ok   bool
}

func (c *cursor) take(literal string) bool {
	if !c.ok || !strings.HasPrefix(c.rest, literal) {
		return false
	}
	c.rest = c.rest[len(literal):]
	return true
}

func (c *cursor) expect(literal string) { c.ok = c.take(literal) }

func (c *cursor) optional(name string) int64 {
	if !c.take(name) {
		return 0
	}
	return c.number()
}

// number reads a JSON integer of at most 15 digits.
func (c *cursor) number() (n int64) {
	s := c.rest
	negative := strings.HasPrefix(s, "-")
	if negative {
		s = s[1:]
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		n = n*10 + int64(s[digits]-'0')
		if digits++; digits > 15 {
			break
		}
	}
	if digits == 0 || digits > 15 || digits > 1 && s[0] == '0' {
		c.ok = false
		return 0
	}
	c.rest = s[digits:]
	if negative {
		return -n
	}
	return n
}

// text reads up to the closing quote: plain ASCII without escapes.
func (c *cursor) text() string {
	for i := range len(c.rest) {
		switch b := c.rest[i]; {
		case b == '"':
			s := c.rest[:i]
			c.rest = c.rest[i+1:]
			return s
		case b == '\\' || b < ' ' || b >= 0x7f:
			c.ok = false
			return ""
		}
	}
	c.ok = false
	return ""
}

func (c *cursor) bytes() []byte {
	b, err := base64.StdEncoding.DecodeString(c.text())
	if err != nil {
		c.ok = false
	}
	return b
}
