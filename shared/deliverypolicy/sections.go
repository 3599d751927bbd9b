package deliverypolicy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// DefaultContentType is the Content-Type of a notification without a policy.
const DefaultContentType = "text/plain; charset=UTF-8"

// The wire forms of the two small sections, and of the one that no longer means
// anything and is always null.
type (
	throttleWire struct {
		MaxReceivesPerSecond int `json:"maxReceivesPerSecond"`
	}
	requestWire struct {
		HeaderContentType string `json:"headerContentType"`
	}
	sicklyWire struct{}
)

func throttle(perSecond int) *throttleWire {
	if perSecond == 0 {
		return nil
	}
	return &throttleWire{perSecond}
}

func request(contentType string) *requestWire {
	if contentType == "" {
		return nil
	}
	return &requestWire{contentType}
}

// parseThrottle reads {"maxReceivesPerSecond": n}, 0 for none. A section without
// its member is as good as null: SNS documents "no throttling" as the default.
func parseThrottle(path string, raw json.RawMessage) (perSecond int, err error) {
	if null(raw) {
		return 0, nil
	}
	err = eachMember(path, raw, func(path, name string, v json.RawMessage) error {
		if name != "maxReceivesPerSecond" {
			return unexpected(path)
		}
		n, err := integer(path, v)
		switch {
		case err != nil || n == nil:
			return err
		case *n < 1:
			return fmt.Errorf("%s must be greater than or equal to 1", path)
		case *n > math.MaxInt32: // SNS names no limit; this is the type's on its side
			return fmt.Errorf("%s must be less than or equal to %d", path, math.MaxInt32)
		}
		perSecond = *n
		return nil
	})
	return perSecond, err
}

// parseRequest reads {"headerContentType": s}, "" for none.
func parseRequest(path string, raw json.RawMessage, allowed func(string) error) (contentType string, err error) {
	if null(raw) {
		return "", nil
	}
	err = eachMember(path, raw, func(path, name string, v json.RawMessage) (err error) {
		if name != "headerContentType" {
			return unexpected(path)
		}
		if contentType, err = text(path, v); err != nil || null(v) {
			return err
		}
		if err := allowed(contentType); err != nil {
			return fmt.Errorf("%s %w", path, err)
		}
		return nil
	})
	return contentType, err
}

// parseSickly accepts null alone. SNS reserved the section for endpoints in bad
// health and never gave it an effect; taking a policy that does nothing would
// mislead its author.
func parseSickly(path string, raw json.RawMessage) error {
	if null(raw) {
		return nil
	}
	return fmt.Errorf("%s must be null", path)
}

// common reports whether any subscription may use the content type. The default
// is listed with its charset because SNS prints it so, and people send back
// what they read.
func common(contentType string) bool {
	switch contentType {
	case DefaultContentType, "text/plain", "application/json":
		return true
	}
	return false
}

// rawTypes are the further content types of raw message delivery.
func rawTypes() []string {
	return []string{
		"text/css", "text/csv", "text/html", "text/xml",
		"application/atom+xml", "application/octet-stream", "application/soap+xml",
		"application/x-www-form-urlencoded", "application/xhtml+xml", "application/xml",
	}
}

// forTopic allows what every subscriber may get.
func forTopic(contentType string) error {
	if !common(contentType) {
		return fmt.Errorf("must be one of application/json, text/plain")
	}
	return nil
}

// forSubscription allows more with raw delivery, where no JSON envelope
// contradicts the type.
func forSubscription(raw bool) func(string) error {
	return func(contentType string) error {
		if common(contentType) {
			return nil
		}
		if !raw {
			return fmt.Errorf("must be one of application/json, text/plain unless raw message delivery is enabled")
		}
		for _, t := range rawTypes() {
			if t == contentType {
				return nil
			}
		}
		return fmt.Errorf("must be one of application/json, text/plain, %s", strings.Join(rawTypes(), ", "))
	}
}
