package build

import (
	"context"
	"encoding/json"
	"regexp"
	"sync"

	"postino/shared/installation"
	"postino/shared/lambdaio"
)

// frontDoor is the publish function that was not told its public URL: a function
// cannot refer to its own Function URL in a template. The first Function URL
// request says it. Until one comes, direct and EventBridge publishes sign with no
// URL; Deliver, which knows it, signs such messages again.
type frontDoor struct {
	make func(publicURL string) (installation.Functions, error)

	mu      sync.Mutex
	learned bool
	handler *lambdaio.PublishHandler
}

// Handle answers one event.
func (d *frontDoor) Handle(ctx context.Context, raw json.RawMessage) (any, error) {
	h, err := d.at(raw)
	if err != nil {
		return nil, err
	}
	return h.Handle(ctx, raw)
}

// at gives the handler, made anew when raw is the first to tell the URL.
func (d *frontDoor) at(raw json.RawMessage) (*lambdaio.PublishHandler, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	url := ""
	if !d.learned {
		url = urlOf(raw)
	}
	if d.handler != nil && url == "" {
		return d.handler, nil
	}
	f, err := d.make(url)
	if err != nil {
		return nil, err
	}
	d.handler, d.learned = &f.Publish, url != ""
	return d.handler, nil
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9.-]{1,253}$`)

// urlOf reads the domain that a Function URL request came to (AWS Lambda
// developer guide, Function URL request payload), "" for other events.
func urlOf(raw json.RawMessage) string {
	var e struct {
		RequestContext struct {
			DomainName string `json:"domainName"`
		} `json:"requestContext"`
	}
	if json.Unmarshal(raw, &e) != nil || !hostName.MatchString(e.RequestContext.DomainName) {
		return ""
	}
	return "https://" + e.RequestContext.DomainName
}
