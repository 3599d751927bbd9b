//go:build integration

package integration

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// operatorRole is the role that the command line is run with: it may do what
// docs/cli.md says is needed, and nothing else. The comparison of permissions looks
// at it too.
const operatorRole = "it-operator"

// asOperator are the variables that have a process act in that role.
func (s *stack) asOperator() []string {
	s.t.Helper()
	variables, err := operatorKeys(s.documented())
	if err != nil {
		s.t.Fatal(err)
	}
	return variables
}

// asMyself are the variables that undo asOperator.
func asMyself() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + os.Getenv("AWS_ACCESS_KEY_ID"), "AWS_SECRET_ACCESS_KEY=" + os.Getenv("AWS_SECRET_ACCESS_KEY"), "AWS_SESSION_TOKEN=" + os.Getenv("AWS_SESSION_TOKEN")}
}

var (
	makeOperator sync.Once
	keysOnce     []string
	errKeys      error
)

func operatorKeys(policy string) ([]string, error) {
	makeOperator.Do(func() { keysOnce, errKeys = assume(policy) })
	return keysOnce, errKeys
}

func assume(policy string) ([]string, error) {
	ctx := context.Background() // the role is every test's
	c, err := settings()
	if err != nil {
		return nil, err
	}
	client := iam.NewFromConfig(c)
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String(operatorRole),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}`)})
	if there := new(types.EntityAlreadyExistsException); err != nil && !errors.As(err, &there) {
		return nil, err
	}
	if _, err = client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String(operatorRole), PolicyName: aws.String("operator"), PolicyDocument: &policy}); err != nil {
		return nil, err
	}
	role, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(operatorRole)})
	if err != nil {
		return nil, err
	}
	session, err := sts.NewFromConfig(c).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: role.Role.Arn, RoleSessionName: aws.String("command-line")})
	if err != nil {
		return nil, err
	}
	keys := session.Credentials
	return []string{"AWS_ACCESS_KEY_ID=" + *keys.AccessKeyId, "AWS_SECRET_ACCESS_KEY=" + *keys.SecretAccessKey, "AWS_SESSION_TOKEN=" + *keys.SessionToken}, nil
}

// documented is the policy in docs/cli.md with this stack's names.
func (s *stack) documented() string {
	s.t.Helper()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		s.t.Fatal(err)
	}
	_, policy, _ := strings.Cut(string(page), "```json\n")
	policy, _, _ = strings.Cut(policy, "```")
	const region, account = "us-east-1", "000000000000"
	names := []string{"YOUR_OWN_DEAD_LETTER_QUEUES", "arn:aws:sqs:" + region + ":" + account + ":it-*"}
	for word, output := range map[string]string{"ATTEMPT_QUEUE": "AttemptQueueUrl", "RETRY_QUEUE": "RetryQueueUrl", "FANOUT_QUEUE": "FanoutQueueUrl",
		"DEAD_LETTER_QUEUE": "DeadLetterQueueUrl", "FAILED_JOBS_QUEUE": "FailedJobsQueueUrl"} {
		url := s.output(output)
		names = append(names, `"`+word+`"`, `"arn:aws:sqs:`+region+":"+account+":"+url[strings.LastIndexByte(url, '/')+1:]+`"`)
	}
	names = append(names, "REGION", region, "ACCOUNT", account, "STACK", s.name, "KEYS_KMS_KEY", s.output("KeysKmsKeyArn"), "TABLE", s.output("TableName"))
	return strings.NewReplacer(names...).Replace(policy)
}
