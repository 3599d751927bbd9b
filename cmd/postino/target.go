package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"postino/shared/access"
	"postino/shared/aws/awscall"
	"postino/shared/aws/deployed"
	"postino/shared/config"
	"postino/shared/operator"
)

// Target is the flags of every command that asks something of a Postino: which
// one. They are pointers to tell an empty name, of an unset shell variable say,
// from none.
type Target struct {
	Data  *string `help:"The server that runs on this data directory; ./data unless another target is given ($POSTINO_DATA)." placeholder:"DIR" xor:"target"`
	Stack *string `help:"The deployed CloudFormation stack of this name, with your own AWS credentials ($POSTINO_STACK)." placeholder:"NAME" xor:"target"`
	Table *string `help:"What is on AWS in this DynamoDB table and in the queues that the POSTINO_ variables name." placeholder:"NAME" xor:"target"`
}

// chosen is one target: one member is not empty.
type chosen struct{ data, stack, table string }

// choose takes the flag that is given, else the variable that is set.
func (t Target) choose(getenv func(string) string) (c chosen, err error) {
	for _, flag := range []struct {
		name  string
		value *string
		into  *string
	}{{"--data", t.Data, &c.data}, {"--stack", t.Stack, &c.stack}, {"--table", t.Table, &c.table}} {
		if flag.value == nil {
			continue
		}
		if *flag.value == "" {
			return c, fmt.Errorf("%s is empty: is a shell variable unset?", flag.name)
		}
		*flag.into = *flag.value
		return c, nil
	}
	c.data, c.stack = getenv("POSTINO_DATA"), getenv("POSTINO_STACK")
	switch {
	case c.data != "" && c.stack != "":
		return c, errors.New("POSTINO_DATA and POSTINO_STACK are both set: say which is meant with --data or --stack, or unset one")
	case c.data == "" && c.stack == "":
		c.data = "./data"
	}
	return c, nil
}

// dial gives a client of the target. The server of a data directory is not called
// yet; a stack has been found.
func (t Target) dial(ctx context.Context, app *App) (*operator.Client, error) {
	app.target = t.flag()
	c, err := t.choose(app.Getenv)
	if err != nil {
		return nil, err
	}
	if c.data != "" {
		return operator.Dial(c.data)
	}
	o, err := c.open(ctx, app.Getenv)
	if err != nil {
		return nil, own(err)
	}
	return operator.Local(operator.HTTP{Operator: o}), nil
}

// find looks for the stack.
func (c chosen) find(ctx context.Context, getenv func(string) string) (aws.Config, deployed.Stack, error) {
	if err := checkStack(c.stack); err != nil {
		return aws.Config{}, deployed.Stack{}, err
	}
	settings, err := cloudSettings(ctx, getenv, "--stack")
	if err != nil {
		return settings, deployed.Stack{}, err
	}
	found, err := deployed.Find(ctx, settings, c.stack, getenv)
	return settings, found, err
}

// open opens what is on AWS.
func (c chosen) open(ctx context.Context, getenv func(string) string) (*operator.Operator, error) {
	if c.stack != "" {
		settings, found, err := c.find(ctx, getenv)
		if err != nil {
			return nil, err
		}
		return deployed.Operator(settings, found.Config, found.LogGroup)
	}
	settings, err := cloudSettings(ctx, getenv, "--table")
	if err != nil {
		return nil, err
	}
	variables, err := config.Load(func(name string) string {
		switch v := getenv(name); {
		case name == "POSTINO_TABLE":
			return c.table
		case name == "POSTINO_REGION" && v == "":
			return settings.Region // which may stand in a profile
		default:
			return v
		}
	})
	if err != nil {
		return nil, err
	}
	return deployed.Operator(settings, variables, "")
}

// cloudSettings loads what calls of AWS need. Those that were set for calls of
// Postino stand before all others, and AWS knows nothing of them.
func cloudSettings(ctx context.Context, getenv func(string) string, flag string) (aws.Config, error) {
	if id := getenv("AWS_ACCESS_KEY_ID"); strings.HasPrefix(id, access.IDPrefix) || id == standInKey {
		return aws.Config{}, fmt.Errorf("AWS_ACCESS_KEY_ID is one of Postino's keys; %s needs your AWS credentials: unset AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set your own", flag)
	}
	return awscall.Load(ctx, quiet)
}

// quiet keeps the SDK from printing lines of its own between a command's.
var quiet = awsconfig.WithLogger(logging.Nop{})

// checkStack refuses what can be no stack's name before AWS is asked.
func checkStack(name string) error {
	_, err := config.Load(func(variable string) string {
		if variable == "POSTINO_STACK" {
			return name
		}
		return ""
	})
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return errors.New("--stack " + wrong.Problem)
	}
	return err
}

// own words an error of a call that the user's own credentials made.
func own(err error) error {
	if text := awscall.Tell(err); text != "" {
		return errors.New(text)
	}
	return err
}

// flag is what a command of another shell needs to find the same target, with a
// space before it; "" where it finds it by itself.
func (t Target) flag() string {
	var words []string
	for name, v := range map[string]*string{"--data": t.Data, "--stack": t.Stack, "--table": t.Table} {
		if v != nil {
			words = append(words, " "+name+" "+shellWord(*v))
		}
	}
	return strings.Join(words, "")
}
