package host_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"postino/shared/access"
)

// used is a data directory that a server has worked in.
func used(t *testing.T) string {
	t.Helper()
	s := start(t)
	r := receive(t, statuses(503))
	for range 20 {
		s.topic("t")
	}
	topic := s.topic("t")
	s.subscribe(topic, r, r.at("/x"), "DeliveryPolicy", everySecond(50))
	for range 50 {
		s.publish(topic, strings.Repeat("x", 5000))
	}
	take(t, r.got, 50)
	s.stop()
	return s.dir
}

// overwrite puts noise into a file.
func overwrite(t *testing.T, path string, from, n int) {
	t.Helper()
	f := must[*os.File](t)(os.OpenFile(path, os.O_WRONLY, 0))
	noise := make([]byte, n)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(noise)
	_, err := f.WriteAt(noise, int64(from))
	ok(t, errors.Join(err, f.Close()))
}

func TestBadSurroundingsAreToldInOneLineAndExitCode1(t *testing.T) {
	t.Parallel()
	const free = "127.0.0.1:0"
	postino := binary(t)
	for name, c := range map[string]struct {
		// prepare gives the arguments of serve.
		prepare func(t *testing.T) []string
		env     string
		says    []string
	}{
		"the port is in use": {func(t *testing.T) []string {
			l := must[net.Listener](t)(net.Listen("tcp", free))
			t.Cleanup(func() { _ = l.Close() })
			return []string{"--listen", l.Addr().String(), "--data", t.TempDir()}
		}, "", []string{"cannot listen on 127.0.0.1:", "in use", "--listen"}},
		"a port below 0": {func(t *testing.T) []string {
			return []string{"--listen", "127.0.0.1:99999", "--data", t.TempDir()}
		}, "", []string{"cannot listen on 127.0.0.1:99999"}},
		"a file stands in the data directory's way": {func(t *testing.T) []string {
			file := filepath.Join(t.TempDir(), "file")
			ok(t, os.WriteFile(file, nil, 0o600))
			return []string{"--data", filepath.Join(file, "data")}
		}, "", []string{"The data directory", "cannot be used", "not a directory"}},
		"the data directory is a file": {func(t *testing.T) []string {
			file := filepath.Join(t.TempDir(), "file")
			ok(t, os.WriteFile(file, nil, 0o600))
			return []string{"--data", file}
		}, "", []string{"The data directory", "cannot be used"}},
		"the data directory cannot be written to": {func(*testing.T) []string {
			return []string{"--data", "/proc/self/data"}
		}, "", []string{"The data directory /proc/self/data cannot be used"}},
		"the database's header is damaged": {func(t *testing.T) []string {
			dir := used(t)
			overwrite(t, filepath.Join(dir, "postino.db"), 0, 100)
			return []string{"--data", dir}
		}, "", []string{"postino.db is damaged", "backup"}},
		"the database's pages are damaged": {func(t *testing.T) []string {
			dir := used(t)
			path := filepath.Join(dir, "postino.db")
			size := must[os.FileInfo](t)(os.Stat(path)).Size()
			overwrite(t, path, 4096, int(size)/2)
			return []string{"--data", dir}
		}, "", []string{"postino.db is damaged", "backup"}},
		"the database is cut short": {func(t *testing.T) []string {
			dir := used(t)
			path := filepath.Join(dir, "postino.db")
			ok(t, os.Truncate(path, must[os.FileInfo](t)(os.Stat(path)).Size()/2))
			return []string{"--data", dir}
		}, "", []string{"postino.db is damaged", "backup"}},
		"the database is something else": {func(t *testing.T) []string {
			dir := t.TempDir()
			ok(t, os.WriteFile(filepath.Join(dir, "postino.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
			return []string{"--data", dir}
		}, "", []string{"postino.db is damaged"}},
		"the database is a directory": {func(t *testing.T) []string {
			dir := t.TempDir()
			ok(t, os.Mkdir(filepath.Join(dir, "postino.db"), 0o700))
			return []string{"--data", dir}
		}, "", []string{"cannot be used", "directory"}},
		"the signing key is damaged": {func(t *testing.T) []string {
			dir := t.TempDir()
			ok(t, os.WriteFile(filepath.Join(dir, "signing.pem"), []byte("no key"), 0o600))
			return []string{"--data", dir}
		}, "", []string{"signing.pem"}},
		"another server runs on the directory": {func(t *testing.T) []string {
			return []string{"--data", start(t).dir}
		}, "", []string{"Another Postino server (process ", "uses the data directory"}},
		"anybody could call": {func(t *testing.T) []string {
			return []string{"--listen", "0.0.0.0:0", "--data", t.TempDir()}
		}, "", []string{"--listen 0.0.0.0:0 lets others in and needs a key", "postino keys add --data /", " and the URL", "set POSTINO_PUBLIC_URL"}},
		"anybody could call, by IPv6": {func(t *testing.T) []string {
			return []string{"--listen", "[::]:0", "--data", t.TempDir()}
		}, "", []string{"lets others in and needs a key"}},
		"anybody could call, by a port alone": {func(t *testing.T) []string {
			return []string{"--listen", ":4575", "--data", t.TempDir()}
		}, "", []string{"lets others in and needs a key"}},
		"anybody could call, by name": {func(t *testing.T) []string {
			return []string{"--listen", "localhost.example.com:0", "--data", t.TempDir()}
		}, "", []string{"lets others in and needs a key"}},
		"nobody could be told where it is": {func(t *testing.T) []string {
			dir := t.TempDir()
			firstKey(t, dir, access.Grant{})
			return []string{"--listen", "0.0.0.0:0", "--data", dir}
		}, "", []string{"lets others in and needs the URL", "set POSTINO_PUBLIC_URL"}},
		"the file that seals keys is open to others": {func(t *testing.T) []string {
			dir := t.TempDir()
			firstKey(t, dir, access.Grant{})
			ok(t, os.Chmod(filepath.Join(dir, "keys.secret"), 0o644))
			return []string{"--data", dir}
		}, "", []string{"keys.secret", "chmod 600"}},
		"the address is none": {func(t *testing.T) []string {
			return []string{"--listen", "4575", "--data", t.TempDir()}
		}, "", []string{`--listen "4575" is not host:port`}},
		"a variable cannot be used": {func(t *testing.T) []string {
			return []string{"--data", t.TempDir()}
		}, "POSTINO_INLINE_FANOUT=many", []string{"POSTINO_INLINE_FANOUT", "1 to 1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--listen", free}, c.prepare(t)...)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, postino, args...)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Env = append(os.Environ(), c.env)
			exit, failed := errors.AsType[*exec.ExitError](cmd.Run())
			said := errs.String()
			if !failed || exit.ExitCode() != 1 || out.Len() > 0 || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "postino: ") || strings.Contains(said, "goroutine") {
				t.Errorf("%v, standard output %q, standard error %q", exit, out.String(), said)
			}
			for _, s := range c.says {
				if !strings.Contains(said, s) {
					t.Errorf("%q does not say %q", said, s)
				}
			}
		})
	}
}
