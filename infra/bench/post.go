package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// newTransport keeps one connection alive per publisher; nothing is added to
// the headers given, no proxy is asked.
func newTransport(conns int) *http.Transport {
	return &http.Transport{
		MaxIdleConns: conns, MaxIdleConnsPerHost: conns, IdleConnTimeout: time.Minute,
		DisableCompression: true, ResponseHeaderTimeout: 30 * time.Second,
	}
}

// poster makes one POST after another. Publishing and the straight POSTs it is
// compared with go through the same code.
type poster struct {
	transport http.RoundTripper
	body      bytes.Reader
	answer    []byte
}

// post sends body and gives the status and the answer's body, which is valid
// until the next call.
func (p *poster) post(ctx context.Context, to *url.URL, header http.Header, body []byte) (int, []byte, error) {
	p.body.Reset(body)
	req := (&http.Request{
		Method: http.MethodPost, URL: to, Host: to.Host, Header: header,
		Body: io.NopCloser(&p.body), ContentLength: int64(len(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	p.answer, err = readInto(p.answer[:0], resp.Body)
	return resp.StatusCode, p.answer, err
}

// letter is a prepared body with a marker, or a batch of them, to be patched.
type letter struct {
	to      *url.URL
	header  http.Header
	body    []byte
	markers []int
}

// fill patches the markers with first and the consecutive numbers.
func (l letter) fill(first marker) {
	for i, offset := range l.markers {
		m := first
		m.Seq += int64(i)
		m.put(l.body[offset:])
	}
}

// check judges the answer to a letter of n messages.
type check func(status int, answer []byte, n int) error

// posting posts the letters in turn: the n-th batch is letter n mod len(letters).
func posting(t http.RoundTripper, ok check, letters []letter) sender {
	p := &poster{transport: t}
	return func(ctx context.Context, first marker) error {
		l := letters[first.Seq/int64(len(letters[0].markers))%int64(len(letters))]
		l.fill(first)
		status, answer, err := p.post(ctx, l.to, l.header, l.body)
		if err != nil {
			return err
		}
		return ok(status, answer, len(l.markers))
	}
}

// publication prepares a Publish (batch 1) or a PublishBatch of messages to a
// topic, as a form.
func publication(to *url.URL, topicARN string, batch int) letter {
	l := letter{to: to, header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
	message := newMessage()
	marker{}.put(message)
	add := func(text string) { l.body = append(l.body, text...) }
	addMessage := func() {
		l.markers = append(l.markers, len(l.body))
		l.body = append(l.body, message...)
	}
	arn := url.QueryEscape(topicARN)
	if batch == 1 {
		add("Action=Publish&Version=2010-03-31&TopicArn=" + arn + "&Message=")
		addMessage()
		return l
	}
	add("Action=PublishBatch&Version=2010-03-31&TopicArn=" + arn)
	for i := 1; i <= batch; i++ {
		add(fmt.Sprintf("&PublishBatchRequestEntries.member.%d.Id=e%d&PublishBatchRequestEntries.member.%d.Message=", i, i, i))
		addMessage()
	}
	return l
}

// accepted checks the answer to a publication of n messages: it must carry n
// message ids.
func accepted(status int, answer []byte, n int) error {
	if status != http.StatusOK {
		return fmt.Errorf("answer %d: %.300s", status, answer)
	}
	if ids := bytes.Count(answer, []byte("<MessageId>")); ids != n {
		return fmt.Errorf("%d messages were sent, the answer has %d message ids: %.300s", n, ids, answer)
	}
	return nil
}

// straight prepares the POST of a sample to one of the receiver's addresses.
// Host, Content-Length and Connection are the transport's business.
func straight(to *url.URL, s sample) letter {
	h := s.Header.Clone()
	h.Del("Content-Length")
	h.Del("Connection")
	return letter{to: to, header: h, body: bytes.Clone(s.Body), markers: []int{s.Offset}}
}
