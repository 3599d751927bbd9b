package sigv4_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"postino/shared/push"
	"postino/shared/sigv4"
)

// byHand signs an empty POST / of push.example.com whose one other signed header
// is Date (IAM user guide, create a signed API request).
func byHand(at time.Time) string {
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	mac := func(key, s string) string {
		h := hmac.New(sha256.New, []byte(key))
		h.Write([]byte(s))
		return string(h.Sum(nil))
	}
	day := at.Format("20060102")
	canonical := "POST\n/\n\ndate:" + at.Format(http.TimeFormat) + "\nhost:push.example.com\n\ndate;host\n" + sum("")
	key := mac(mac(mac(mac("AWS4"+secret, day), "us-east-1"), "sns"), "aws4_request")
	return hex.EncodeToString([]byte(mac(key, "AWS4-HMAC-SHA256\n"+at.Format("20060102T150405Z")+"\n"+day+"/us-east-1/sns/aws4_request\n"+sum(canonical))))
}

// edit gives a good request with something changed.
func edit(t *testing.T, change func(*sigv4.Request)) sigv4.Request {
	r := post(t)
	change(&r)
	return r
}

// header changes one header by replacing a part of it.
func header(name, old, new string) func(*sigv4.Request) {
	return func(r *sigv4.Request) {
		v := r.Header.Get(name)
		if old != "" && !strings.Contains(v, old) {
			panic("there is no " + old + " in " + v)
		}
		r.Header.Set(name, strings.Replace(v, old, new, 1))
	}
}

func set(name, value string) func(*sigv4.Request) {
	return func(r *sigv4.Request) { r.Header.Set(name, value) }
}

func remove(name string) func(*sigv4.Request) {
	return func(r *sigv4.Request) { r.Header.Del(name) }
}

func TestRefusals(t *testing.T) {
	const missing, incomplete, mismatch, invalid = push.CodeMissingToken, push.CodeIncompleteSignature, push.CodeSignatureMismatch, push.CodeInvalidClientToken
	for name, c := range map[string]struct {
		change func(*sigv4.Request)
		code   push.Code
		says   string
	}{
		"no signature":              {remove("Authorization"), missing, "missing Authentication Token"},
		"another scheme":            {set("Authorization", "Bearer x"), missing, "missing Authentication Token"},
		"signature version 2":       {set("Authorization", "AWS id:signature"), missing, "missing Authentication Token"},
		"an algorithm that is not":  {header("Authorization", "AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"), incomplete, "Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'"},
		"nothing but the algorithm": {set("Authorization", "AWS4-HMAC-SHA256"), incomplete, "must be: AWS4-HMAC-SHA256 Credential="},
		"no credential":             {header("Authorization", "Credential=", "Kredential="), incomplete, "must be: AWS4-HMAC-SHA256 Credential="},
		"an empty signature": {func(r *sigv4.Request) {
			a, _, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
			r.Header.Set("Authorization", a+"Signature=")
		}, incomplete, "must be"},
		"no signature part": {func(r *sigv4.Request) {
			a, _, _ := strings.Cut(r.Header.Get("Authorization"), ", Signature=")
			r.Header.Set("Authorization", a)
		}, incomplete, "has no Signature"},
		"a part twice":                  {header("Authorization", ", Signature=", ", Signature=1, Signature="), incomplete, "must be"},
		"an unknown part":               {header("Authorization", ", Signature=", ", Colour=red, Signature="), incomplete, "must be"},
		"a header that is too long":     {header("Authorization", "Credential=", "Credential="+strings.Repeat("a", 9000)), incomplete, "longer than 8192 bytes"},
		"two Authorization headers":     {func(r *sigv4.Request) { r.Header.Add("Authorization", "x") }, incomplete, "more than once"},
		"signed here and there":         {func(r *sigv4.Request) { r.RawQuery = "X-Amz-Algorithm=AWS4-HMAC-SHA256" }, incomplete, "more than once"},
		"four elements of a credential": {header("Authorization", "/eu-south-1", ""), incomplete, "five elements"},
		"a key id that is none":         {header("Authorization", keyID, "a b"), incomplete, "five elements"},
		"another service":               {header("Authorization", "/sns/", "/sqs/"), mismatch, "Credential should be scoped to correct service: 'sns'."},
		"another terminator":            {header("Authorization", "/aws4_request", "/aws5_request"), mismatch, "valid terminator: 'aws4_request'"},
		"another day in the scope":      {header("Authorization", "/20261201/", "/20261202/"), mismatch, "Date in Credential scope does not match 20261201"},
		"another region in the scope":   {header("Authorization", "/eu-south-1/", "/us-east-1/"), mismatch, "does not match the signature you provided"},
		"host unsigned":                 {header("Authorization", "host;", ""), incomplete, "'Host' must be a 'SignedHeader'"},
		"the date unsigned":             {header("Authorization", ";x-amz-date", ""), incomplete, "'X-Amz-Date' must be a 'SignedHeader'"},
		"the date unsigned, and another in the query": {func(r *sigv4.Request) {
			header("Authorization", ";x-amz-date", "")(r)
			r.Header.Del("X-Amz-Date")
			r.Header.Set("Date", noon.Format(http.TimeFormat))
			r.RawQuery = "X-Amz-Date=20261201T120000Z"
		}, incomplete, "'X-Amz-Date' must be a 'SignedHeader'"},
		"signed headers in disorder":    {header("Authorization", "content-length;content-type", "content-type;content-length"), incomplete, "sorted"},
		"a signed header twice":         {header("Authorization", "host;", "host;host;"), incomplete, "each once"},
		"signed headers in capitals":    {header("Authorization", "host;", "hOst;"), incomplete, "lower case"},
		"no date":                       {remove("X-Amz-Date"), incomplete, "needs a date"},
		"a date in another form":        {set("X-Amz-Date", "2026-12-01T12:00:00Z"), incomplete, "needs a date"},
		"a day that is not":             {set("X-Amz-Date", "20261232T120000Z"), incomplete, "needs a date"},
		"a signed header that is gone":  {remove("Amz-Sdk-Request"), mismatch, "The signed header 'amz-sdk-request' is not in the request."},
		"an X-Amz header that is added": {set("X-Amz-Extra", "x"), incomplete, "'X-Amz-Extra' must be a 'SignedHeader'"},
		"a broken query":                {func(r *sigv4.Request) { r.RawQuery = "a=%zz" }, incomplete, "broken percent-encoding"},
		"another method":                {func(r *sigv4.Request) { r.Method = "PUT" }, mismatch, "does not match the signature"},
		"another path":                  {func(r *sigv4.Request) { r.Path = "/x" }, mismatch, "does not match the signature"},
		"a query that is added":         {func(r *sigv4.Request) { r.RawQuery = "Message=b" }, mismatch, "does not match the signature"},
		"a query that parsers overlook": {func(r *sigv4.Request) { r.RawQuery = "Subject=a;b" }, mismatch, "does not match the signature"},
		"another body":                  {func(r *sigv4.Request) { r.Body = []byte(form + "x") }, mismatch, "does not match the signature"},
		"another second":                {set("X-Amz-Date", "20261201T120001Z"), mismatch, "does not match the signature"},
		"another host":                  {set("Host", "push.example.net"), mismatch, "does not match the signature"},
		"another try":                   {set("Amz-Sdk-Request", "attempt=2; max=3"), mismatch, "does not match the signature"},
		"another signature":             {header("Authorization", "Signature=", "Signature=0"), mismatch, "does not match the signature"},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, check(edit(t, c.change)), c.code, c.says) })
	}
	for name, c := range map[string]struct {
		header http.Header
		code   push.Code
		says   string
	}{
		"a session token":   {http.Header{"X-Amz-Security-Token": {"token"}}, invalid, "Unset AWS_SESSION_TOKEN"},
		"an unsigned body":  {http.Header{"X-Amz-Content-Sha256": {"UNSIGNED-PAYLOAD"}}, mismatch, "UNSIGNED-PAYLOAD"},
		"a streamed body":   {http.Header{"X-Amz-Content-Sha256": {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}}, mismatch, "STREAMING"},
		"another body hash": {http.Header{"X-Amz-Content-Sha256": {hashOf("other")}}, mismatch, "altered on the way"},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, check(signed(t, "POST", target, form, c.header)), c.code, c.says) })
	}
}

func TestRefusalsOfPresignedRequests(t *testing.T) {
	const incomplete, mismatch = push.CodeIncompleteSignature, push.CodeSignatureMismatch
	good := func() sigv4.Request {
		return presigned(t, "GET", target+"?Action=ListTopics&X-Amz-Expires=60", "", nil)
	}
	for name, c := range map[string]struct {
		old, new string
		code     push.Code
		says     string
	}{
		"no algorithm":                {"X-Amz-Algorithm=AWS4-HMAC-SHA256&", "", incomplete, "no algorithm"},
		"another algorithm":           {"AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1", incomplete, "Unsupported AWS 'algorithm'"},
		"no credential":               {"X-Amz-Credential", "X-Amz-Kredential", incomplete, "has no Credential"},
		"no signed headers":           {"X-Amz-SignedHeaders=host", "", incomplete, "has no SignedHeaders"},
		"no signature":                {"X-Amz-Signature=", "x=", incomplete, "has no Signature"},
		"a parameter twice":           {"X-Amz-Expires=60", "X-Amz-Expires=60&X-Amz-Expires=61", incomplete, "X-Amz-Expires more than once"},
		"no date":                     {"X-Amz-Date=20261201T120000Z&", "", incomplete, "needs a date"},
		"more than a week":            {"X-Amz-Expires=60", "X-Amz-Expires=604801", incomplete, "from 1 to 604800"},
		"no time at all":              {"X-Amz-Expires=60", "X-Amz-Expires=0", incomplete, "from 1 to 604800"},
		"an expiry with a sign":       {"X-Amz-Expires=60", "X-Amz-Expires=%2B60", incomplete, "from 1 to 604800"},
		"an expiry with a zero more":  {"X-Amz-Expires=60", "X-Amz-Expires=060", incomplete, "from 1 to 604800"},
		"an expiry that is no number": {"X-Amz-Expires=60", "X-Amz-Expires=x", incomplete, "from 1 to 604800"},
		"a longer expiry":             {"X-Amz-Expires=60", "X-Amz-Expires=6000", mismatch, "does not match the signature"},
		"no expiry any more":          {"X-Amz-Expires=60&", "", mismatch, "does not match the signature"},
		"another action":              {"Action=ListTopics", "Action=ListSubscriptions", mismatch, "does not match the signature"},
		"a token":                     {"Action=", "X-Amz-Security-Token=t&Action=", push.CodeInvalidClientToken, "Unset AWS_SESSION_TOKEN"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			if !strings.Contains(r.RawQuery, c.old) {
				t.Fatalf("there is no %s in %s", c.old, r.RawQuery)
			}
			r.RawQuery = strings.Replace(r.RawQuery, c.old, c.new, 1)
			wantRefusal(t, check(r), c.code, c.says)
		})
	}
	r := good()
	r.Body = []byte("Action=DeleteTopic")
	wantRefusal(t, check(r), mismatch, "does not match the signature")
}

func wantRefusal(t *testing.T, err error, code push.Code, says string) {
	t.Helper()
	if err == nil || push.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		t.Errorf("%v, want %s that says %q", err, code, says)
		return
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("it tells the secret: %v", err)
	}
}

// TestARefusalTellsNothingOfWhatWasExpected: the signature that would have been
// right is as good as the secret for that request.
func TestARefusalTellsNothingOfWhatWasExpected(t *testing.T) {
	r := post(t)
	_, right, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), right, strings.Repeat("0", 64), 1))
	if err := check(r); err == nil || strings.Contains(err.Error(), right) {
		t.Errorf("got %v", err)
	}
}
