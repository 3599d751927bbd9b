package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"postino/shared/aws/awscall"
)

// deployed is a stack that is there.
type deployed struct {
	settings aws.Config
	outputs  map[string]string
	// variables are each function's, by the output that names it.
	variables map[string][]string
	// key is the stack's own, which the front door asks for.
	key aws.Credentials
}

func find(ctx context.Context, stack string) (d deployed, err error) {
	d = deployed{outputs: map[string]string{}, variables: map[string][]string{},
		key: aws.Credentials{AccessKeyID: os.Getenv("POSTINO_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("POSTINO_SECRET_ACCESS_KEY")}}
	if !d.key.HasKeys() {
		return d, errors.New("POSTINO_ACCESS_KEY_ID and POSTINO_SECRET_ACCESS_KEY are not set: eval what infra/local/sam.sh env prints")
	}
	if d.settings, err = awscall.Load(ctx); err != nil {
		return d, err
	}
	out, err := cloudformation.NewFromConfig(d.settings).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil || len(out.Stacks) != 1 {
		return d, fmt.Errorf("the stack %s cannot be found: %w; deploy it with make local-aws", stack, err)
	}
	for _, o := range out.Stacks[0].Outputs {
		d.outputs[*o.OutputKey] = *o.OutputValue
		if !strings.HasSuffix(*o.OutputKey, "FunctionName") {
			continue
		}
		f, err := lambda.NewFromConfig(d.settings).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: o.OutputValue})
		if err != nil {
			return d, err
		}
		for name, value := range f.Environment.Variables {
			d.variables[*o.OutputKey] = append(d.variables[*o.OutputKey], name+"="+value)
		}
	}
	return d, nil
}
