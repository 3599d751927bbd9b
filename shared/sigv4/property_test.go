package sigv4_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// anyRequest draws a request and has it signed by the SDK, in the header or in
// the query string.
func anyRequest(t *testing.T, r *rapid.T) sigv4.Request {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("abzAZ09-_.~ +%&=/;:,?#\"'<>é€\t!*()[]@$")), 0, 12, -1)
	to := target
	for range rapid.IntRange(0, 3).Draw(r, "segments") {
		to = strings.TrimSuffix(to, "/") + "/" + url.PathEscape(text.Draw(r, "segment"))
	}
	query := url.Values{}
	for range rapid.IntRange(0, 4).Draw(r, "parameters") {
		query.Add(text.Draw(r, "name"), text.Draw(r, "value"))
	}
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	header := http.Header{}
	value := rapid.StringMatching(`[!-~]([ -~]{0,10}[!-~])?`)
	for range rapid.IntRange(0, 3).Draw(r, "headers") {
		header.Add(rapid.StringMatching(`(x-amz-meta|x-other|if-match|content)-[a-z]{1,4}`).Draw(r, "header"), value.Draw(r, "header value"))
	}
	body := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(r, "body"))
	method := rapid.SampledFrom([]string{"GET", "POST", "PUT"}).Draw(r, "method")
	if rapid.Bool().Draw(r, "presigned") {
		return presigned(t, method, to, body, header)
	}
	return signed(t, method, to, body, header)
}

func TestWhateverTheSDKSignsIsGood(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		if err := check(anyRequest(t, r)); err != nil {
			r.Fatal(err)
		}
	})
}

// TestNoByteOfWhatIsSignedCanBeChanged changes one byte anywhere. What means the
// same in another spelling, %2f for %2F say, may pass.
func TestNoByteOfWhatIsSignedCanBeChanged(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		good := anyRequest(t, r)
		s, err := sigv4.Parse(good)
		if err != nil {
			r.Fatal(err)
		}
		bad, where := good, ""
		bad.Header = good.Header.Clone()
		places := []func(){
			func() { where, bad.Method = "method", changed(r, good.Method) },
			func() { where, bad.Path = "path", changed(r, good.Path) },
			func() { where, bad.RawQuery = "query", changed(r, good.RawQuery) },
			func() { where, bad.Body = "body", []byte(changed(r, string(good.Body))) },
			func() {
				names := slices.DeleteFunc(slices.Sorted(func(yield func(string) bool) {
					for name := range good.Header {
						if !yield(name) {
							return
						}
					}
				}), func(name string) bool { return name == "Authorization" || name == "Content-Length" })
				where = rapid.SampledFrom(names).Draw(r, "changed header")
				bad.Header[where] = slices.Clone(bad.Header[where])
				n := rapid.IntRange(0, len(bad.Header[where])-1).Draw(r, "changed value")
				bad.Header[where][n] = changed(r, bad.Header[where][n])
			},
			func() {
				if where = "Authorization"; good.Header.Get(where) == "" {
					where, bad.RawQuery = "query", changed(r, good.RawQuery)
					return
				}
				part := rapid.SampledFrom([]string{s.Value(), s.KeyID, "eu-south-1/sns/aws4_request", "20261201/"}).Draw(r, "changed part")
				bad.Header.Set(where, strings.Replace(good.Header.Get(where), part, changed(r, part), 1))
			},
		}
		rapid.SampledFrom(places).Draw(r, "place")()
		if sameMeaning(good, bad) {
			return
		}
		if err := check(bad, sigv4.Place{Host: bad.Header.Get("Host"), Path: bad.Path}); err == nil {
			r.Fatalf("a changed %s is good: %+v", where, bad)
		} else if code := push.CodeOf(err).HTTPStatus(); code != http.StatusBadRequest && code != http.StatusForbidden {
			r.Fatalf("a changed %s is answered with %v", where, err)
		}
	})
}

// changed gives s with one byte changed, "x" for nothing.
func changed(r *rapid.T, s string) string {
	if s == "" {
		return "x"
	}
	b := []byte(s)
	i := rapid.IntRange(0, len(b)-1).Draw(r, "at")
	b[i] ^= byte(rapid.IntRange(1, 255).Draw(r, "by"))
	return string(b)
}

// sameMeaning reports whether a server would understand both alike.
func sameMeaning(a, b sigv4.Request) bool {
	return a.Method == b.Method && a.Path == b.Path && string(a.Body) == string(b.Body) && meaning(a.RawQuery) == meaning(b.RawQuery) &&
		slices.EqualFunc(headers(a.Header), headers(b.Header), func(x, y string) bool { return x == y })
}

// meaning is a query string's parameters as the front door reads them.
func meaning(query string) string {
	var all []string
	for pair := range strings.SplitSeq(query, "&") {
		k, v, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(k)
		value, err2 := url.QueryUnescape(v)
		if err != nil || err2 != nil {
			return "broken " + query
		}
		if pair != "" {
			all = append(all, name+"\x00"+value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\x01")
}

func headers(h http.Header) (all []string) {
	for name, values := range h {
		value := strings.Join(values, ",")
		for strings.Contains(value, "  ") {
			value = strings.ReplaceAll(value, "  ", " ")
		}
		all = append(all, name+"\x00"+strings.TrimSpace(value))
	}
	slices.Sort(all)
	return all
}

func FuzzParse(f *testing.F) {
	f.Add(post(f).Header.Get("Authorization"), "", "20261201T120000Z")
	f.Add("", presigned(f, "GET", target+"?Action=ListTopics&X-Amz-Expires=60", "", nil).RawQuery, "")
	f.Add("AWS4-HMAC-SHA256 Credential=,SignedHeaders=;,Signature==", "X-Amz-Signature", "")
	f.Fuzz(func(t *testing.T, authorization, query, date string) {
		r := sigv4.Request{Method: "POST", Path: "/", RawQuery: query, Header: http.Header{"Host": {"h"}, "Authorization": {authorization}, "X-Amz-Date": {date}}}
		s, err := sigv4.Parse(r)
		if err != nil {
			if code := push.CodeOf(err).HTTPStatus(); code != http.StatusBadRequest && code != http.StatusForbidden {
				t.Errorf("answered with %v", err)
			}
			return
		}
		if s.KeyID == "" || s.Date.IsZero() || s.Value() == "" {
			t.Errorf("a signature without its parts: %+v", s)
		}
		if s.Verify("another secret", []sigv4.Place{{Host: "h", Path: "/"}}) == nil {
			t.Error("a signature that nobody made is good")
		}
	})
}
