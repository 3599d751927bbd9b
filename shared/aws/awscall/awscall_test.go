package awscall_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"postino/shared/aws/awscall"
	"postino/shared/aws/awstest"
	"postino/shared/push"
)

func get(ctx context.Context, c aws.Config) error {
	_, err := dynamodb.NewFromConfig(c).GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "k"}}})
	return err
}

var call = awscall.Call{Service: "DynamoDB", Action: "dynamodb:GetItem", Resource: "the table t (POSTINO_TABLE)"}

func TestAnErrorNamesWhatToLookAtAndTellsCallersNothing(t *testing.T) {
	cases := map[string]struct {
		code string
		err  error
		says []string
	}{
		"denied":               {"AccessDeniedException", nil, []string{"dynamodb:GetItem", "the table t (POSTINO_TABLE)", "role"}},
		"no such table":        {"ResourceNotFoundException", nil, []string{"POSTINO_TABLE", "does not exist", "AWS_REGION"}},
		"another's table":      {"ValidationException", nil, []string{"POSTINO_TABLE", "template"}},
		"unknown key":          {"UnrecognizedClientException", nil, []string{"credentials", "AWS_ACCESS_KEY_ID"}},
		"expired token":        {"ExpiredTokenException", nil, []string{"AWS_SESSION_TOKEN"}},
		"throttled":            {"ProvisionedThroughputExceededException", nil, []string{"throttled"}},
		"a fault of AWS's own": {"InternalServerError", nil, []string{"DynamoDB answers with an error"}},
		"nobody there":         {"", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, []string{"cannot be reached", "AWS_ENDPOINT_URL"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stub := awstest.Stub(func(string, []byte) (int, string, error) {
					if c.err != nil {
						return 0, "", c.err
					}
					return http.StatusBadRequest, awstest.Refusal(c.code, "secret detail"), nil
				})
				err := call.Explain(t.Context(), get(t.Context(), stub.Config(t)))
				for _, part := range c.says {
					if err == nil || !strings.Contains(err.Error(), part) {
						t.Errorf("%v does not say %q", err, part)
					}
				}
				if strings.ContainsRune(err.Error(), '\n') {
					t.Errorf("the error has more than one line: %v", err)
				}
				e, ok := errors.AsType[*push.Error](err)
				if !ok || push.IsNotFound(err) || strings.Contains(e.Text, "table") || strings.Contains(e.Text, "secret") {
					t.Errorf("what callers are told: %+v", e)
				}
			})
		})
	}
}

// TestOnlyALogSpeaksOfTheFunctionsRole: at a terminal there is no function.
func TestOnlyALogSpeaksOfTheFunctionsRole(t *testing.T) {
	for _, err := range []error{
		&smithy.GenericAPIError{Code: "InvalidClientTokenId"}, errors.New("get credentials: no EC2 IMDS role found"),
		errors.New("get credentials: failed to refresh cached credentials, sso"), &smithy.GenericAPIError{Code: "AccessDenied"},
		&smithy.GenericAPIError{Code: "ExpiredToken"}, &smithy.GenericAPIError{Code: "ResourceNotFoundException"}, errors.New("anything"),
	} {
		explained := call.Explain(t.Context(), err)
		if told := awscall.Tell(explained); told == "" || strings.Contains(told, "function") {
			t.Errorf("%v is told as %q", err, told)
		}
		if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "InvalidClientTokenId" && !strings.Contains(explained.Error(), "function's role") {
			t.Errorf("the log says %v", explained)
		}
	}
}

func TestMissingCredentialsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := awstest.Stub(func(string, []byte) (int, string, error) { return 200, "{}", nil }).Config(t)
		c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, errors.New("nothing found")
		})
		err := call.Explain(t.Context(), get(t.Context(), c))
		if err == nil || !strings.Contains(err.Error(), "no AWS credentials") {
			t.Error(err)
		}
	})
}

func TestTheCallersOwnEndStaysRecognisable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := awstest.Stub(func(string, []byte) (int, string, error) { return 200, "{}", nil }).Config(t)
	if err := call.Explain(ctx, get(ctx, c)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := call.Explain(ctx, nil); err != nil {
		t.Error(err)
	}
}

func TestACallIsTriedThriceWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		stub := awstest.Stub(func(string, []byte) (int, string, error) {
			tries++
			return http.StatusInternalServerError, awstest.Refusal("InternalServerError", ""), nil
		})
		start := time.Now()
		if err := get(t.Context(), stub.Config(t)); err == nil {
			t.Error("an error passed for success")
		}
		if took := time.Since(start); tries != 3 || took > time.Second {
			t.Errorf("%d tries in %v", tries, took)
		}
	})
}

// hanging never answers until its request is given up.
type hanging struct{ tries int }

func (h *hanging) Do(r *http.Request) (*http.Response, error) {
	h.tries++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestATryThatHangsIsGivenUpInTimeForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{}
		c := awstest.Stub(nil).Config(t)
		c.HTTPClient = h
		start := time.Now()
		err := call.Explain(t.Context(), get(t.Context(), c))
		if took := time.Since(start); h.tries != 3 || took > 10*time.Second {
			t.Errorf("%d tries in %v", h.tries, took)
		}
		if err == nil || !strings.Contains(err.Error(), "does not answer in time") {
			t.Error(err)
		}
	})
}

func TestALongPollIsNoHangingTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stub := awstest.Stub(func(string, []byte) (int, string, error) {
			time.Sleep(20 * time.Second) // the bubble's clock
			return http.StatusOK, "{}", nil
		})
		_, err := sqs.NewFromConfig(stub.Config(t)).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("https://q/1")})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestACallLeavesAThirdOfTheTimeToItsFunctionsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ left, limit, want time.Duration }{
			{time.Minute, 6 * time.Second, 6 * time.Second},
			{3 * time.Second, 6 * time.Second, 2 * time.Second},
			{0, 6 * time.Second, 0},
		} {
			function, cancel := context.WithTimeout(t.Context(), c.left)
			ctx, done := awscall.Bound(function, c.limit)
			deadline, _ := ctx.Deadline()
			if got := time.Until(deadline); got != c.want {
				t.Errorf("with %v left a call may take %v, want %v", c.left, got, c.want)
			}
			done()
			cancel()
		}
	})
}

func TestLoadNamesTheMissingRegion(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	if _, err := awscall.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Error(err)
	}
}
