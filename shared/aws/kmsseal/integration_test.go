//go:build integration

package kmsseal_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kms"

	"postino/shared/aws/awstest"
	"postino/shared/aws/kmsseal"
)

func TestKMSOpensForTheSameKeyIDAlone(t *testing.T) {
	client := kms.NewFromConfig(awstest.Config(t))
	made, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{})
	if err != nil {
		t.Fatal(err)
	}
	s := kmsseal.New(client, *made.KeyMetadata.Arn)
	sealed, err := s.Seal(t.Context(), "KEY-A", "the secret")
	if err != nil {
		t.Fatal(err)
	}
	if secret, err := s.Open(t.Context(), "KEY-A", sealed); err != nil || secret != "the secret" {
		t.Errorf("%q, %v", secret, err)
	}
	if secret, err := s.Open(t.Context(), "KEY-B", sealed); err == nil {
		t.Errorf("it opens for another key: %q", secret)
	}
}
