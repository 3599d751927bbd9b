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

// operators are the variables of each stack's operator, by the stack's name.
var operators sync.Map

// asOperator are the variables that have a process act as an operator of the stack:
// in a role that may do what docs/cli.md says is needed, and nothing else. The
// comparison of permissions looks at it too.
func (s *stack) asOperator() []string {
	s.t.Helper()
	v, _ := operators.LoadOrStore(s.name, sync.OnceValues(func() ([]string, error) { return s.operator(s.name + "-it-operator") }))
	variables, err := v.(func() ([]string, error))()
	if err != nil {
		s.t.Fatal(err)
	}
	return variables
}

// asMyself are the variables that undo asOperator.
func asMyself() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + os.Getenv("AWS_ACCESS_KEY_ID"), "AWS_SECRET_ACCESS_KEY=" + os.Getenv("AWS_SECRET_ACCESS_KEY"), "AWS_SESSION_TOKEN=" + os.Getenv("AWS_SESSION_TOKEN")}
}

// operator makes the role and assumes it. A copy's goes with the copy.
func (s *stack) operator(name string) ([]string, error) {
	ctx := context.Background() // the role may be other tests' too
	c, err := settings()
	if err != nil {
		return nil, err
	}
	client, inline := iam.NewFromConfig(c), aws.String("operator")
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name,
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}`)})
	if there := new(types.EntityAlreadyExistsException); err != nil && !errors.As(err, &there) {
		return nil, err
	}
	if !s.kept {
		s.t.Cleanup(func() {
			_, err := client.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: inline})
			if err == nil {
				_, err = client.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
			}
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	policy, err := s.documented()
	if err != nil {
		return nil, err
	}
	if _, err = client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: &name, PolicyName: inline, PolicyDocument: &policy}); err != nil {
		return nil, err
	}
	role, err := client.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
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
func (s *stack) documented() (string, error) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		return "", err
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
	return strings.NewReplacer(names...).Replace(policy), nil
}
