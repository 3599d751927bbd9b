// Package functionurl makes the events of signed calls of the SNS API that Lambda
// would make of requests to a Function URL (AWS Lambda developer guide, "Invoking
// Lambda function URLs"), for tests and measurements that hand them over themselves.
package functionurl

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/uuid"
)

// Call is the event of a call with the given form, made and signed at now.
func Call(ctx context.Context, form url.Values, key aws.Credentials, now time.Time) ([]byte, error) {
	const host = "abc.lambda-url.us-east-1.on.aws"
	event, err := json.Marshal(events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/",
		Headers: map[string]string{"host": host, "content-type": "application/x-www-form-urlencoded",
			"amz-sdk-invocation-id": uuid.NewString(), "amz-sdk-request": "attempt=1; max=3"},
		RequestContext: events.LambdaFunctionURLRequestContext{DomainName: host,
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: http.MethodPost, Path: "/"}}})
	if err != nil {
		return nil, err
	}
	return Sign(ctx, event, form, key, now)
}

// Sign makes an event's call anew: its form has the parameters of changes in place of
// its own, and it is signed at now, since a signature is good for a quarter of an
// hour and for one key. An event that is no POST of a Function URL comes back as it
// is. The error is for one that is no JSON or cannot be signed.
func Sign(ctx context.Context, event []byte, changes url.Values, key aws.Credentials, now time.Time) ([]byte, error) {
	var e events.LambdaFunctionURLRequest
	if err := json.Unmarshal(event, &e); err != nil {
		return nil, err
	}
	if e.RequestContext.HTTP.Method != http.MethodPost {
		return event, nil
	}
	body, err := formOf(e, changes)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+e.Headers["host"]+e.RawPath, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"content-type", "amz-sdk-invocation-id", "amz-sdk-request"} {
		if value, ok := e.Headers[name]; ok {
			r.Header.Set(name, value)
		}
	}
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(ctx, key, r, hex.EncodeToString(sum[:]), "sns", "us-east-1", now); err != nil {
		return nil, err
	}
	for _, name := range []string{"authorization", "x-amz-date"} {
		e.Headers[name] = r.Header.Get(name)
	}
	e.Headers["content-length"] = fmt.Sprint(len(body))
	if e.Body = body; e.IsBase64Encoded {
		e.Body = base64.StdEncoding.EncodeToString([]byte(body))
	}
	return json.Marshal(e)
}

// formOf is an event's body as it was sent, but for the changes.
func formOf(e events.LambdaFunctionURLRequest, changes url.Values) (string, error) {
	body := e.Body
	if e.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return "", fmt.Errorf("the event's body is no base64: %w", err)
		}
		body = string(b)
	}
	if len(changes) == 0 {
		return body, nil
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		return "", fmt.Errorf("the event's body is no form: %w", err)
	}
	maps.Copy(form, changes)
	return form.Encode(), nil
}
