package snsapi

import (
	"context"
	"slices"
	"sync"

	"postino/shared/push"
)

const version = "2010-03-31"

// action is one entry of the API.
type action struct {
	do func(*API, context.Context, *call) error
	// topic gives the ARN of the topic that a call names, as it is written there,
	// "" for none: what the gate judges by, before the parameters are.
	topic func(*API, params) string
	// link: also served by GET, because messages carry it as a link.
	link bool
}

// find gives the action, or says why there is none.
func find(name, v string) (action, error) {
	if v != "" && v != version {
		return action{}, push.Errorf(push.CodeInvalidAction, "There is no operation %s in version %s: this server speaks version %s.", clip(name), clip(v), version)
	}
	if act, ok := served()[name]; ok {
		return act, nil
	}
	if slices.Contains(unserved(), name) {
		return action{}, push.Errorf(push.CodeInvalidAction, "%s is an action of Amazon SNS that this server does not serve yet.", name)
	}
	return action{}, push.Errorf(push.CodeInvalidAction, "There is no action %s.", clip(name))
}

// served are the actions there are, by name.
var served = sync.OnceValue(func() map[string]action {
	return map[string]action{
		"CreateTopic":               {do: (*API).createTopic, topic: named},
		"DeleteTopic":               {do: (*API).deleteTopic, topic: given("TopicArn")},
		"ListTopics":                {do: (*API).listTopics, topic: none},
		"GetTopicAttributes":        {do: (*API).getTopicAttributes, topic: given("TopicArn")},
		"SetTopicAttributes":        {do: (*API).setTopicAttributes, topic: given("TopicArn")},
		"TagResource":               {do: (*API).tagResource, topic: given("ResourceArn")},
		"UntagResource":             {do: (*API).untagResource, topic: given("ResourceArn")},
		"ListTagsForResource":       {do: (*API).listTagsForResource, topic: given("ResourceArn")},
		"Subscribe":                 {do: (*API).subscribe, topic: given("TopicArn")},
		"ConfirmSubscription":       {do: (*API).confirmSubscription, topic: given("TopicArn"), link: true},
		"Unsubscribe":               {do: (*API).unsubscribe, topic: subscribed, link: true},
		"ListSubscriptions":         {do: (*API).listSubscriptions, topic: none},
		"ListSubscriptionsByTopic":  {do: (*API).listSubscriptionsByTopic, topic: given("TopicArn")},
		"GetSubscriptionAttributes": {do: (*API).getSubscriptionAttributes, topic: subscribed},
		"SetSubscriptionAttributes": {do: (*API).setSubscriptionAttributes, topic: subscribed},
		"Publish":                   {do: (*API).publish, topic: given("TopicArn", "TargetArn")},
		"PublishBatch":              {do: (*API).publishBatch, topic: given("TopicArn")},
	}
})

// Actions are the names of all of SNS's actions, served or not.
func Actions() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range served() {
			if !yield(name) {
				return
			}
		}
		slices.Values(unserved())(yield)
	})
}

// given is the topic that the first of some parameters which has a value names.
func given(parameters ...string) func(*API, params) string {
	return func(_ *API, p params) string {
		for _, name := range parameters {
			if p[name] != "" {
				return p[name]
			}
		}
		return ""
	}
}

// named is the topic that CreateTopic makes.
func named(a *API, p params) string { return a.arnOf(p["Name"]) }

// subscribed is the topic of a subscription.
func subscribed(_ *API, p params) string { return push.TopicOf(p["SubscriptionArn"]) }

func none(*API, params) string { return "" }

// resultless reports whether an action's answer has no Result element
// (botocore's model of SNS).
func resultless(name string) bool {
	switch name {
	case "DeleteTopic", "SetTopicAttributes", "Unsubscribe", "SetSubscriptionAttributes":
		return true
	}
	return false
}

// unserved are the rest of SNS's actions (SNS API reference, actions).
func unserved() []string {
	return []string{
		"AddPermission", "RemovePermission", "GetDataProtectionPolicy", "PutDataProtectionPolicy",
		"CreatePlatformApplication", "DeletePlatformApplication", "ListPlatformApplications",
		"GetPlatformApplicationAttributes", "SetPlatformApplicationAttributes",
		"CreatePlatformEndpoint", "DeleteEndpoint", "ListEndpointsByPlatformApplication",
		"GetEndpointAttributes", "SetEndpointAttributes",
		"CheckIfPhoneNumberIsOptedOut", "ListPhoneNumbersOptedOut", "OptInPhoneNumber",
		"GetSMSAttributes", "SetSMSAttributes", "GetSMSSandboxAccountStatus",
		"CreateSMSSandboxPhoneNumber", "DeleteSMSSandboxPhoneNumber", "ListSMSSandboxPhoneNumbers",
		"VerifySMSSandboxPhoneNumber", "ListOriginationNumbers",
	}
}
