package lambdaio

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"postino/shared/push"
	"postino/shared/snsapi"
)

// HandleURL answers a Function URL request, payload version 2.0. The body may be
// plain or base64 (Function URLs encode every content type that is not text,
// form bodies among them). Every failure is an answer, so the error is always nil.
func (h PublishHandler) HandleURL(ctx context.Context, r events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	var answer snsapi.Response
	err := guard(ctx, h.Log, func() error {
		request, err := requestOf(r)
		if err != nil {
			return err
		}
		answer = h.API.Serve(ctx, request)
		return nil
	})
	if err != nil {
		e := asError(err)
		answer = h.Refuse(e.Code, e.Text)
	}
	return responseOf(answer), nil
}

func requestOf(r events.LambdaFunctionURLRequest) (snsapi.Request, error) {
	body, err := bodyOf(r)
	if err != nil {
		return snsapi.Request{}, err
	}
	header := make(http.Header, len(r.Headers)+1)
	values := make([]string, 0, len(r.Headers)) // one allocation for all one-value lists
	for name, value := range r.Headers {
		n := len(values)
		values = append(values, value)
		header[http.CanonicalHeaderKey(name)] = values[n : n+1 : n+1]
	}
	if len(r.Cookies) > 0 {
		header["Cookie"] = []string{strings.Join(r.Cookies, "; ")}
	}
	return snsapi.Request{
		Method: r.RequestContext.HTTP.Method, Path: r.RawPath, RawQuery: r.RawQueryString,
		Header: header, Body: body,
	}, nil
}

// bodyOf judges the size before it decodes.
func bodyOf(r events.LambdaFunctionURLRequest) ([]byte, error) {
	size := len(r.Body)
	if r.IsBase64Encoded {
		size = base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(r.Body, "=")))
	}
	if size > MaxBody {
		return nil, tooLarge(MaxBody)
	}
	if !r.IsBase64Encoded {
		return []byte(r.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(r.Body)
	if err != nil {
		return nil, push.Errorf(push.CodeValidationError, "The request's body is marked as base64 and is not.")
	}
	return body, nil
}

func tooLarge(limit int64) *push.Error {
	return push.Errorf(push.CodeRequestTooLarge, "The request's body is longer than %d bytes.", limit)
}

// responseOf joins repeated headers by commas, as Function URLs want them, and
// encodes a body that JSON strings cannot hold.
func responseOf(r snsapi.Response) events.LambdaFunctionURLResponse {
	out := events.LambdaFunctionURLResponse{StatusCode: r.Status, Headers: make(map[string]string, len(r.Header))}
	for name, values := range r.Header {
		out.Headers[name] = joined(values)
	}
	if utf8.Valid(r.Body) {
		out.Body = string(r.Body)
	} else {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(r.Body), true
	}
	return out
}

func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ",")
}
