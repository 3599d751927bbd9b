package operator

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestPublishHandsTheVerbOneMessage(t *testing.T) {
	w := newWorld()
	got, err := serve(t, w).Publish(t.Context(), "orders", PublishInput{Message: "a&b=ü", Subject: "hi", Invocation: "inv-1",
		Attributes: []Attribute{{"colour", "String", "red"}, {"blob", "Binary.png", "AAE="}}})
	if err != nil || got.MessageID != "published-1" {
		t.Fatalf("got %+v and error %v", got, err)
	}
	subject := "hi"
	want := []pipeline.PublishRequest{{TopicARN: orders, Invocation: "inv-1", Entries: []push.Publication{{Message: "a&b=ü", Subject: &subject,
		Attributes: []push.Attribute{{Name: "colour", Type: "String", Value: "red"}, {Name: "blob", Type: "Binary.png", Value: "AAE="}}}}}}
	if d := cmp.Diff(want, w.publisher.got); d != "" {
		t.Error(d)
	}
}

func TestAnEmptySubjectIsNone(t *testing.T) {
	w := newWorld()
	if _, err := w.Publish(t.Context(), orders, PublishInput{Message: "x"}); err != nil || w.publisher.got[0].Entries[0].Subject != nil {
		t.Errorf("published %+v, error %v", w.publisher.got, err)
	}
}

func TestWhatIsNotPublishedIsTold(t *testing.T) {
	w := newWorld()
	c := serve(t, w)
	_, err := c.Publish(t.Context(), "nowhere", PublishInput{Message: "x"})
	refusal(t, err, push.CodeNotFound, `There is no topic "nowhere"`)
	for text, in := range map[string]PublishInput{
		"Empty message":       {},
		"must be valid UTF-8": {Message: "\xff"},
		"Subject":             {Message: "x", Subject: "two\nlines"},
		"Message too long":    {Message: string(make([]byte, push.MaxPublication+1))},
	} {
		_, err := c.Publish(t.Context(), orders, in)
		refusal(t, err, push.CodeInvalidParameter, text)
	}
	if len(w.publisher.got) != 1 { // nowhere
		t.Errorf("the verb got %+v", w.publisher.got)
	}
	w.publisher.fails = push.Errorf(push.CodeInternalError, "The message could not be stored. Publish it again.")
	_, err = c.Publish(t.Context(), orders, PublishInput{Message: "x"})
	refusal(t, err, push.CodeInternalError, "could not be stored")
}

// The worst case of JSON: each byte of the message takes six.
func TestTheLargestMessageFitsARequest(t *testing.T) {
	w := newWorld()
	message := string(make([]byte, push.MaxPublication))
	if _, err := serve(t, w).Publish(t.Context(), orders, PublishInput{Message: message}); err != nil || w.publisher.got[0].Entries[0].Message != message {
		t.Errorf("got error %v", err)
	}
}

func TestAVerbWithoutAResultIsAFault(t *testing.T) {
	w := newWorld()
	w.publisher.mute = true
	if _, err := w.Publish(t.Context(), orders, PublishInput{Message: "x"}); err == nil || errors.As(err, new(*push.Error)) {
		t.Errorf("got %v", err)
	}
}
