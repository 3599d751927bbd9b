package host_test

import (
	"testing"

	"postino/shared/config"
	"postino/shared/operator"
	"postino/shared/pipeline"
	"postino/shared/push"
)

func TestAServerOfAnotherPartitionWorksThroughout(t *testing.T) {
	t.Parallel()
	for region, partition := range map[string]string{"cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov"} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(c *config.Config) { c.Region = region })
			prefix := "arn:" + partition + ":"
			r := receive(t, func(a arrival) int {
				if a.path == "/good" {
					return 200
				}
				return 503
			})
			topic := s.topic("far")
			if want := prefix + "sns:" + region + ":000000000000:far"; topic != want {
				t.Errorf("the topic is %s, want %s", topic, want)
			}
			s.subscribe(topic, r, r.at("/good"))
			s.subscribe(topic, r, r.at("/bad"), "DeliveryPolicy", immediate(1),
				"RedrivePolicy", `{"deadLetterTargetArn":"`+prefix+`sqs:`+region+`:000000000000:own"}`)
			arn := s.subscribe(topic, r, r.at("/none"), "DeliveryPolicy", immediate(1))
			id := s.publish(topic, "hello")
			s.events.wait(t, 1, kind(pipeline.EventDelivered))
			s.events.wait(t, 2, kind(pipeline.EventDead))
			if l := s.letter("own"); l.Note == nil || l.Note.MessageID != id {
				t.Errorf("the letter is %+v", l)
			}
			s.letter("DeadLetterQueue")
			if d := s.show(arn + "/" + id); d.State != push.Dead || d.Target != "DeadLetterQueue" {
				t.Errorf("shown as %+v", d)
			}
			// The operator completes bare names likewise.
			if page, err := s.operator.ListDeliveries(t.Context(), operator.ListRequest{Topic: "far", State: "dead"}); err != nil || len(page.Deliveries) != 2 {
				t.Errorf("listed are %+v, %v", page, err)
			}
		})
	}
}
