package build

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"postino/shared/installation"
)

func TestTheFrontDoorLearnsItsURLFromTheFirstFunctionURLRequest(t *testing.T) {
	const (
		direct  = `{"topicArn":"x"}`
		first   = `{"requestContext":{"domainName":"abc.lambda-url.us-east-1.on.aws"}}`
		other   = `{"requestContext":{"domainName":"other.example.com"}}`
		strange = `{"requestContext":{"domainName":"a b/?"}}`
	)
	var urls []string
	d := &frontDoor{make: func(publicURL string) (installation.Functions, error) {
		urls = append(urls, publicURL)
		return installation.Functions{}, nil
	}}
	for _, event := range []string{direct, strange, direct, first, other, direct} {
		// The handler has no API: it refuses everything, and that is enough here.
		if _, err := d.at(json.RawMessage(event)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"", "https://abc.lambda-url.us-east-1.on.aws"}; !slices.Equal(urls, want) {
		t.Errorf("handlers were made for %q, want %q", urls, want)
	}
}

func TestAFrontDoorThatCannotBeMadeIsTriedAgain(t *testing.T) {
	broken := true
	d := &frontDoor{make: func(string) (installation.Functions, error) {
		if broken {
			return installation.Functions{}, errors.New("no key")
		}
		return installation.Functions{}, nil
	}}
	if _, err := d.Handle(t.Context(), json.RawMessage(`{}`)); err == nil || err.Error() != "no key" {
		t.Errorf("got %v", err)
	}
	broken = false
	if _, err := d.at(json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}
