package snsapi

import (
	"context"
	"slices"

	"postino/shared/push"
)

const version = "2010-03-31"

// action is one entry of the API.
type action struct {
	do func(*API, context.Context, *call) error
	// link: also served by GET, because messages carry it as a link.
	link bool
}

// find gives the action, or says why there is none.
func find(name, v string) (action, error) {
	if v != "" && v != version {
		return action{}, push.Errorf(push.CodeInvalidAction, "There is no operation %s in version %s: this server speaks version %s.", clip(name), clip(v), version)
	}
	switch name {
	case "CreateTopic":
		return action{do: (*API).createTopic}, nil
	case "DeleteTopic":
		return action{do: (*API).deleteTopic}, nil
	case "ListTopics":
		return action{do: (*API).listTopics}, nil
	case "GetTopicAttributes":
		return action{do: (*API).getTopicAttributes}, nil
	case "SetTopicAttributes":
		return action{do: (*API).setTopicAttributes}, nil
	case "TagResource":
		return action{do: (*API).tagResource}, nil
	case "UntagResource":
		return action{do: (*API).untagResource}, nil
	case "ListTagsForResource":
		return action{do: (*API).listTagsForResource}, nil
	case "Subscribe":
		return action{do: (*API).subscribe}, nil
	case "ConfirmSubscription":
		return action{do: (*API).confirmSubscription, link: true}, nil
	case "Unsubscribe":
		return action{do: (*API).unsubscribe, link: true}, nil
	case "ListSubscriptions":
		return action{do: (*API).listSubscriptions}, nil
	case "ListSubscriptionsByTopic":
		return action{do: (*API).listSubscriptionsByTopic}, nil
	case "GetSubscriptionAttributes":
		return action{do: (*API).getSubscriptionAttributes}, nil
	case "SetSubscriptionAttributes":
		return action{do: (*API).setSubscriptionAttributes}, nil
	case "Publish":
		return action{do: (*API).publish}, nil
	case "PublishBatch":
		return action{do: (*API).publishBatch}, nil
	}
	if slices.Contains(unserved(), name) {
		return action{}, push.Errorf(push.CodeInvalidAction, "%s is an action of Amazon SNS that this server does not serve yet.", name)
	}
	return action{}, push.Errorf(push.CodeInvalidAction, "There is no action %s.", clip(name))
}

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
