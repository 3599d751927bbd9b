package snsapi

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"postino/shared/push"
)

// maxTags is the most tags a topic may have (SNS developer guide, tagging).
const maxTags = 50

// tags reads and checks the list Tags: keys of 1 to 128 characters that do not
// begin with "aws:", values of up to 256 (SNS API reference, Tag).
func (p params) tags() (map[string]string, error) {
	members, err := p.list("Tags.member")
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(members))
	for _, m := range members {
		key, value := m["Key"], m["Value"]
		switch {
		case key == "" || utf8.RuneCountInString(key) > 128:
			return nil, push.Invalid("Tags Reason: a key must have 1 to 128 characters")
		case utf8.RuneCountInString(value) > 256:
			return nil, push.Invalid("Tags Reason: the value of %s must have at most 256 characters", clip(key))
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return nil, push.Invalid("Tags Reason: keys that begin with aws: are reserved")
		}
		if _, twice := out[key]; twice {
			return nil, push.Invalid("Duplicated keys are not allowed.")
		}
		out[key] = value
	}
	if len(out) > maxTags {
		return nil, tooManyTags()
	}
	return out, nil
}

func tooManyTags() error {
	return push.Errorf(push.CodeTagLimit, "Could not complete request: tag quota of per resource exceeded")
}

func (a *API) tagResource(ctx context.Context, c *call) error {
	tags, err := c.params.tags()
	if err != nil {
		return err
	}
	return a.retag(ctx, c, func(have map[string]string) error {
		maps.Copy(have, tags)
		if len(have) > maxTags {
			return tooManyTags()
		}
		return nil
	})
}

func (a *API) untagResource(ctx context.Context, c *call) error {
	members, err := c.params.list("TagKeys.member")
	if err != nil {
		return err
	}
	return a.retag(ctx, c, func(have map[string]string) error {
		for _, m := range members {
			delete(have, m[""])
		}
		return nil
	})
}

// retag changes a copy of the topic's tags and stores it.
func (a *API) retag(ctx context.Context, c *call, change func(map[string]string) error) error {
	arn, err := a.topicARN(c, "ResourceArn")
	if err != nil {
		return noResource(err)
	}
	_, err = a.Directory.UpdateTopic(ctx, arn, func(t *push.Topic) error {
		tags := maps.Clone(t.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		t.Tags = tags
		return change(tags)
	})
	return noResource(err)
}

func (a *API) listTagsForResource(ctx context.Context, c *call) error {
	t, err := a.topic(ctx, c, "ResourceArn")
	if err != nil {
		return noResource(err)
	}
	c.out.open("Tags")
	for _, k := range slices.Sorted(maps.Keys(t.Tags)) {
		c.out.open("member")
		c.out.text("Key", k)
		c.out.text("Value", t.Tags[k])
		c.out.close("member")
	}
	c.out.close("Tags")
	return nil
}

// noResource gives a missing topic the error that the tagging actions have for it.
func noResource(err error) error {
	if push.IsNotFound(err) {
		return push.Errorf(push.CodeResourceNotFound, "Resource does not exist")
	}
	return err
}
