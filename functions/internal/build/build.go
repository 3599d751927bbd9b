// Package build makes the handlers of the functions over the adapters that the
// environment chooses.
//
// POSTINO_DATA names the data directory of the embedded adapters: one process at
// a time, as for `postino serve`. It is how a function runs on its own machine,
// under a Lambda runtime interface emulator say.
package build

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"postino/shared/config"
	"postino/shared/embedded/stack"
	"postino/shared/installation"
	"postino/shared/telemetry"
)

// MustFunctions makes the handlers, or ends the process with one log line that
// says what is wrong: AWS Lambda reports it and starts the function anew.
func MustFunctions() installation.Functions {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	f, err := functions(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "err", err)
		os.Exit(1)
	}
	return f
}

func functions(ctx context.Context, getenv func(string) string, log *slog.Logger) (installation.Functions, error) {
	c, err := config.Load(getenv)
	if err != nil {
		return installation.Functions{}, err
	}
	if c.PublicURL == "" {
		return installation.Functions{}, fmt.Errorf("POSTINO_PUBLIC_URL is not set: a function cannot know the URL its links must begin with")
	}
	s, err := stack.Open(ctx, c, log)
	if err != nil {
		return installation.Functions{}, err
	}
	a, err := s.Adapters(c.PublicURL, telemetry.Log(log), log)
	if err != nil {
		return installation.Functions{}, errors.Join(err, s.Close())
	}
	return installation.New(c, a), nil
}
