package operator

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"postino/shared/push"
)

// PublishInput is one message for a topic.
type PublishInput struct {
	// Topic is an ARN or a name.
	Topic   string
	Message string
	// Subject is left out when empty.
	Subject    string
	Attributes []push.Attribute
	// Invocation makes a call that is repeated publish the same message again.
	Invocation string
}

// Publish sends a message through the public SNS API, as any SNS client would,
// and answers its id (SNS API reference, Publish).
func (c *Client) Publish(ctx context.Context, in PublishInput) (messageID string, err error) {
	if in.Topic == "" {
		return "", push.Errorf(push.CodeInvalidParameter, "The topic's name is empty: is a shell variable unset?")
	}
	form := url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"},
		"TopicArn": {push.ARNOf("sns", c.Server.Region, c.Server.Account, in.Topic)}, "Message": {in.Message},
	}
	if in.Subject != "" {
		form.Set("Subject", in.Subject)
	}
	for i, a := range in.Attributes {
		entry := "MessageAttributes.entry." + strconv.Itoa(i+1)
		form.Set(entry+".Name", a.Name)
		form.Set(entry+".Value.DataType", a.Type)
		kind := ".Value.StringValue"
		if strings.HasPrefix(a.Type, "Binary") {
			kind = ".Value.BinaryValue"
		}
		form.Set(entry+kind, a.Value)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.Server.URL, "/")+"/", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	r.Header.Set("Amz-Sdk-Invocation-Id", in.Invocation)
	resp, body, err := c.do(r)
	if err != nil {
		return "", err
	}
	var answer struct {
		MessageID string    `xml:"PublishResult>MessageId"`
		Code      push.Code `xml:"Error>Code"`
		Message   string    `xml:"Error>Message"`
	}
	if err := xml.Unmarshal(body, &answer); err == nil {
		if resp.StatusCode == http.StatusOK && answer.MessageID != "" {
			return answer.MessageID, nil
		}
		if answer.Code == push.CodeNotFound {
			return "", push.Errorf(answer.Code, "There is no topic %q: `aws sns list-topics` shows those there are", shorten(in.Topic))
		}
		if answer.Code != "" {
			return "", &push.Error{Code: answer.Code, Text: answer.Message}
		}
	}
	return "", fmt.Errorf("What answers at %s is not the Postino server of %s: is it running?", c.Server.URL, c.Dir) //nolint:staticcheck // read by people
}
