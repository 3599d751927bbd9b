package snsapi

import (
	"strings"

	"github.com/google/uuid"

	"postino/shared/push"
)

func (a *API) arnOf(topic string) string {
	return push.ARN{Partition: push.Partition(a.Region), Service: "sns", Region: a.Region, Account: a.Account, Resource: topic}.String()
}

// topicARN reads a parameter that names a topic. The texts are SNS's (recorded);
// a topic of another account is one that does not exist here.
func (a *API) topicARN(c *call, parameter string) (string, error) {
	v, err := c.params.required(parameter)
	if err != nil {
		return "", err
	}
	arn, err := push.ParseARN(v)
	if err != nil {
		return "", badARN(parameter, v, err)
	}
	if !a.ours(arn) || arn.Resource == "" || strings.Contains(arn.Resource, ":") {
		return "", push.Invalid("%s", parameter)
	}
	if arn.Account != a.Account {
		return "", noTopic()
	}
	return v, nil
}

// badARN words what push.ParseARN said of v. SNS gives a reason only where there
// are too few elements (recorded).
func badARN(parameter, v string, err error) error {
	if strings.Count(v, ":") < 5 {
		return push.Invalid("%s Reason: %s", parameter, err)
	}
	return push.Invalid("%s", parameter)
}

// ours reports whether arn is of SNS in our region, in whichever account.
func (a *API) ours(arn push.ARN) bool {
	return arn.Partition == push.Partition(a.Region) && arn.Service == "sns" && arn.Region == a.Region
}

// subscriptionARN reads the parameter SubscriptionArn. known is false when the
// ARN is well-formed but of another account, where nothing of ours can be.
func (a *API) subscriptionARN(c *call) (v string, known bool, err error) {
	if v, err = c.params.required("SubscriptionArn"); err != nil {
		return "", false, err
	}
	arn, err := push.ParseARN(v)
	if err != nil {
		return "", false, badARN("SubscriptionArn", v, err)
	}
	if !isUUID(arn.SubscriptionID()) {
		return "", false, push.Invalid("SubscriptionId")
	}
	if !a.ours(arn) || arn.Name() == "" {
		return "", false, push.Invalid("SubscriptionArn")
	}
	return v, arn.Account == a.Account, nil
}

func isUUID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }
