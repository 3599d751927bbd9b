package snsapi

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"testing"

	"postino/shared/access"
	"postino/shared/push"
	"postino/shared/sigv4"
)

// fakeGate remembers what it was asked.
type fakeGate struct {
	asked []string
	key   string
	err   error
}

func (g *fakeGate) Admit(_ context.Context, r sigv4.Request, action, topicARN string) (string, error) {
	g.asked = append(g.asked, r.Method+" "+action+" "+topicARN)
	return g.key, g.err
}

// namedBy gives each action with parameters that name what they can.
func namedBy(topic, subscription string) map[string][]string {
	return map[string][]string{
		"CreateTopic": {"Name", "t"}, "DeleteTopic": {"TopicArn", topic}, "ListTopics": nil,
		"GetTopicAttributes": {"TopicArn", topic}, "SetTopicAttributes": {"TopicArn", topic},
		"TagResource": {"ResourceArn", topic}, "UntagResource": {"ResourceArn", topic}, "ListTagsForResource": {"ResourceArn", topic},
		"Subscribe": {"TopicArn", topic}, "ConfirmSubscription": {"TopicArn", topic}, "Unsubscribe": {"SubscriptionArn", subscription},
		"ListSubscriptions": nil, "ListSubscriptionsByTopic": {"TopicArn", topic},
		"GetSubscriptionAttributes": {"SubscriptionArn", subscription}, "SetSubscriptionAttributes": {"SubscriptionArn", subscription},
		"Publish": {"TargetArn", topic}, "PublishBatch": {"TopicArn", topic},
	}
}

func TestTheGateIsAskedForEveryActionByTheTopicItNames(t *testing.T) {
	calls := namedBy(topicT, someSub)
	if got, want := slices.Sorted(maps.Keys(calls)), slices.Sorted(maps.Keys(served())); !slices.Equal(got, want) {
		t.Fatalf("actions tried %v, served %v", got, want)
	}
	for action, parameters := range calls {
		b := newBench(t)
		gate := &fakeGate{err: push.Errorf(push.CodeAuthorizationError, "no")}
		b.Gate = gate
		wantRefusal(t, b.post(append([]string{"Action", action}, parameters...)...), 403, "AuthorizationError", "no")
		want := "POST " + action + " "
		if len(parameters) > 0 {
			want += topicT
		}
		if !slices.Equal(gate.asked, []string{want}) {
			t.Errorf("the gate was asked %q, want %q", gate.asked, want)
		}
		if len(b.directory.topics) > 0 {
			t.Errorf("%s was done all the same", action)
		}
	}
}

// limited is a gate that knows one key.
type limited struct{ access.Key }

func (g limited) Admit(_ context.Context, _ sigv4.Request, action, topicARN string) (string, error) {
	if !g.Allows(action, topicARN) {
		return "", push.Errorf(push.CodeAuthorizationError, "not allowed")
	}
	return "POSTINOAAAAAAAAAAAAA", nil
}

func TestAKeyForOneActionOrOneTopicReachesNothingElse(t *testing.T) {
	calls := namedBy(topicT, someSub)
	passes := func(k access.Key, action string, parameters []string) bool {
		b := newBench(t)
		b.Gate = limited{k}
		r := b.post(append([]string{"Action", action}, parameters...)...)
		return r.Status == http.StatusOK || readError(t, r.Body).Message != "not allowed"
	}
	elsewhere := namedBy(absent, absent+someSub[len(topicT):])
	elsewhere["CreateTopic"] = []string{"Name", "absent"}
	for action, parameters := range calls {
		for other := range calls {
			if got := passes(access.Key{Actions: []string{other}}, action, parameters); got != (other == action) {
				t.Errorf("a key for %s passes for %s: %v", other, action, got)
			}
		}
		for _, topics := range [][]string{{"t"}, {"t*"}, {topicT}} {
			k := access.Key{Topics: topics}
			if got := passes(k, action, parameters); got != (len(parameters) > 0) {
				t.Errorf("a key for %v passes for %s on its topic: %v", topics, action, got)
			}
			if passes(k, action, elsewhere[action]) {
				t.Errorf("a key for %v passes for %s on another topic", topics, action)
			}
		}
	}
}

func TestTheGateIsAskedBeforeParametersAreJudgedAndAfterTheActionIsKnown(t *testing.T) {
	b := newBench(t)
	gate := &fakeGate{err: push.Errorf(push.CodeMissingToken, "no token")}
	b.Gate = gate
	for _, bad := range [][]string{{"Action", "GetTopicAttributes"}, {"Action", "Publish", "TopicArn", "no ARN"}, {"Action", "SetSubscriptionAttributes", "SubscriptionArn", "x"}} {
		wantRefusal(t, b.post(bad...), 403, "MissingAuthenticationToken", "no token")
	}
	if want := []string{"POST GetTopicAttributes ", "POST Publish no ARN", "POST SetSubscriptionAttributes "}; !slices.Equal(gate.asked, want) {
		t.Errorf("asked %q, want %q", gate.asked, want)
	}
	gate.asked = nil
	wantRefusal(t, b.post("Action", "Frobnicate"), 400, "InvalidAction", "There is no action Frobnicate.")
	wantRefusal(t, b.post("Version", "x"), 400, "MissingAction", "The request names no Action.")
	if len(gate.asked) > 0 {
		t.Errorf("asked %q", gate.asked)
	}
}

func TestLinksAndCertificateNeedNoSignatureButOneThatIsThereIsChecked(t *testing.T) {
	b := newBench(t)
	b.Certificate = Certificate{Path: "/cert.pem", PEM: []byte("PEM")}
	topic := b.newTopic("t")
	arn := b.pending(topic, "http://a.example")
	gate := &fakeGate{err: push.Errorf(push.CodeSignatureMismatch, "altered")}
	b.Gate = gate
	confirm := []string{"Action", "ConfirmSubscription", "TopicArn", topic, "Token", b.token(arn)}
	unsigned := func(pairs ...string) Response {
		return b.Serve(context.Background(), Request{Method: "POST", Path: "/", Body: []byte(form(pairs...))})
	}
	b.served(b.Serve(context.Background(), Request{Method: "GET", Path: "/cert.pem"}))
	b.served(b.get(confirm...))
	b.served(unsigned(confirm...))
	if len(gate.asked) > 0 {
		t.Errorf("asked %q", gate.asked)
	}
	wantRefusal(t, b.post(confirm...), 403, "SignatureDoesNotMatch", "altered")
	wantRefusal(t, b.post("Action", "Unsubscribe", "SubscriptionArn", arn), 403, "SignatureDoesNotMatch", "altered")
	wantRefusal(t, b.get("Action", "Unsubscribe", "SubscriptionArn", arn, "X-Amz-Signature", "00"), 403, "SignatureDoesNotMatch", "altered")
	wantRefusal(t, unsigned("Action", "ListTopics"), 403, "SignatureDoesNotMatch", "altered")
	b.served(b.get("Action", "Unsubscribe", "SubscriptionArn", arn))
	if !b.directory.subs[arn].Deleted() {
		t.Error("the link did not unsubscribe")
	}
}

func TestAuthenticateOnUnsubscribeCountsOnlyForTheTopicTheKeyWasLetInFor(t *testing.T) {
	b := newBench(t)
	topic, other := b.newTopic("t"), b.newTopic("other")
	arn := b.pending(topic, "http://a.example")
	b.Gate = &fakeGate{key: "POSTINOAAAAAAAAAAAAA"}
	confirm := func(named string) bool {
		b.ok("Action", "ConfirmSubscription", "TopicArn", named, "Token", b.token(arn), "AuthenticateOnUnsubscribe", "true")
		return b.directory.subs[arn].Authenticated
	}
	if confirm(other) {
		t.Error("a key for another topic has bound the owner's hands")
	}
	if !confirm(topic) {
		t.Error("a signed confirmation did not count")
	}
}

func TestGETIsForLinksAndForWhatAKeyHasPresigned(t *testing.T) {
	b := newBench(t)
	list := []string{"Action", "ListTopics", "X-Amz-Signature", "00"}
	wantRefusal(t, b.get(list...), 405, "MethodNotAllowed", "ListTopics is served by POST only.") // nobody has checked it
	gate := &fakeGate{}
	b.Gate = gate // stands open
	wantRefusal(t, b.get(list...), 405, "MethodNotAllowed", "ListTopics is served by POST only.")
	gate.key = "POSTINOAAAAAAAAAAAAA"
	b.served(b.get(list...))
}

func TestAFaultOfTheGateIsAnsweredSoThatSDKsTryAgain(t *testing.T) {
	b := newBench(t)
	b.Gate = &fakeGate{err: errBroken}
	r := b.post("Action", "ListTopics")
	if r.Status != http.StatusInternalServerError {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
	if e := readError(t, r.Body); e.Code != "InternalError" || e.Type != "Receiver" {
		t.Errorf("answered %+v", e)
	}
}

func TestActionsNamesThemAll(t *testing.T) {
	all := Actions()
	if len(all) != len(served())+len(unserved()) || !slices.Contains(all, "Publish") || !slices.Contains(all, "AddPermission") || !slices.IsSorted(all) {
		t.Errorf("%d actions: %v", len(all), all)
	}
}
