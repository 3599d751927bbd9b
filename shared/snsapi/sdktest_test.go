//go:build sdktest

package snsapi

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"postino/shared/push"
)

// TestTheSuiteForLiveServersPassesHere runs infra/sdktest (boto3 and the AWS CLI)
// against the API over the fakes, which push just enough for it. PYTHON names an
// interpreter that has infra/sdktest/requirements.txt installed.
func TestTheSuiteForLiveServersPassesHere(t *testing.T) {
	b := newBench(t)
	b.Now, b.Random = nil, nil
	b.publisher.deliver = pushSimply
	python := exec.Command(os.Getenv("PYTHON"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "../../infra/sdktest")
	python.Env = append(os.Environ(), "POSTINO_ENDPOINT="+overHTTP(t, b.API), "PYTHONDONTWRITEBYTECODE=1")
	out, err := python.CombinedOutput()
	t.Log(string(out))
	if err != nil {
		t.Error(err)
	}
}

// pushSimply posts what a test needs to see of a message, in the background.
func pushSimply(kind push.Kind, s push.Subscription, text string) {
	body := text
	if !s.Raw || kind != push.Notification {
		envelope := map[string]string{"Type": string(kind), "TopicArn": s.TopicARN, "Message": text}
		if kind != push.Notification {
			envelope["Token"] = s.Token
		}
		b, err := json.Marshal(envelope)
		if err != nil {
			panic(err)
		}
		body = string(b)
	}
	go func() {
		resp, err := http.Post(s.Endpoint, "text/plain; charset=UTF-8", strings.NewReader(body))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
}
