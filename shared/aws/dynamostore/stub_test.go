package dynamostore_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"postino/shared/aws/awstest"
	"postino/shared/aws/dynamostore"
	"postino/shared/operator"
	"postino/shared/push"
)

// These tests talk to a mock of DynamoDB's answers; the integration tests run
// the same store against an emulator.

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

const topicARN = "arn:aws:sns:us-east-1:000000000000:orders"

func deliveryOf(n int) push.Delivery {
	return push.Delivery{Key: push.DeliveryKey{Subscription: topicARN + ":11111111-0000-4000-8000-000000000001", MessageID: "m1"},
		Attempt: n, State: push.Finished, Owner: "me", LeaseEnd: noon.Add(time.Minute), CreatedAt: noon, UpdatedAt: noon, Expires: noon.Add(time.Hour)}
}

func stubbed(t *testing.T, stub awstest.Stub) *dynamostore.Store {
	t.Helper()
	s, err := dynamostore.New(dynamostore.Config{Client: dynamodb.NewFromConfig(stub.Config(t)), Table: "postino"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// writes are the conditional writes of the deliveries' port.
var writes = map[string]func(ctx context.Context, s *dynamostore.Store) (push.Delivery, bool, error){
	"Create": func(ctx context.Context, s *dynamostore.Store) (push.Delivery, bool, error) {
		return s.Create(ctx, deliveryOf(1))
	},
	"Settle": func(ctx context.Context, s *dynamostore.Store) (push.Delivery, bool, error) {
		return s.Settle(ctx, deliveryOf(2))
	},
	"Claim": func(ctx context.Context, s *dynamostore.Store) (push.Delivery, bool, error) {
		return s.Claim(ctx, deliveryOf(2), noon)
	},
}

// request is what the tests read of a write.
type request struct {
	Item                                map[string]any
	ConditionExpression                 string
	ExpressionAttributeValues           map[string]map[string]string
	ReturnValuesOnConditionCheckFailure string
}

// TestAWriteWhoseAnswerGotLostIsKnownAsOnesOwn: the SDK tries again, and the
// condition now fails on what the first try wrote.
func TestAWriteWhoseAnswerGotLostIsKnownAsOnesOwn(t *testing.T) {
	for name, write := range writes {
		for _, own := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				s := stubbed(t, func(_ string, body []byte) (int, string, error) {
					if tries++; tries == 1 {
						return 0, "", io.ErrUnexpectedEOF
					}
					var r request
					if err := json.Unmarshal(body, &r); err != nil {
						t.Error(err)
					}
					mark := r.ExpressionAttributeValues[":write"]["S"]
					if w, ok := r.Item["write"].(map[string]any); ok {
						mark, _ = w["S"].(string)
					}
					if mark == "" {
						t.Error("the write has no name of its own")
					}
					if !own {
						mark = "somebody else's"
					}
					item := `{"pk":{"S":"D#m1#0"},"sk":{"S":"` + deliveryOf(1).Key.Subscription + `#"},"v":{"N":"1"},"n":{"N":"2"},"state":{"S":"claimed"},` +
						`"owner":{"S":"x"},"lease":{"S":"2026-05-04T13:00:00.000000000Z"},"write":{"S":"` + mark + `"}}`
					return http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":` + item + `}`, nil
				})
				current, ok, err := write(t.Context(), s)
				if err != nil || ok != own || tries != 2 {
					t.Errorf("%s: ok %v, error %v after %d tries; want ok %v", name, ok, err, tries, own)
				}
				if current.Key != deliveryOf(1).Key || current.Attempt != 2 || current.State != push.Claimed {
					t.Errorf("%s: the record read from the failure is %+v", name, current)
				}
			})
		}
	}
}

// TestEveryWriteIsOneConditionalCallThatAsksForTheOldRecord: the state comes with
// the failure, not from a second read.
func TestEveryWriteIsOneConditionalCallThatAsksForTheOldRecord(t *testing.T) {
	var calls []string
	s := stubbed(t, func(operation string, body []byte) (int, string, error) {
		calls = append(calls, operation)
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		if r.ConditionExpression == "" || r.ReturnValuesOnConditionCheckFailure != "ALL_OLD" {
			t.Errorf("%s: condition %q, on failure %q", operation, r.ConditionExpression, r.ReturnValuesOnConditionCheckFailure)
		}
		if len(r.Item) == 0 { // an update answers the new item
			return http.StatusOK, `{"Attributes":{"pk":{"S":"D#m1#0"},"sk":{"S":"x#"},"v":{"N":"1"}}}`, nil
		}
		return http.StatusOK, `{}`, nil
	})
	for name, write := range writes {
		if _, ok, err := write(t.Context(), s); err != nil || !ok {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
	if err := s.End(t.Context(), deliveryOf(1).Key, 2, push.Dead, "q", "r", noon); err != nil {
		t.Error(err)
	}
	if len(calls) != len(writes)+1 {
		t.Errorf("calls: %v", calls)
	}
}

func TestAStoreThatCannotWriteSaysWhichPermissionOrVariable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for code, says := range map[string]string{
			"AccessDeniedException":     "dynamodb:PutItem",
			"ResourceNotFoundException": dynamostore.TableVariable,
			"ValidationException":       dynamostore.TableVariable,
		} {
			s := stubbed(t, func(string, []byte) (int, string, error) {
				return http.StatusBadRequest, awstest.Refusal(code, "no"), nil
			})
			_, ok, err := s.Create(t.Context(), deliveryOf(1))
			if ok || err == nil || !strings.Contains(err.Error(), says) || push.IsNotFound(err) {
				t.Errorf("%s: %v, want one that says %s", code, err, says)
			}
		}
	})
}

// TestAListingThatFailsIsNoEmptyListing: an operator must not read "nothing
// failed" out of a store that is down.
func TestAListingThatFailsIsNoEmptyListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stubbed(t, func(string, []byte) (int, string, error) {
			return http.StatusBadRequest, awstest.Refusal("AccessDeniedException", "no"), nil
		})
		for name, f := range map[string]operator.Filter{"all": {}, "a message": {MessageID: "m"}, "a subscription": {Subscription: topicARN + ":a"}} {
			if page, _, err := s.ListDeliveries(t.Context(), f); err == nil || page != nil {
				t.Errorf("%s: %v, %v", name, page, err)
			}
		}
		if _, _, err := s.Topics(t.Context(), "", 1); err == nil {
			t.Error("topics: no error")
		}
		if _, _, err := s.AllSubscriptions(t.Context(), "", 1); err == nil {
			t.Error("subscriptions: no error")
		}
		if _, err := s.Purge(t.Context(), noon, 1); err == nil {
			t.Error("purge: no error")
		}
		if err := s.DeleteTopic(t.Context(), topicARN, noon); err == nil {
			t.Error("deletion: no error")
		}
	})
}

func TestNewNamesTheVariableThatIsMissing(t *testing.T) {
	c := dynamostore.Config{Client: dynamodb.NewFromConfig(awstest.Stub(nil).Config(t))}
	if _, err := dynamostore.New(c); err == nil || !strings.Contains(err.Error(), dynamostore.TableVariable) {
		t.Error(err)
	}
	if _, err := dynamostore.New(dynamostore.Config{Table: "t"}); err == nil {
		t.Error("a store without a client was made")
	}
}

// TestAnItemOfALaterBuildIsAnErrorNotAMissingOne: an older build must not act on
// what it cannot read.
func TestAnItemOfALaterBuildIsAnErrorNotAMissingOne(t *testing.T) {
	s := stubbed(t, func(string, []byte) (int, string, error) {
		return http.StatusOK, `{"Item":{"pk":{"S":"T#` + topicARN + `"},"sk":{"S":"T"},"v":{"N":"2"}}}`, nil
	})
	if _, err := s.Topic(t.Context(), topicARN); err == nil || push.IsNotFound(err) || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}

// TestATransactionThatOthersDisturbIsTriedAgainAndThenGivenUp counts tries and
// keeps the waits short.
func TestATransactionThatOthersDisturbIsTriedAgainAndThenGivenUp(t *testing.T) {
	for _, free := range []int{3, 1000} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			s := stubbed(t, func(string, []byte) (int, string, error) {
				if tries++; tries >= free {
					return http.StatusOK, "{}", nil
				}
				return http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"no",` +
					`"CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"},{"Code":"None"}]}`, nil
			})
			start := time.Now()
			sub := push.Subscription{ARN: topicARN + ":a", TopicARN: topicARN, Protocol: push.HTTPS, Endpoint: "https://e"}
			_, created, err := s.CreateSubscription(t.Context(), sub)
			switch took := time.Since(start); {
			case took > 15*time.Second:
				t.Errorf("took %v", took)
			case free == 3 && (err != nil || !created || tries != 3):
				t.Errorf("%v, %v after %d tries", created, err, tries)
			case free > 3 && (push.CodeOf(err) != push.CodeConcurrentAccess || tries > 20):
				t.Errorf("%v after %d tries", err, tries)
			}
		})
	}
}

func TestTheStoresOwnTimeEndsBeforeTheFunctionsDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		c := awstest.Stub(nil).Config(t)
		c.HTTPClient = silent{}
		s, err := dynamostore.New(dynamostore.Config{Client: dynamodb.NewFromConfig(c), Table: "postino"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Topic(ctx, topicARN); err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
			t.Errorf("%v with the function's context at %v", err, ctx.Err())
		}
	})
}

type silent struct{}

func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
