package snsapi

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"postino/shared/push"
)

func decoded(t *testing.T, body string) params {
	t.Helper()
	p, err := decode(Request{Method: "POST", Body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParametersComeFromQueryAndBody(t *testing.T) {
	p, err := decode(Request{Method: "POST", RawQuery: "Action=A&x=1", Body: []byte("y=a+b%26&&z&x=1&=empty&a=b=c")})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(params{"Action": "A", "x": "1", "y": "a b&", "z": "", "": "empty", "a": "b=c"}, p); d != "" {
		t.Error(d)
	}
	if p, err := decode(Request{Method: "GET", RawQuery: "x=1", Body: []byte("y=2")}); err != nil || len(p) != 1 {
		t.Errorf("a GET's body was read: %v, %v", p, err)
	}
}

func TestListsFollowTheirNumbersWhateverTheirGaps(t *testing.T) {
	p := decoded(t, fmt.Sprintf("L.member.%d=last&L.member.10=third&L.member.9=second&L.member.1.a=x&L.member.1.b.c=y&L.members.1=no&M.L.member.1=no", uint64(math.MaxUint64)))
	got, err := p.list("L.member")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]params{{"a": "x", "b.c": "y"}, {"": "second"}, {"": "third"}, {"": "last"}}, got); d != "" {
		t.Error(d)
	}
}

func TestNumbersThatAreNoneAreRefused(t *testing.T) {
	for _, n := range []string{"", "x", "-1", "+1", "0", "01", "1e3", "18446744073709551616", "1_0", " 1"} {
		if _, err := decoded(t, url.QueryEscape("L.member."+n)+"=v").list("L.member"); err == nil {
			t.Errorf("%q passed as a number", n)
		}
	}
}

func TestTooManyParametersAreRefused(t *testing.T) {
	var body strings.Builder
	for i := range maxParams {
		fmt.Fprintf(&body, "p%d&", i)
	}
	if p := decoded(t, body.String()); len(p) != maxParams {
		t.Errorf("%d parameters", len(p))
	}
	if _, err := decode(Request{Method: "POST", Body: []byte(body.String() + "one=more")}); err == nil {
		t.Error("one more was accepted")
	}
}

func TestARequestOfExactlyOneMebibyteIsRead(t *testing.T) {
	value := strings.Repeat("v", 1<<20-len("a="))
	if p := decoded(t, "a="+value); p["a"] != value {
		t.Errorf("%d bytes are left", len(p["a"]))
	}
}

// A name may be long and no text at all: its refusal must quote it all the same.
func TestALongNameThatIsNoTextIsRefused(t *testing.T) {
	for _, one := range []string{"%80", "%BF", "%FF", "%E2%82"} {
		_, err := decode(Request{Method: "POST", Body: []byte(strings.Repeat(one, 1000) + "=v")})
		if push.CodeOf(err) != push.CodeInvalidParameter || len(err.Error()) > 400 {
			t.Errorf("a thousand %s: %v", one, err)
		}
	}
}

func TestAnyParametersSurviveEncodingAndDecoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "parameters")
		v := url.Values{}
		for name, value := range want {
			v.Set(name, value)
		}
		got, err := decode(Request{Method: "POST", Body: []byte(v.Encode())})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(params(want), got); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzDecode: no input makes the decoder panic, lose parameters it accepted, or
// hold more than what it was given.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"Action=Publish&Message=a%20b", "A.member.1.B=1&A.member.99999999999999999999=2", "a=%", "&&=&;", "Attributes.entry.1.key=k&Attributes.entry.1.value=v",
		"MessageAttributes.entry.1.Name=n&MessageAttributes.entry.1.Value.DataType=Binary&MessageAttributes.entry.1.Value.BinaryValue=AA=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		p, err := decode(Request{Method: "POST", Body: []byte(body)})
		if err != nil {
			return
		}
		v := url.Values{}
		for name, value := range p {
			if !utf8.ValidString(name) || !utf8.ValidString(value) {
				t.Fatalf("%q=%q is not UTF-8", name, value)
			}
			v.Set(name, value)
		}
		again, err := decode(Request{Method: "POST", Body: []byte(v.Encode())})
		if err != nil || !maps.Equal(p, again) {
			t.Fatalf("%v became %v, %v", p, again, err)
		}
		for _, prefix := range []string{"A.member", "Attributes.entry", "MessageAttributes.entry"} {
			members, err := p.list(prefix)
			if err == nil && len(members) > len(p) {
				t.Fatalf("%d members out of %d parameters", len(members), len(p))
			}
		}
		_, _ = p.attributes()
		_, _ = p.tags()
		if attrs, err := p.messageAttributes("x"); err == nil && len(attrs) > len(p) {
			t.Fatalf("%d attributes out of %d parameters", len(attrs), len(p))
		}
	})
}

// FuzzServe: every request is answered with well-formed XML and no 5xx.
func FuzzServe(f *testing.F) {
	for _, c := range refusals {
		f.Add(form(c.pairs...))
	}
	b := newBench(nil)
	f.Fuzz(func(t *testing.T, body string) {
		b.t = t
		r := b.Serve(t.Context(), Request{Method: "POST", Path: "/", Body: []byte(body)})
		if r.Status >= 500 {
			t.Fatalf("%d: %s", r.Status, r.Body)
		}
		if r.Status != 200 {
			readError(t, r.Body)
		}
	})
}
