package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"postino/shared/pipeline"
	"postino/shared/push"
)

func setData(c *Config, value string) error {
	if strings.ContainsRune(value, 0) {
		return errors.New("is no directory name")
	}
	c.Data = value
	return nil
}

// setPublicURL quotes nothing: a URL may hold a password.
func setPublicURL(c *Config, value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be a URL like https://push.example.com")
	case u.User != nil:
		return errors.New("must not hold a user name or password: it is shown to every subscriber")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(value, "#"):
		return errors.New("must have no query and no fragment: links are made by adding to it")
	}
	c.PublicURL = strings.TrimRight(value, "/")
	return nil
}

func setRegion(c *Config, value string) error {
	if len(value) > 32 || !consistsOf(value, "abcdefghijklmnopqrstuvwxyz0123456789-") {
		return fmt.Errorf("(or AWS_REGION) is %q: it must be a region's name like us-east-1", value)
	}
	c.Region = value
	return nil
}

func setAccount(c *Config, value string) error {
	if len(value) != 12 || !consistsOf(value, "0123456789") {
		return fmt.Errorf("is %q: it must be 12 digits", value)
	}
	c.Account = value
	return nil
}

// setQueue takes an SQS queue's name or ARN (SQS API reference, CreateQueue).
func setQueue(field *string, value string) error {
	name := value
	if strings.HasPrefix(value, "arn:") {
		arn, err := push.ParseARN(value)
		if err != nil || arn.Service != "sqs" {
			return fmt.Errorf("is %q: it must be a queue's name or the ARN of an SQS queue", value)
		}
		name = arn.Resource
	}
	if strings.HasSuffix(name, ".fifo") {
		return fmt.Errorf("is %q: FIFO queues cannot delay single messages, use a standard queue", value)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	if len(name) > 80 || !consistsOf(name, letters) {
		return fmt.Errorf("is %q: a queue's name has 1 to 80 letters, digits, hyphens and underscores", value)
	}
	*field = value
	return nil
}

func setInlineFanout(c *Config, value string) (err error) {
	c.InlineFanout, err = wholeNumber(value, 1, 1000)
	return err
}

func setMaxRedrives(c *Config, value string) (err error) {
	c.MaxRedrives, err = wholeNumber(value, 0, 100)
	return err
}

// setRequestTimeout keeps the timeout below the functions' own of 60 s, so that
// what follows a push can still be written.
func setRequestTimeout(c *Config, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 100*time.Millisecond || d > 50*time.Second {
		return fmt.Errorf("is %q: it must be a duration from 100ms to 50s, like 15s", value)
	}
	c.RequestTimeout = d
	return nil
}

// setMaxQueueDelay: SQS delays by whole seconds, 900 at most.
func setMaxQueueDelay(c *Config, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 10*time.Second || d > pipeline.MaxDelay || d%time.Second != 0 {
		return fmt.Errorf("is %q: it must be whole seconds from 10s to 15m", value)
	}
	c.MaxQueueDelay = d
	return nil
}

func setAllowNetworks(c *Config, value string) error {
	separator := func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }
	for _, word := range strings.FieldsFunc(value, separator) {
		network, err := parseNetwork(word)
		if err != nil {
			return err
		}
		c.AllowNetworks = append(c.AllowNetworks, network)
	}
	return nil
}

// parseNetwork refuses a block with bits behind its mask: whoever writes
// 10.1.2.3/8 may not know how much that allows.
func parseNetwork(word string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(word); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(word)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("holds %q: it must be an address or a CIDR block like 10.0.0.0/8", word)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("holds %s, which has bits set behind its mask: write %s or a single address", p, p.Masked())
	}
	return p, nil
}

func setEventTopic(c *Config, value string) error {
	arn, err := push.ParseARN(value)
	if err != nil || arn.Service != "sns" || arn.Resource == "" || strings.Contains(arn.Resource, ":") {
		return fmt.Errorf("is %q: it must be a topic's ARN", value)
	}
	c.EventTopicARN = value
	return nil
}

func (c Config) eventTopicIsOurs() error {
	if c.EventTopicARN == "" {
		return nil
	}
	arn, err := push.ParseARN(c.EventTopicARN)
	if err != nil || arn.Region != c.Region || arn.Account != c.Account {
		return &Error{"POSTINO_EVENT_TOPIC_ARN", fmt.Sprintf("is %q: this installation serves region %s and account %s", c.EventTopicARN, c.Region, c.Account)}
	}
	return nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// setTable takes a table's name or ARN (DynamoDB API reference, CreateTable and
// TableName).
func setTable(c *Config, value string) error {
	name := value
	if arn, err := push.ParseARN(value); err == nil && arn.Service == "dynamodb" {
		name = strings.TrimPrefix(arn.Resource, "table/")
	}
	if len(name) < 3 || len(name) > 255 || !consistsOf(name, nameLetters) {
		return fmt.Errorf("is %q: a table's name has 3 to 255 letters, digits, hyphens, underscores and periods", value)
	}
	c.Table = value
	return nil
}

// setScheduleGroup takes a group's name (EventBridge Scheduler API reference,
// CreateScheduleGroup).
func setScheduleGroup(c *Config, value string) error {
	if len(value) > 64 || !consistsOf(value, nameLetters) {
		return fmt.Errorf("is %q: a schedule group's name has 1 to 64 letters, digits, hyphens, underscores and periods", value)
	}
	c.ScheduleGroup = value
	return nil
}

func setScheduleRole(c *Config, value string) error {
	arn, err := push.ParseARN(value)
	if err != nil || arn.Service != "iam" || !strings.HasPrefix(arn.Resource, "role/") {
		return fmt.Errorf("is %q: it must be a role's ARN", value)
	}
	c.ScheduleRole = value
	return nil
}

// setStack takes a stack's name or ARN (CloudFormation API reference,
// CreateStack).
func setStack(c *Config, value string) error {
	if arn, err := push.ParseARN(value); err == nil && arn.Service == "cloudformation" {
		c.Stack = value
		return nil
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if len(value) > 128 || !consistsOf(value, letters+"0123456789-") || !strings.Contains(letters, value[:1]) {
		return fmt.Errorf("is %q: a stack's name has 1 to 128 letters, digits and hyphens and begins with a letter", value)
	}
	c.Stack = value
	return nil
}

func setLogLevel(c *Config, value string) error {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	level, known := levels[strings.ToLower(value)]
	if !known {
		return fmt.Errorf("is %q: it must be debug, info, warn or error", value)
	}
	c.LogLevel = level
	return nil
}

func wholeNumber(value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("is %q: it must be a whole number from %d to %d", value, least, most)
	}
	return n, nil
}

// consistsOf reports whether s is not empty and has no character outside set.
func consistsOf(s, set string) bool {
	return s != "" && strings.Trim(s, set) == ""
}

func setTrace(c *Config, value string) (err error) {
	c.Trace, err = yesOrNo(value)
	return err
}

func yesOrNo(value string) (yes bool, err error) {
	switch value {
	case "yes", "no":
		return value == "yes", nil
	}
	return false, errors.New("is neither yes nor no")
}

func setSuccessSampleRate(c *Config, value string) (err error) {
	c.SuccessSampleRate, err = wholeNumber(value, 0, 100)
	return err
}

// setKeysKMSKey takes what KMS takes for a key: id, ARN or alias (KMS API
// reference, KeyId).
func setKeysKMSKey(c *Config, value string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/:"
	if len(value) > 2048 || !consistsOf(value, letters) {
		return fmt.Errorf("is %q: it must be the id, ARN or alias of a KMS key", value)
	}
	c.KeysKMSKey = value
	return nil
}
