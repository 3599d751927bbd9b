package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"postino/shared/operator"
)

// EnvCmd is `postino env`.
type EnvCmd struct {
	DataDir
	URL string `name:"url" help:"The server's URL, instead of that of the server running on the data directory." placeholder:"URL"`
}

// Help is shown below the flags.
func (EnvCmd) Help() string {
	return "Use it as\n\n    eval \"$(postino env)\"\n\n" +
		"Only SNS is redirected: other services, and region and credentials you have set, stay as they are."
}

// What stands in where nothing else is known: the address that `postino serve`
// listens on, its region, and keys that any local server takes.
const (
	defaultURL    = "http://127.0.0.1:4575"
	defaultRegion = "us-east-1"
	standInKey    = "postino"
)

// Run prints the lines. Comments come last, so that an eval without quotes,
// which joins the lines, still sets everything.
func (c *EnvCmd) Run(app *App) error {
	server, err := operator.ReadServerFile(c.Data)
	var notes []string
	if c.URL != "" {
		server.URL = c.URL
	}
	if err != nil && c.URL == "" {
		server = operator.ServerFile{URL: defaultURL}
		notes = append(notes, fmt.Sprintf("no server is running on %s: this is where `postino serve` listens by itself", c.Data))
	}
	if server.Region == "" {
		server.Region = defaultRegion
	}
	set := [][2]string{{"AWS_ENDPOINT_URL_SNS", server.URL}}
	if why := hasRegion(app.Getenv, server.Region); why != "" {
		notes = append(notes, "the region is left alone: "+why)
	} else {
		set = append(set, [2]string{"AWS_REGION", server.Region}, [2]string{"AWS_DEFAULT_REGION", server.Region})
	}
	if why := hasKeys(app.Getenv); why != "" {
		notes = append(notes, "credentials are left alone: "+why+"; a server on loopback takes any")
	} else {
		set = append(set, [2]string{"AWS_ACCESS_KEY_ID", standInKey}, [2]string{"AWS_SECRET_ACCESS_KEY", standInKey})
	}
	for _, v := range set {
		app.sayf("export %s=%s", v[0], shellQuote(v[1]))
	}
	for _, n := range notes {
		// A note must stay one line, or a shell would run its second.
		app.sayf("# %s", strings.Join(strings.Fields(printable(n)), " "))
	}
	return nil
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
		name := getenv(f.variable)
		if name == "" && getenv("HOME") != "" {
			name = filepath.Join(getenv("HOME"), ".aws", f.usual)
		}
		if name != "" && defaultProfile(name) {
			return name + " has some"
		}
	}
	return ""
}

var credentialLine = regexp.MustCompile(`(?m)^\s*(aws_access_key_id|role_arn|sso_session|sso_account_id|credential_process|login_session)\s*=`)

// defaultProfile reports whether an AWS configuration file holds credentials,
// or a way to them, in its section [default].
func defaultProfile(name string) bool {
	b, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	_, section, found := strings.Cut("\n"+string(b), "\n[default]")
	if !found {
		return false
	}
	section, _, _ = strings.Cut(section, "\n[")
	return credentialLine.MatchString(section)
}

// shellQuote makes one word of s for a POSIX shell, whatever it holds.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
