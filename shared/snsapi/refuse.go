package snsapi

import (
	"net/http"

	"github.com/google/uuid"

	"postino/shared/push"
)

// Refuse renders a refusal of a request that never got as far as Serve, a body
// that is too large say, in the form of all others.
func (a *API) Refuse(code push.Code, text string) Response {
	id, err := a.uuid()
	if err != nil {
		id = uuid.Nil.String()
	}
	resp := Response{Status: status(code), Header: http.Header{"Content-Type": {"text/xml"}}, Body: errorXML(push.Errorf(code, "%s", text), id)}
	resp.Header.Set("x-amzn-RequestId", id)
	return resp
}
