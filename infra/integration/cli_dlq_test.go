//go:build integration

package integration

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"postino/shared/operator"
	"postino/shared/push"
)

// letters waits until a queue holds the letters of the messages, and gives the
// letters' ids by message.
func (s *stack) letters(queue string, messages ...string) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	s.eventually(fmt.Sprintf("%s holds %q", queue, messages), func() bool {
		for _, d := range answers[operator.DeadLetterPage](s, "dlq", "list", queue, "--limit", "1000").DeadLetters {
			if d.Note != nil && slices.Contains(messages, d.Note.MessageID) {
				found[d.Note.MessageID] = d.ID
			}
		}
		return len(found) == len(messages)
	})
	return found
}

func TestTheCommandLineShowsDeadLettersAndSendsThemAgain(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	subscription := s.subscribe(topic, e, policy(0, 1))
	e.answer(http.StatusGone)
	first, second := s.publish(topic, "one of two"), s.publish(topic, "two of two")
	bodies := map[string]string{}
	for range 2 {
		p := e.next()
		bodies[p.MessageId] = p.body
	}
	letters := s.letters("DeadLetterQueue", first, second)

	s.does([]string{"dlq", "list"}, "DeadLetterQueue ", "FailedJobsQueue ")
	shown := answers[operator.DeadLetter](s, "dlq", "show", "DeadLetterQueue", letters[first])
	if shown.Body != bodies[first] || shown.Note == nil || shown.Note.Status != http.StatusGone || shown.Note.Subscription != subscription || shown.Queue != "DeadLetterQueue" {
		t.Errorf("shown is %+v", shown)
	}
	s.does([]string{"dlq", "show", "DeadLetterQueue", letters[second]}, "410 Gone", second, "two of two")
	s.fails("has no message", "dlq", "show", "FailedJobsQueue", letters[second])

	e.answer(http.StatusOK)
	if got := answers[operator.RedriveResult](s, "dlq", "redrive", "DeadLetterQueue", letters[first]); got.Redriven != 1 {
		t.Errorf("redriven: %+v", got)
	}
	if p := e.next(); p.MessageId != first || p.body != bodies[first] {
		t.Errorf("sent again was %s", p.body)
	}
	got := s.postino(nil, "dlq", "redrive", "DeadLetterQueue", letters[first], letters[second])
	if got.code != 1 || got.err != "" || !strings.Contains(got.out, letters[first]+" is not there") || !strings.Contains(got.out, "Sent 1 message again.") {
		t.Errorf("redriven: %+v", got)
	}
	if p := e.next(); p.MessageId != second {
		t.Errorf("sent again was %s", p.body)
	}
	e.quiet(2 * time.Second)
	list := []string{"deliveries", "list", "--topic", topic}
	s.eventually("both are recorded as delivered", func() bool { return strings.Count(s.does(list), " 200   sent again\n") == 2 })
	shownAgain := []string{"dead letter   went to DeadLetterQueue and was sent again from there", "410 Gone is permanent", "(sent again from a dead-letter queue)\nstate         delivered\n"}
	s.does([]string{"deliveries", "show", first[:8]}, shownAgain...)
	s.does(list, "went to DeadLetterQueue, sent again from there\n", "Of what succeeded at once only the share that is logged is listed")
}

func TestTheCommandLineSendsAllOfASubscribersOwnQueueAgain(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	_, arn := s.queue("it")
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	attributes := policy(0, 1)
	maps.Copy(attributes, map[string]string{"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q}`, arn)})
	s.subscribe(topic, e, attributes)
	e.answer(http.StatusGone)
	const n = 23 // more than two batches
	var messages []string
	for i := range n {
		messages = append(messages, s.publish(topic, fmt.Sprint("letter ", i)))
	}
	for range n {
		e.next()
	}
	s.letters(name, messages...)
	s.does([]string{"dlq", "list"}, name)
	s.does([]string{"dlq", "list", name, "--limit", "20"}, "About 3 more were not looked at")
	page := answers[operator.DeadLetterPage](s, "dlq", "list", arn)
	if !slices.IsSortedFunc(page.DeadLetters, func(a, b operator.DeadLetter) int { return a.Sent.Compare(b.Sent) }) || len(page.DeadLetters) != n || page.Left != 0 {
		t.Errorf("listed are %d, %d left", len(page.DeadLetters), page.Left)
	}

	s.does([]string{"dlq", "redrive", name, "--all"}, fmt.Sprintf("Sent %d messages again.", n))
	for range n {
		e.next()
	}
	// They die again, and have been sent again as often as is allowed.
	s.letters(name, messages...)
	got := s.postino(nil, "dlq", "redrive", name, "--all")
	if got.code != 1 || strings.Count(got.out, "POSTINO_MAX_REDRIVES") != n || !strings.Contains(got.out, "Sent 0 messages again.") {
		t.Errorf("a second redrive: %+v", got)
	}
	e.answer(http.StatusOK)
	s.does([]string{"dlq", "redrive", name, "--all", "--force"}, fmt.Sprintf("Sent %d messages again.", n))
	for range n {
		e.next()
	}
	s.eventually("the queue is empty", func() bool { return strings.Contains(s.does([]string{"dlq", "list", name}), "No messages") })
}

func TestTheCommandLineDeletesWhatCannotBeSentAgain(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	_, arn := s.queue("it")
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	attributes := policy(0, 1)
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q}`, arn)
	subscription := s.subscribe(topic, e, attributes)
	e.answer(http.StatusGone)
	var messages []string
	for i := range 13 { // more than one batch
		messages = append(messages, s.publish(topic, fmt.Sprint("letter ", i)))
	}
	letters := s.letters(name, messages...)
	if _, err := s.sns.Unsubscribe(t.Context(), &sns.UnsubscribeInput{SubscriptionArn: &subscription}); err != nil {
		t.Fatal(err)
	}
	got := s.postino(nil, "dlq", "redrive", name, letters[messages[0]])
	if got.code != 1 || !strings.Contains(got.out, "its subscription no longer exists") {
		t.Errorf("redriven: %+v", got)
	}
	s.does([]string{"dlq", "delete", name, letters[messages[0]]}, "Deleted 1 message.")
	got = s.postino(nil, "dlq", "delete", name, letters[messages[0]], letters[messages[1]])
	if got.code != 1 || !strings.Contains(got.out, letters[messages[0]]+" is not there") || !strings.Contains(got.out, "Deleted 1 message.") {
		t.Errorf("deleted: %+v", got)
	}
	s.does([]string{"dlq", "delete", name, "--all"}, "Deleted 11 messages.")
	s.does([]string{"dlq", "list", name}, "No messages.")
	s.fails("`postino dlq list` shows those there are", "dlq", "delete", "it-gone", "--all")
}

func TestTheCommandLineSendsFailedJobsAgain(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	topic := s.topic()
	job := push.Job{Kind: push.Notification, Subscription: s.subscribe(topic, e, nil), Attempt: 1, Phase: "initial",
		Message: push.Message{ID: uuid.NewString(), TopicARN: topic, Body: "stumbled", Timestamp: time.Now().UTC().Truncate(time.Millisecond)}}
	s.send("FailedJobsQueueUrl", job.Encode())
	garbage := "garbage " + uuid.NewString()
	s.send("FailedJobsQueueUrl", garbage)
	var ids []string
	s.eventually("both are there", func() bool {
		ids = nil
		for _, d := range answers[operator.DeadLetterPage](s, "dlq", "list", "FailedJobsQueue", "--limit", "1000").DeadLetters {
			if d.Job != nil && d.Job.MessageID == job.Message.ID || d.Bytes == len(garbage) {
				ids = append(ids, d.ID)
			}
		}
		return len(ids) == 2
	})
	got := s.postino(nil, append([]string{"dlq", "redrive", "FailedJobsQueue"}, ids...)...)
	if got.code != 1 || !strings.Contains(got.out, " stays: ") || !strings.Contains(got.out, "Sent 1 message again.") {
		t.Errorf("redriven: %+v", got)
	}
	if p := e.next(); p.MessageId != job.Message.ID {
		t.Errorf("sent again was %s", p.body)
	}
	s.takeFrom(s.output("FailedJobsQueueUrl"), func(m sqstypes.Message) bool { return *m.Body == garbage })
}

func TestTheCommandLineTellsWhichQueuesItCannotLookInto(t *testing.T) {
	t.Parallel()
	s, e := own(t, nil), listen(t)
	const gone = "arn:aws:sqs:us-east-1:000000000000:it-gone"
	attributes := policy(0, 1)
	attributes["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":%q}`, gone)
	s.subscribe(s.topic(), e, attributes)
	s.does([]string{"dlq", "list"}, "it-gone cannot be looked into: the queue "+gone+" does not exist.")
	s.fails("does not exist; `postino dlq list` shows those there are", "dlq", "list", "it-gone")
	s.fails("carries deliveries on their way", "dlq", "redrive", "AttemptQueue", "--all")
	s.fails("is not in the region", "dlq", "list", "arn:aws:sqs:eu-west-1:000000000000:it-far")
	s.fails("have no order in which to go on", "dlq", "list", "DeadLetterQueue", "--after", "0f0e0d0c")
}
