package awscall

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// readBodies hides from net/http that request bodies can write themselves.
//
// smithy-go (1.28.9) closes a request's body as soon as the head of the answer
// is there; its body's WriteTo then fails with io.EOF. When net/http gets to its
// check for surplus bytes only after that (a busy processor is enough), it takes
// the EOF for a failed write and closes the connection under the answer: what was
// received is lost, and the SDK sends what was sent a second time. Read has no
// such fault.
type readBodies struct{ aws.HTTPClient }

func (c readBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		plain := *r
		plain.Body = struct{ io.ReadCloser }{r.Body}
		r = &plain
	}
	return c.HTTPClient.Do(r)
}
