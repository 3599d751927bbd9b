package snsapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"postino/shared/deliverypolicy"
	"postino/shared/push"
)

// topicEdits are checked changes of a topic's attributes.
type topicEdits []func(*push.Topic)

func (edits topicEdits) apply(t *push.Topic) {
	for _, edit := range edits {
		edit(t)
	}
}

// topicChanges checks the attributes of a CreateTopic, in the order of their
// names so that of several faults always the same is reported.
func topicChanges(attributes map[string]string) (topicEdits, error) {
	var edits topicEdits
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		if name == "FifoTopic" {
			if !strings.EqualFold(value, "false") {
				return nil, creating(name, fmt.Errorf("FifoTopic: Invalid value [%s]. Must be true or false.", value)) //nolint:staticcheck // in SNS's form
			}
			continue // SNS does not keep an explicit false either
		}
		edit, err := topicAttribute(name, value)
		if err != nil {
			return nil, creating(name, err)
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

// topicAttribute checks one attribute. Its errors come without prefix.
func topicAttribute(name, value string) (func(*push.Topic), error) {
	switch name {
	case "DisplayName":
		if utf8.RuneCountInString(value) > 100 || strings.ContainsFunc(value, unicode.IsControl) {
			return nil, fmt.Errorf("DisplayName: must have at most 100 characters and no control characters")
		}
		return func(t *push.Topic) { t.DisplayName = value }, nil
	case "SignatureVersion":
		if value != "1" && value != "2" {
			return nil, fmt.Errorf("SignatureVersion: Invalid value [%s]. Must be 1 or 2.", value) //nolint:staticcheck // in SNS's form
		}
		return func(t *push.Topic) { t.SignatureVersion = value }, nil
	case "DeliveryPolicy":
		document, err := topicPolicy(value)
		if err != nil {
			return nil, err
		}
		return func(t *push.Topic) { t.DeliveryPolicy = document }, nil
	case "HTTPSuccessFeedbackSampleRate":
		if n, err := strconv.Atoi(value); value != "" && (err != nil || n < 0 || n > 100 || value != strconv.Itoa(n)) {
			return nil, fmt.Errorf("HTTPSuccessFeedbackSampleRate: Invalid value [%s]. Must be a whole number from 0 to 100.", clip(value)) //nolint:staticcheck // in SNS's form
		}
		return func(t *push.Topic) { t.SuccessSampleRate = value }, nil
	case "TracingConfig":
		// PassThrough, the default, asks for nothing to be done.
		if value == "PassThrough" {
			return func(*push.Topic) {}, nil
		}
		return nil, notServed(name)
	case "Policy":
		return nil, fmt.Errorf("Policy: this server does not enforce access policies yet and keeps none") //nolint:staticcheck // begins with the attribute's name
	}
	if unservedTopicAttribute(name) {
		if value == "" { // removes what is not there
			return func(*push.Topic) {}, nil
		}
		return nil, notServed(name)
	}
	return nil, errUnknown
}

// unservedTopicAttribute knows the rest of SNS's topic attributes (SNS API
// reference, SetTopicAttributes). FifoTopic cannot be set on a topic in SNS
// either.
func unservedTopicAttribute(name string) bool {
	switch name {
	case "KmsMasterKeyId", "ContentBasedDeduplication", "ArchivePolicy", "FifoThroughputScope", "DataProtectionPolicy":
		return true
	}
	for _, to := range []string{"HTTP", "Firehose", "Lambda", "Application", "SQS"} {
		switch name {
		case to + "SuccessFeedbackRoleArn", to + "SuccessFeedbackSampleRate", to + "FailureFeedbackRoleArn":
			return true
		}
	}
	return false
}

// maxDocument bounds a policy document, in bytes. SNS publishes no number for
// delivery policies; the largest meaningful one is under 1 KB.
const maxDocument = 32 << 10

func topicPolicy(document string) (string, error) {
	if document == "" {
		return "", nil
	}
	if len(document) > maxDocument {
		return "", fmt.Errorf("DeliveryPolicy: must have at most %d bytes", maxDocument) //nolint:staticcheck // begins with the attribute's name
	}
	p, err := deliverypolicy.ParseTopic(document)
	return p.String(), err
}

func (a *API) setTopicAttributes(ctx context.Context, c *call) error {
	arn, err := a.topicARN(c, "TopicArn")
	if err != nil {
		return err
	}
	edit, err := topicAttribute(c.params["AttributeName"], c.params["AttributeValue"])
	if err != nil {
		return setting(err)
	}
	_, err = a.Directory.UpdateTopic(ctx, arn, func(t *push.Topic) error { edit(t); return nil })
	if push.IsNotFound(err) {
		return noTopic()
	}
	return err
}

func (a *API) getTopicAttributes(ctx context.Context, c *call) error {
	t, err := a.topic(ctx, c, "TopicArn")
	if err != nil {
		return err
	}
	effective, err := effectiveTopicPolicy(t)
	if err != nil {
		return err
	}
	m := map[string]string{
		"TopicArn": t.ARN, "Owner": a.Account, "DisplayName": t.DisplayName, "Policy": a.defaultPolicy(t.ARN),
		"SubscriptionsConfirmed": strconv.Itoa(t.Confirmed), "SubscriptionsPending": strconv.Itoa(t.Pending),
		"SubscriptionsDeleted": strconv.Itoa(t.Deleted), "EffectiveDeliveryPolicy": effective,
	}
	if t.DeliveryPolicy != "" {
		m["DeliveryPolicy"] = t.DeliveryPolicy
	}
	if t.SignatureVersion != "" {
		m["SignatureVersion"] = t.SignatureVersion
	}
	if t.SuccessSampleRate != "" {
		m["HTTPSuccessFeedbackSampleRate"] = t.SuccessSampleRate
	}
	c.out.entries("Attributes", m)
	return nil
}

func effectiveTopicPolicy(t push.Topic) (string, error) {
	p, err := parsedTopicPolicy(t.DeliveryPolicy)
	return p.EffectiveString(), err
}

// parsedTopicPolicy reads a stored document, "" for none.
func parsedTopicPolicy(document string) (deliverypolicy.TopicPolicy, error) {
	if document == "" {
		return deliverypolicy.TopicPolicy{}, nil
	}
	return deliverypolicy.ParseTopic(document)
}

// defaultPolicy is the access policy SNS shows on a topic that has none of its
// own (recorded), as no topic has here: the owner's account may do these eight things.
func (a *API) defaultPolicy(arn string) string {
	q := func(s string) string { b, _ := json.Marshal(s); return string(b) } // a string always marshals
	return `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow",` +
		`"Principal":{"AWS":"*"},"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission",` +
		`"SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":` + q(arn) +
		`,"Condition":{"StringEquals":{"AWS:SourceOwner":` + q(a.Account) + `}}}]}`
}
