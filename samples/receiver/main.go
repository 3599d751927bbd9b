// Command receiver is a subscriber to copy from: it confirms its subscription,
// verifies every signature and prints what it gets.
//
//	go run ./samples/receiver --from http://127.0.0.1:4575
//
// --status 503 makes it a subscriber that fails, to watch retries with. It uses
// the standard library alone.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to receive at")
	from := flag.String("from", "http://127.0.0.1:4575", "`URL` of the server whose messages are trusted")
	status := flag.Int("status", http.StatusOK, "`status` to answer notifications with")
	flag.Parse()
	r := &receiver{from: strings.TrimSuffix(*from, "/"), status: *status, out: os.Stdout, client: &http.Client{Timeout: 10 * time.Second}}
	log.Printf("receiving at http://%s/", *listen)
	server := &http.Server{Addr: *listen, Handler: r, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// receiver is the endpoint. It trusts nobody: whoever knows its URL can post to
// it, so that only what from has signed counts.
type receiver struct {
	from   string
	status int
	out    io.Writer
	client *http.Client
	keys   keys
}

// maxBody is more than the largest message is as JSON at its worst.
const maxBody = 2 << 20

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var m message
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxBody)).Decode(&m); err != nil {
		http.Error(w, "not an SNS message", http.StatusBadRequest)
		return
	}
	if err := r.verify(m); err != nil {
		log.Printf("refused a message: %v", err)
		http.Error(w, "not a message of "+r.from, http.StatusForbidden)
		return
	}
	switch m.Type {
	case "SubscriptionConfirmation":
		if err := r.confirm(m.SubscribeURL); err != nil {
			log.Printf("not confirmed: %v", err)
			// The server asks again later.
			http.Error(w, "not confirmed", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(r.out, "confirmed    %s\n", m.TopicArn)
	case "UnsubscribeConfirmation":
		_, _ = fmt.Fprintf(r.out, "unsubscribed %s\n", m.TopicArn)
	default:
		// Deliveries come at least once: a real subscriber remembers MessageId
		// and does nothing for one it has handled.
		_, _ = fmt.Fprintf(r.out, "%s %s %q\n", m.MessageId, m.Subject, m.Message)
		w.WriteHeader(r.status)
	}
}

// confirm follows the link of a message that has been verified, and only to the
// server itself.
func (r *receiver) confirm(link string) error {
	if !strings.HasPrefix(link, r.from+"/") {
		return errors.New("the link leads elsewhere")
	}
	resp, err := r.client.Get(link)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New("the server answers " + resp.Status)
	}
	return nil
}
