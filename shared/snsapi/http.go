package snsapi

import "net/http"

// Request is one HTTP request to the front door, however it came in.
type Request struct {
	Method, Path, RawQuery string
	Header                 http.Header
	Body                   []byte
}

// Response is the answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}
