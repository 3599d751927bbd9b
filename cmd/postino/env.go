package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"postino/shared/access"
	"postino/shared/aws/awscall"
	"postino/shared/operator"
)

// EnvCmd is `postino env`.
type EnvCmd struct {
	Target
	URL string `name:"url" help:"The front door's URL, instead of the target's own." placeholder:"URL"`
}

// Help is shown below the flags.
func (EnvCmd) Help() string {
	return "Use it as\n\n    eval \"$(postino env)\"\n\n" +
		"Only SNS is redirected: other services, and region and credentials you have set, stay as they are."
}

// What stands in where nothing else is known: the address that `postino serve`
// listens on, its region, and keys that a server without keys takes.
const (
	defaultURL    = "http://127.0.0.1:4575"
	defaultRegion = "us-east-1"
	standInKey    = "postino"
)

// Validate is called by kong.
func (c *EnvCmd) Validate() error {
	if c.URL == "" {
		return nil
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--url is %q and must be an http or https URL", c.URL)
	}
	return nil
}

// exports is what Run prints: variables, and notes that become comments.
type exports struct {
	set   [][2]string
	notes []string
}

// Run prints the lines. Comments come last, so that an eval without quotes,
// which joins the lines, still sets everything.
func (c *EnvCmd) Run(ctx context.Context, app *App) error {
	target, err := c.choose(app.Getenv)
	if err != nil {
		return err
	}
	var e exports
	switch {
	case target.stack != "":
		if err := e.stack(ctx, app, target, c.URL); err != nil {
			return err
		}
	case target.table != "":
		if err := e.table(ctx, app, target, c.URL); err != nil {
			return err
		}
	default:
		e.local(ctx, app, c.Target, target.data, c.URL)
	}
	for _, v := range e.set {
		app.sayf("export %s=%s", v[0], shellQuote(v[1]))
	}
	for _, n := range e.notes {
		// A note must stay one line, or a shell would run its second.
		app.sayf("# %s", strings.Join(strings.Fields(printable(n)), " "))
	}
	return nil
}

// local points at the server that runs on a data directory, or at url.
func (e *exports) local(ctx context.Context, app *App, t Target, data, url string) {
	server, err := operator.ReadServerFile(data)
	if url != "" {
		server.URL = url
	} else if err != nil {
		server = operator.ServerFile{URL: defaultURL}
		note := fmt.Sprintf("no server is running on %s: this is where `postino serve` listens by itself", data)
		e.notes = append(e.notes, note)
		complain(app, note) // an eval hides what is on standard output
	}
	e.front(app, server.URL, cmp.Or(server.Region, defaultRegion))
	keyed := url == "" && t.hasOwnKeys(ctx, app)
	switch why := hasKeys(app.Getenv); {
	case keyed && strings.HasPrefix(app.Getenv("AWS_ACCESS_KEY_ID"), access.IDPrefix):
		e.notes = append(e.notes, "credentials are left alone: they look like a key of Postino's")
	case keyed:
		note := fmt.Sprintf("this server takes calls that its own keys sign and no others: `%s keys add%s` makes one and prints what to export", app.command(), t.flag())
		e.notes = append(e.notes, note)
		complain(app, note)
	case why != "":
		e.notes = append(e.notes, "credentials are left alone: "+why+"; a server without keys takes any")
	default:
		e.set = append(e.set, [2]string{"AWS_ACCESS_KEY_ID", standInKey}, [2]string{"AWS_SECRET_ACCESS_KEY", standInKey})
	}
}

// hasOwnKeys reports whether a data directory has keys: then nothing else is good for
// the server that runs on it, now or later.
func (t Target) hasOwnKeys(ctx context.Context, app *App) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a shell waits for the lines
	defer cancel()
	keys, done, err := t.keys(ctx, app, false)
	if err != nil {
		return false
	}
	all, err := keys.ListKeys(ctx)
	return errors.Join(err, done()) == nil && len(all) > 0
}

// stack points at a deployed stack. The credentials that found it are AWS's, and
// no keys for SNS calls to it: they are not printed.
func (e *exports) stack(ctx context.Context, app *App, target chosen, url string) error {
	_, found, err := target.find(ctx, app.Getenv)
	if err != nil {
		return own(err)
	}
	e.front(app, cmp.Or(url, found.Endpoint), found.Config.Region)
	e.signed("--stack " + shellWord(target.stack))
	return nil
}

// table points at url, the front door of what is in a table, which does not tell
// where that is.
func (e *exports) table(ctx context.Context, app *App, target chosen, url string) error {
	if url == "" {
		return errors.New("a table does not tell where its front door is: give its URL with --url, or --stack")
	}
	settings, err := awscall.Load(ctx, quiet)
	if err != nil {
		return err
	}
	e.front(app, url, cmp.Or(app.Getenv("POSTINO_REGION"), settings.Region, defaultRegion))
	e.signed("--table " + shellWord(target.table))
	return nil
}

func (e *exports) signed(flag string) {
	e.notes = append(e.notes, "SNS calls to it are signed with a key of Postino's own, not with your AWS credentials: `postino keys add "+flag+"` makes one")
}

// front sets where SNS calls go, and the region they are signed for.
func (e *exports) front(app *App, url, region string) {
	e.set = append(e.set, [2]string{"AWS_ENDPOINT_URL_SNS", url})
	if why := hasRegion(app.Getenv, region); why != "" {
		e.notes = append(e.notes, "the region is left alone: "+why)
		return
	}
	e.set = append(e.set, [2]string{"AWS_REGION", region}, [2]string{"AWS_DEFAULT_REGION", region})
}

// hasRegion says why the user's own region must stay, "" if there is none.
func hasRegion(getenv func(string) string, ours string) string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if v := getenv(name); v != "" && v != ours {
			return name + " is set"
		}
	}
	if getenv("AWS_PROFILE") != "" && getenv("AWS_REGION") == "" {
		return "AWS_PROFILE is set and may name one"
	}
	if getenv("AWS_REGION") == "" && getenv("AWS_DEFAULT_REGION") == "" {
		if name := awsFile(getenv, "AWS_CONFIG_FILE", "config"); defaultProfile(name, regionLine) {
			return name + " has one"
		}
	}
	return ""
}

// hasKeys says where the user's own credentials are, "" if there are none: an
// exported key would stand before them for every service (AWS SDKs reference,
// credential provider chain).
func hasKeys(getenv func(string) string) string {
	if v := getenv("AWS_ACCESS_KEY_ID"); v != "" && v != standInKey {
		return "AWS_ACCESS_KEY_ID is set"
	}
	for _, name := range []string{
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if getenv(name) != "" {
			return name + " is set"
		}
	}
	for _, f := range []struct{ variable, usual string }{
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials"}, {"AWS_CONFIG_FILE", "config"},
	} {
		if name := awsFile(getenv, f.variable, f.usual); defaultProfile(name, credentialLine) {
			return name + " has some"
		}
	}
	return ""
}

// awsFile is the path of an AWS configuration file, "" if there can be none.
func awsFile(getenv func(string) string, variable, usual string) string {
	name := getenv(variable)
	if name == "" && getenv("HOME") != "" {
		name = filepath.Join(getenv("HOME"), ".aws", usual)
	}
	return name
}

var regionLine = regexp.MustCompile(`(?m)^\s*region\s*=\s*\S`)

var credentialLine = regexp.MustCompile(`(?m)^\s*(aws_access_key_id|role_arn|sso_session|sso_account_id|credential_process|login_session)\s*=`)

// defaultProfile reports whether an AWS configuration file has such a line in
// its section [default].
func defaultProfile(name string, line *regexp.Regexp) bool {
	b, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	_, section, found := strings.Cut("\n"+string(b), "\n[default]")
	if !found {
		return false
	}
	section, _, _ = strings.Cut(section, "\n[")
	return line.MatchString(section)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// shellWord is s as a shell takes it for one word, quoted only where it must be.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return shellQuote(s)
}

// shellQuote makes one word of s for a POSIX shell, whatever it holds.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
