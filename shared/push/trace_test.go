package push_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func TestOnlyAValidTraceParentIsCarried(t *testing.T) {
	for name, c := range map[string]struct{ parent, want string }{
		"valid":                       {parent, parent},
		"not sampled":                 {parent[:53] + "00", parent[:53] + "00"},
		"blanks around it":            {" " + parent + "\t", parent},
		"a later version":             {"cc" + parent[2:], parent},
		"a later version, longer":     {"01" + parent[2:] + "-more", parent},
		"a later version's own flags": {"01" + parent[2:53] + "fe", parent[:53] + "00"},
		"none":                        {"", ""},
		"version ff":                  {"ff" + parent[2:], ""},
		"version 00, longer":          {parent + "-x", ""},
		"a later version, run on":     {"01" + parent[2:] + "x", ""},
		"upper case":                  {strings.ToUpper(parent), ""},
		"trace id of zeros":           {"00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", ""},
		"parent id of zeros":          {"00-" + traceID + "-0000000000000000-01", ""},
		"no hex":                      {strings.Replace(parent, "4bf9", "4bg9", 1), ""},
		"short":                       {parent[:54], ""},
		"dashes elsewhere":            {strings.Replace(parent, "-00f0", "000f0", 1), ""},
		"two of them":                 {parent + "," + parent, ""},
		"a header of its own":         {parent + "\r\nX-Evil: 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := push.ParseTrace(c.parent, "a=b")
			if got.Parent != c.want || (got.State == "a=b") != (c.want != "") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
			if id := got.ID(); c.want != "" && id != traceID || c.want == "" && id != "" {
				t.Errorf("the id is %q", id)
			}
		})
	}
}

func TestATraceStateThatIsNotValidIsLeftOutByItself(t *testing.T) {
	numbered := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf("k%d=v", i))
		}
		return strings.Join(members, ",")
	}
	for name, c := range map[string]struct {
		state string
		kept  bool
	}{
		"two vendors":            {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
		"a tenant":               {"fw529a3039@dt=FfAC0+;x:\"<>&\\", true},
		"empty members":          {"a=1,, b=2 ,", true},
		"32 members":             {numbered(32), true},
		"512 bytes":              {"a=" + strings.Repeat("x", 200) + ",b=" + strings.Repeat("y", 200) + ",c=" + strings.Repeat("z", 104), true},
		"33 members":             {numbered(33), false},
		"513 bytes":              {"a=" + strings.Repeat("x", 200) + ",b=" + strings.Repeat("y", 200) + ",c=" + strings.Repeat("z", 105), false},
		"the same key twice":     {"a=1,a=2", false},
		"no value":               {"a=", false},
		"no equals sign":         {"a", false},
		"no key":                 {"=1", false},
		"a key in upper case":    {"A=1", false},
		"two equals signs":       {"a=1=2", false},
		"a line break":           {"a=1\r\nX-Evil: 1", false},
		"not ASCII":              {"a=é", false},
		"a value of 257 bytes":   {"a=" + strings.Repeat("x", 257), false},
		"a vendor of 15 letters": {"t@" + strings.Repeat("v", 15) + "=1", false},
		"no tenant":              {"@dt=1", false},
		"a strange key":          {"k#=v", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := push.ParseTrace(parent, c.state)
			if got.Parent != parent || (got.State == c.state) != c.kept || !c.kept && got.State != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Whatever is sent, what is carried can stand in a header, and is carried the
// second time as it was the first.
func FuzzParseTrace(f *testing.F) {
	f.Add(parent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
	f.Add("01"+parent[2:]+"-x", "a@b=c,,")
	f.Fuzz(func(t *testing.T, parent, state string) {
		got := push.ParseTrace(parent, state)
		if again := push.ParseTrace(got.Parent, got.State); again != got {
			t.Fatalf("%+v becomes %+v", got, again)
		}
		if len(got.Parent) != 0 && len(got.Parent) != 55 || len(got.State) > push.MaxTraceState || got.Parent == "" && got.State != "" {
			t.Fatalf("%+v", got)
		}
		if i := strings.IndexFunc(got.Parent+got.State, func(r rune) bool { return (r < ' ' || r > '~') && r != '\t' }); i >= 0 {
			t.Fatalf("%+v cannot stand in a header", got)
		}
	})
}

// anyTrace is one that ParseTrace gives, or none.
func anyTrace() *rapid.Generator[push.Trace] {
	return rapid.Custom(func(t *rapid.T) push.Trace {
		if rapid.Bool().Draw(t, "untraced") {
			return push.Trace{}
		}
		return push.ParseTrace("00-"+rapid.StringMatching(`[1-9a-f][0-9a-f]{31}-[1-9a-f][0-9a-f]{15}-[0-9a-f]{2}`).Draw(t, "parent"),
			rapid.StringMatching(`([a-z]=[!-+\--<>-~]{1,9})?`).Draw(t, "state"))
	})
}
