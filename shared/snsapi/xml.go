package snsapi

import (
	"encoding/xml"
	"sort"

	"postino/shared/push"
)

const namespace = "http://sns.amazonaws.com/doc/2010-03-31/"

// text writes <name>value</name>. Characters that XML cannot carry at all become
// U+FFFD; the answers stay well-formed whatever was stored.
func (w *answer) text(name, value string) {
	w.open(name)
	_ = xml.EscapeText(w, []byte(value)) // a bytes.Buffer does not fail
	w.close(name)
}

func (w *answer) open(name string)  { w.WriteString("<" + name + ">") }
func (w *answer) close(name string) { w.WriteString("</" + name + ">") }

// entries writes a map as SNS does, sorted by key so that answers repeat.
func (w *answer) entries(name string, m map[string]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	w.open(name)
	for _, k := range keys {
		w.open("entry")
		w.text("key", k)
		w.text("value", m[k])
		w.close("entry")
	}
	w.close(name)
}

// response wraps the collected elements for the named action. Actions whose
// answer has no members in botocore's model have no Result element either.
func (w *answer) response(action, requestID string) []byte {
	var out answer
	out.WriteString("<" + action + `Response xmlns="` + namespace + `">`)
	if !resultless(action) {
		out.open(action + "Result")
		out.Write(w.Bytes())
		out.close(action + "Result")
	}
	out.open("ResponseMetadata")
	out.text("RequestId", requestID)
	out.close("ResponseMetadata")
	out.close(action + "Response")
	return out.Bytes()
}

func errorXML(e *push.Error, requestID string) []byte {
	var out answer
	out.WriteString(`<ErrorResponse xmlns="` + namespace + `">`)
	out.open("Error")
	if status(e.Code) >= 500 {
		out.text("Type", "Receiver")
	} else {
		out.text("Type", "Sender")
	}
	out.text("Code", string(e.Code))
	out.text("Message", e.Text)
	out.close("Error")
	out.text("RequestId", requestID)
	out.close("ErrorResponse")
	return out.Bytes()
}
