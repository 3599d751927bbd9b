package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"postino/shared/operator"
	"postino/shared/push"
)

// PublishCmd is `postino publish`.
type PublishCmd struct {
	Target
	Topic   string   `arg:"" help:"The topic's ARN or name."`
	Message string   `arg:"" help:"The message; - reads it from standard input, to the last byte."`
	Subject string   `help:"The message's subject."`
	Attr    []string `help:"A message attribute, as NAME=VALUE, or NAME:TYPE=VALUE with the type Number, String.Array or Binary (base64). May be repeated." placeholder:"NAME=VALUE" sep:"none"`
}

// Run publishes and prints the message id.
func (c *PublishCmd) Run(ctx context.Context, app *App) error {
	in := operator.PublishInput{Message: c.Message, Subject: c.Subject, Invocation: uuid.NewString()}
	for _, a := range c.Attr {
		attribute, err := parseAttribute(a)
		if err != nil {
			return err
		}
		in.Attributes = append(in.Attributes, operator.Attribute(attribute))
	}
	if c.Message == "-" {
		b, err := app.readAll(ctx, push.MaxPublication)
		if err != nil {
			return fmt.Errorf("the message cannot be read from standard input: %w", err)
		}
		if len(b) > push.MaxPublication {
			return fmt.Errorf("the message on standard input is larger than %d bytes, the most a topic takes", push.MaxPublication)
		}
		in.Message = string(b)
	}
	server, err := c.dial(ctx, app)
	if err != nil {
		return err
	}
	sent, err := server.Publish(ctx, c.Topic, in)
	if err != nil {
		return err
	}
	app.sayf("%s", printable(sent.MessageID))
	return nil
}

// parseAttribute reads NAME=VALUE or NAME:TYPE=VALUE. Names hold no colon (SNS
// developer guide, message attributes).
func parseAttribute(s string) (push.Attribute, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return push.Attribute{}, fmt.Errorf("%q is no attribute: write NAME=VALUE or NAME:TYPE=VALUE", s)
	}
	name, kind, typed := strings.Cut(name, ":")
	if !typed {
		kind = "String"
	}
	return push.Attribute{Name: name, Type: kind, Value: value}, nil
}
