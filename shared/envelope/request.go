package envelope

import "net/http"

// Request is what a subscriber gets: the POST's headers and body. Host,
// Content-Length and connection headers are the sender's business.
type Request struct {
	Header http.Header
	Body   []byte
}
