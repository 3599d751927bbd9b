package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"postino/shared/access"
	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/operator"
	"postino/shared/push"
)

// KeysCmd is `postino keys`.
type KeysCmd struct {
	Add    KeysAddCmd    `cmd:"" help:"Make a key for callers; its secret is printed this once."`
	List   KeysListCmd   `cmd:"" default:"withargs" help:"List the keys."`
	Revoke KeysRevokeCmd `cmd:"" help:"Remove a key; calls it signs are refused."`
}

// keys gives a client that can make, list and revoke keys: of the target, or,
// where no server runs on a data directory, of the directory itself, so that a
// server can get its first key. The directory is made only to put a key there;
// done lets it go.
func (t Target) keys(ctx context.Context, app *App, create bool) (keys *operator.Client, done func() error, err error) {
	keys, err = t.dial(ctx, app)
	target, wrong := t.choose(app.Getenv)
	if wrong == nil && target.data != "" && err == nil {
		_, err = keys.ListKeys(ctx) // a server that died leaves its file: only a call tells
	}
	if _, none := errors.AsType[*operator.NotRunningError](err); !none {
		return keys, func() error { return nil }, err
	}
	if _, err := os.Stat(filepath.Join(target.data, "postino.db")); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil, fmt.Errorf("there is no data of Postino's in %s: name the server's directory with --data", target.data)
	}
	settings, err := config.Load(app.Getenv)
	if err != nil {
		return nil, nil, err
	}
	settings.Data = target.data
	ring, done, err := stack.OpenKeys(ctx, settings)
	if err != nil {
		return nil, nil, err
	}
	return operator.Local(operator.HTTP{Operator: &operator.Operator{Keys: ring, Explain: plainly}}), done, nil
}

// plainly words a fault for the user of this machine, whose own it is; those that
// are words for users already stay as they are.
func plainly(err error) string {
	if _, safe := errors.AsType[*push.Error](err); safe {
		return ""
	}
	return err.Error()
}

// KeysAddCmd is `postino keys add`.
type KeysAddCmd struct {
	Target
	JSONFlag
	Actions []string `help:"SNS actions it may call, as Publish or List*, separated by commas; all unless given." placeholder:"ACTION,…" sep:"none"`
	Topics  []string `help:"Topics it may call them on, names or ARNs, with a * at the end for all that begin so; all unless given." placeholder:"TOPIC,…" sep:"none"`
	Note    string   `help:"A note for the list: whose key it is."`
}

// Run makes the key.
func (c *KeysAddCmd) Run(ctx context.Context, app *App) error {
	g := access.Grant{Note: c.Note}
	var err error
	if g.Actions, err = names("--actions", c.Actions); err != nil {
		return err
	}
	if g.Topics, err = names("--topics", c.Topics); err != nil {
		return err
	}
	keys, done, err := c.keys(ctx, app, true)
	if err != nil {
		return err
	}
	k, err := keys.AddKey(ctx, g)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if c.JSON {
		return app.json(k)
	}
	// Comments come last, and the lines fit a shell's eval.
	app.sayf("export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s", k.ID, k.Secret)
	app.sayf("unset AWS_SESSION_TOKEN")
	app.sayf("# This key may call %s. Keep its secret: it is not shown again.", limits(k.Key))
	if target, err := c.choose(app.Getenv); err == nil && target.data == "" {
		app.sayf("# It stands in the place of AWS credentials, which this shell may need: a profile of its own keeps the two apart.")
	}
	return nil
}

// names splits what a flag was given at commas. An empty one, of a shell variable
// that is unset say, must not pass for none, which allows all.
func names(flag string, given []string) (all []string, err error) {
	for _, list := range given {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return nil, fmt.Errorf("a name in %s is empty: is a shell variable unset? Without the flag a key is for all", flag)
			}
			all = append(all, name)
		}
	}
	return all, nil
}

// limits says what a key may do.
func limits(k operator.Key) string {
	actions, topics := "every action", "every topic"
	if len(k.Actions) > 0 {
		actions = strings.Join(k.Actions, ", ")
	}
	if len(k.Topics) > 0 {
		topics = strings.Join(k.Topics, ", ")
	}
	return fmt.Sprintf("%s on %s", actions, topics)
}

// KeysListCmd is `postino keys list`.
type KeysListCmd struct {
	Target
	JSONFlag
}

// Run lists.
func (c *KeysListCmd) Run(ctx context.Context, app *App) error {
	keys, done, err := c.keys(ctx, app, false)
	if err != nil {
		return err
	}
	all, err := keys.ListKeys(ctx)
	if err = errors.Join(err, done()); err != nil {
		return err
	}
	if c.JSON {
		return app.json(all)
	}
	if len(all) == 0 {
		app.sayf("There is no key: `%s keys add%s` makes one.", app.command(), c.flag())
		return nil
	}
	rows := make([]table.Row, len(all))
	for i, k := range all {
		rows[i] = table.Row{k.ID, when(k.CreatedAt), orAll(k.Actions), orAll(k.Topics), printable(k.Note)}
	}
	app.table(table.Row{"KEY", "CREATED", "ACTIONS", "TOPICS", "NOTE"}, rows)
	return nil
}

func orAll(list []string) string {
	if len(list) == 0 {
		return "all"
	}
	return printable(strings.Join(list, ", "))
}

// KeysRevokeCmd is `postino keys revoke`.
type KeysRevokeCmd struct {
	Target
	JSONFlag
	ID string `arg:"" help:"The key's id, as lists show it."`
}

// Run revokes.
func (c *KeysRevokeCmd) Run(ctx context.Context, app *App) error {
	keys, done, err := c.keys(ctx, app, false)
	if err != nil {
		return err
	}
	k, err := keys.RevokeKey(ctx, c.ID)
	if err != nil {
		return errors.Join(err, done())
	}
	// It is revoked, whatever befalls what follows.
	left, unknown := keys.ListKeys(ctx)
	last := unknown == nil && len(left) == 0
	if err := done(); err != nil {
		complain(app, fmt.Sprintf("%s is revoked, but letting the data directory go failed: %v", printable(k.ID), err))
	}
	if c.JSON {
		return app.json(k)
	}
	target, err := c.choose(app.Getenv)
	if err != nil {
		return err
	}
	for _, line := range revoked(k.ID, target, last, app.command()+" keys add"+c.flag()) {
		app.sayf("%s", line)
	}
	return nil
}

// revoked says what a revocation means where it was made. add makes another key.
func revoked(id string, target chosen, last bool, add string) []string {
	if target.data != "" {
		lines := []string{fmt.Sprintf("Revoked: calls signed with %s are refused from now on.", printable(id))}
		if last {
			lines = append(lines, "It was the last key: a server that only this host reaches takes every call now, any other none.")
		}
		return lines
	}
	lines := []string{fmt.Sprintf("Revoked: calls signed with %s are refused by every function within 5 seconds.", printable(id))}
	if last {
		lines = append(lines, fmt.Sprintf("It was the last key: no call is taken until there is another; `%s` makes one.", add))
	}
	return lines
}
