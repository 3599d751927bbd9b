package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"postino/shared/push"
)

// Client calls the server that runs on a data directory (Dial), or an Operator in
// this very process (Local). Its methods answer what the verbs of the same name
// answer; their errors read as one sentence.
type Client struct {
	Server ServerFile
	// Dir is the data directory, for error texts; "" in one process.
	Dir string
	// HTTP makes the requests.
	HTTP *http.Client
}

// NotRunningError says that no server runs on a data directory.
type NotRunningError struct{ Dir string }

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("No Postino server is running on %s: start one with `postino serve --data %[1]s`", e.Dir)
}

// Dial reads dir's server file. The server is not called yet.
func Dial(dir string) (*Client, error) {
	s, err := ReadServerFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotRunningError{dir}
	}
	if err != nil {
		return nil, err
	}
	return &Client{Server: s, Dir: dir, HTTP: &http.Client{
		Timeout: 2 * time.Minute,
		// The server is on this host: no proxy has a part in it. Each command
		// makes a call or two, so that no connection is kept.
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ListDeliveries calls the verb.
func (c *Client) ListDeliveries(ctx context.Context, r ListRequest) (out DeliveryList, err error) {
	q := url.Values{}
	for k, v := range map[string]string{"state": r.State, "subscription": r.Subscription, "topic": r.Topic} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if r.Limit != 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	return out, c.call(ctx, "GET", []string{"deliveries"}, q, nil, &out)
}

// ShowDelivery calls the verb.
func (c *Client) ShowDelivery(ctx context.Context, what string, since time.Time) (out []Delivery, err error) {
	q := url.Values{}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339))
	}
	return out, c.call(ctx, "GET", []string{"deliveries", what}, q, nil, &out)
}

// ListQueues calls the verb.
func (c *Client) ListQueues(ctx context.Context) (out []QueueInfo, err error) {
	return out, c.call(ctx, "GET", []string{"queues"}, nil, nil, &out)
}

// ListDeadLetters calls the verb.
func (c *Client) ListDeadLetters(ctx context.Context, queue, after string, limit int) (out DeadLetterPage, err error) {
	q := url.Values{"limit": {strconv.Itoa(limit)}}
	if after != "" {
		q.Set("after", after)
	}
	return out, c.call(ctx, "GET", []string{"queues", queue, "messages"}, q, nil, &out)
}

// ShowDeadLetter calls the verb.
func (c *Client) ShowDeadLetter(ctx context.Context, queue, id string) (out DeadLetter, err error) {
	return out, c.call(ctx, "GET", []string{"queues", queue, "messages", id}, nil, nil, &out)
}

// Redrive calls the verb once.
func (c *Client) Redrive(ctx context.Context, queue string, r RedriveRequest) (out RedriveResult, err error) {
	return out, c.call(ctx, "POST", []string{"queues", queue, "redrive"}, nil, r, &out)
}

// DeleteDeadLetters calls the verb once.
func (c *Client) DeleteDeadLetters(ctx context.Context, queue string, r DeleteRequest) (out DeleteResult, err error) {
	return out, c.call(ctx, "POST", []string{"queues", queue, "delete"}, nil, r, &out)
}

// ListPaused calls the verb.
func (c *Client) ListPaused(ctx context.Context) (out []Subscription, err error) {
	return out, c.call(ctx, "GET", []string{"subscriptions"}, nil, nil, &out)
}

// Pause calls the verb.
func (c *Client) Pause(ctx context.Context, subscription string) (out Subscription, err error) {
	return out, c.call(ctx, "POST", []string{"subscriptions", subscription, "pause"}, nil, nil, &out)
}

// Resume calls the verb.
func (c *Client) Resume(ctx context.Context, subscription string) (out Subscription, err error) {
	return out, c.call(ctx, "POST", []string{"subscriptions", subscription, "resume"}, nil, nil, &out)
}

// SendTest calls the verb.
func (c *Client) SendTest(ctx context.Context, subscription string) (out TestMessage, err error) {
	return out, c.call(ctx, "POST", []string{"subscriptions", subscription, "send-test"}, nil, nil, &out)
}

// maxAnswer bounds what is read of an answer: a thousand deliveries with their
// histories, or one message of 256 KB escaped at its worst.
const maxAnswer = 32 << 20

// Publish calls the verb with what a topic takes; JSON would change bytes that are
// not UTF-8 where the verb refuses them.
func (c *Client) Publish(ctx context.Context, topic string, in PublishInput) (out Published, err error) {
	if err := in.publication().Validate(); err != nil {
		return out, err
	}
	return out, c.call(ctx, "POST", []string{"topics", topic, "messages"}, nil, in, &out)
}

func (c *Client) call(ctx context.Context, method string, segments []string, q url.Values, in, out any) error {
	if slices.Contains(segments, "") {
		return push.Errorf(push.CodeInvalidParameter, "A name or id on the command line is empty: is a shell variable unset?")
	}
	target := strings.TrimSuffix(c.Server.URL, "/") + path(segments)
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.Server.Token)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, b, err := c.do(r)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK && json.Unmarshal(b, out) == nil {
		return nil
	}
	return c.refusal(resp, b)
}

// do sends r. Where nothing listens, the server has died without removing its
// file; one that breaks off later may have done what was asked.
func (c *Client) do(r *http.Request) (*http.Response, []byte, error) {
	resp, err := c.HTTP.Do(r)
	if err == nil {
		defer resp.Body.Close() //nolint:errcheck // read whole
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err == nil {
			return resp, b, nil
		}
	}
	if r.Context().Err() != nil {
		return nil, nil, context.Cause(r.Context())
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return nil, nil, fmt.Errorf("The server at %s did not answer within %s", c.Server.URL, c.HTTP.Timeout) //nolint:staticcheck // read by people
		}
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
			return nil, nil, &NotRunningError{c.Dir}
		}
		return nil, nil, errors.New("The server broke off before it answered; the request may have been carried out") //nolint:staticcheck // read by people
	}
	return nil, nil, fmt.Errorf("The server at %s broke off its answer: see its log", c.Server.URL) //nolint:staticcheck // read by people
}

// refusal makes an error of an answer that is not what was asked for.
func (c *Client) refusal(resp *http.Response, b []byte) error {
	var f failure
	if json.Unmarshal(b, &f) != nil || f.Code == "" {
		return fmt.Errorf("What answers at %s is not the Postino server of %s: is it running?", c.Server.URL, c.Dir) //nolint:staticcheck // read by people
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return push.Errorf(f.Code, "The server at %s does not know the token in %s: it runs on another data directory", c.Server.URL, c.Dir)
	}
	return &push.Error{Code: f.Code, Text: f.Message}
}
