package dynamostore_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/access"
	"postino/shared/aws/dynamostore"
	"postino/shared/aws/schedulertimer"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
	"postino/shared/snsapi"
)

var (
	_ dynamostore.API         = (*dynamodb.Client)(nil)
	_ access.Store            = (*dynamostore.Store)(nil)
	_ snsapi.Directory        = (*dynamostore.Store)(nil)
	_ pipeline.Deliveries     = (*dynamostore.Store)(nil)
	_ pipeline.Slots          = (*dynamostore.Store)(nil)
	_ operator.Deliveries     = (*dynamostore.Store)(nil)
	_ schedulertimer.Payloads = (*dynamostore.Store)(nil)
)

// TestWhatMustNotBeStaleIsReadStrongly: no emulator is ever stale, so what is
// asked for is all that can be checked.
func TestWhatMustNotBeStaleIsReadStrongly(t *testing.T) {
	ctx, sub := context.Background(), topicARN+":11111111-0000-4000-8000-000000000001"
	reads := map[string]struct {
		read   func(s *dynamostore.Store) error
		strong bool
	}{
		"a topic":              {func(s *dynamostore.Store) error { _, err := s.Topic(ctx, topicARN); return err }, true},
		"a topic's list":       {func(s *dynamostore.Store) error { _, _, err := s.Subscriptions(ctx, topicARN, "", 10); return err }, true},
		"a subscription":       {func(s *dynamostore.Store) error { _, err := s.Subscription(ctx, sub, true); return err }, true},
		"a subscription, weak": {func(s *dynamostore.Store) error { _, err := s.Subscription(ctx, sub, false); return err }, false},
		"a token":              {func(s *dynamostore.Store) error { _, err := s.ByToken(ctx, "t"); return err }, true},
		"an access key":        {func(s *dynamostore.Store) error { _, err := s.Key(ctx, "k"); return err }, true},
		"a payload":            {func(s *dynamostore.Store) error { _, _, err := s.Payload(ctx, "p"); return err }, true},
	}
	for name, c := range reads {
		calls := 0
		s := stubbed(t, func(_ string, body []byte) (int, string, error) {
			calls++
			var r struct{ ConsistentRead bool }
			if err := json.Unmarshal(body, &r); err != nil || r.ConsistentRead != c.strong {
				t.Errorf("%s: read strongly: %v, want %v (%v)", name, r.ConsistentRead, c.strong, err)
			}
			return http.StatusOK, `{}`, nil
		})
		if err := c.read(s); err != nil && !push.IsNotFound(err) || calls == 0 {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}
