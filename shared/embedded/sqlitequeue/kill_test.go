package sqlitequeue

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"postino/shared/embedded/sqlitedb"
	"postino/shared/operator"
	"postino/shared/pipeline"
)

// victimDir is the environment variable that turns the test binary into a
// process to be killed, working on the directory it names.
const victimDir = "POSTINO_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		fmt.Fprintln(os.Stderr, victim(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// victim sends, receives and deletes as fast as it can and prints a line for
// each: "+ body" once a message is accepted, "- body" before it is deleted.
// Deletions lag, so that there is always something in flight.
func victim(dir string) error {
	db, err := sqlitedb.Open(sqlitedb.Options{Dir: dir})
	if err != nil {
		return err
	}
	ctx := context.Background()
	q, err := Open(ctx, db, Config{})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(sign string, bodies ...string) {
		mu.Lock()
		defer mu.Unlock()
		// One write a line set: what is printed is printed whole.
		_, _ = os.Stdout.WriteString(sign + strings.Join(bodies, "\n"+sign) + "\n")
	}
	for sender := range 4 {
		go func() {
			for n := 0; ; n++ {
				entries := make([]pipeline.Outgoing, 1+n%10)
				bodies := make([]string, len(entries))
				for i := range entries {
					bodies[i] = fmt.Sprintf("%d/%d/%d/%d", os.Getpid(), sender, n, i)
					entries[i] = pipeline.Outgoing{Body: bodies[i], Group: fmt.Sprint(sender), Delay: time.Duration(n%3) * time.Millisecond}
				}
				for i, err := range q.Send(ctx, "q", entries) {
					if err == nil {
						say("+", bodies[i])
					}
				}
			}
		}()
	}
	for {
		in, err := q.Receive(ctx, "q", 10, time.Hour, time.Second)
		if err != nil {
			return err
		}
		if len(in) < 3 {
			continue
		}
		for _, m := range in[:len(in)/2] {
			say("-", m.Body)
			if err := q.Delete(ctx, "q", []string{m.Receipt}); err != nil {
				return err
			}
		}
	}
}

// Whatever Send has answered nil for is there after kill -9, at any point, over
// and over on the same file; and nothing is there that was not sent.
func TestAcceptedMessagesSurviveAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	expected := map[string]bool{} // accepted, deletion not begun
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for round := range 6 {
		lines := 1 + random.IntN(3000)
		accepted, doomed := runVictim(t, dir, lines)
		maps.Copy(expected, accepted)
		for body := range doomed {
			delete(expected, body)
		}
		f := &fixture{Options: sqlitedb.Options{Dir: dir}}
		opening := time.Now()
		f.open(t)
		if took := time.Since(opening); took > 5*time.Second {
			t.Errorf("opening after a kill took %v", took)
		}
		found := contents(t, f)
		for body := range expected {
			if !found[body] {
				t.Errorf("round %d, killed after %d lines: %s was accepted and is lost", round, lines, body)
			}
		}
		if i := f.info(t, "q"); i.InFlight != 0 {
			t.Errorf("%d messages are in flight after a start", i.InFlight)
		}
		f.close(t)
		t.Logf("round %d, killed after %d lines: %d accepted, %d to be there, %d there", round, lines, len(accepted), len(expected), len(found))
	}
}

func contents(t *testing.T, f *fixture) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	_, err := f.Look(t.Context(), "q", operator.Sweep{}, func(l operator.Letter) {
		if found[l.Body] {
			t.Errorf("%s is there twice", l.Body)
		}
		found[l.Body] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// runVictim kills a fresh victim after so many lines of its output, and reads
// on to what it had printed by then.
func runVictim(t *testing.T, dir string, lines int) (accepted, doomed map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[byte]map[string]bool{'+': {}, '-': {}}
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		line := scan.Text()
		said[line[0]][line[1:]] = true
		if n == lines {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); !cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
		t.Fatalf("the victim ended by itself: %v: %s", err, complaint.String())
	}
	return said['+'], said['-']
}

func TestOrderWithinATenantSurvivesARestart(t *testing.T) {
	f := fresh(t)
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("%02d", i))
		f.send(t, "q", pipeline.Outgoing{Body: want[i], Group: "g"})
	}
	f.reopen(t)
	var got []string
	for range 3 {
		got = append(got, bodies(f.receive(t, "q", 10))...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("received %v", got)
	}
}
