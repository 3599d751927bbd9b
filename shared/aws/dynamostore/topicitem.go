package dynamostore

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"postino/shared/push"
)

// What has become of a topic whose item is still there; "" is a live topic.
const (
	// topicGoing: no longer to be seen, its subscriptions are being buried.
	topicGoing = "going"
	// topicGone: only the version is kept, so that a topic made again under the
	// same name goes on from it and no cached list of subscriptions fits.
	topicGone = "gone"
)

func topicItem(t push.Topic) item {
	i := newItem(topicKey(t.ARN))
	i["version"] = number(t.Version)
	i.setText("displayName", t.DisplayName)
	i.setText("deliveryPolicy", t.DeliveryPolicy)
	i.setText("signatureVersion", t.SignatureVersion)
	i.setText("successSampleRate", t.SuccessSampleRate)
	if len(t.Tags) > 0 {
		tags := map[string]types.AttributeValue{}
		for k, v := range t.Tags {
			tags[k] = text(v)
		}
		i["tags"] = &types.AttributeValueMemberM{Value: tags}
	}
	i.setTime("created", t.CreatedAt)
	i["confirmed"], i["pending"], i["deleted"] = number(t.Confirmed), number(t.Pending), number(t.Deleted)
	i[listPK], i[listSK] = text(topicList), text(t.ARN)
	return i
}

// readTopic gives a topic and what has become of it.
func readTopic(arn string, i item) (t push.Topic, fate string, err error) {
	f := read(i)
	t = push.Topic{ARN: arn, Version: f.number("version"), DisplayName: f.text("displayName"), DeliveryPolicy: f.text("deliveryPolicy"),
		SignatureVersion: f.text("signatureVersion"), SuccessSampleRate: f.text("successSampleRate"), CreatedAt: f.time("created"),
		Confirmed: int(f.number("confirmed")), Pending: int(f.number("pending")), Deleted: int(f.number("deleted"))}
	if tags, ok := i["tags"].(*types.AttributeValueMemberM); ok {
		t.Tags = map[string]string{}
		values := fields{item: tags.Value}
		for k := range tags.Value {
			t.Tags[k] = values.text(k)
		}
	}
	fate = f.text("fate")
	return t, fate, f.fault(arn)
}
