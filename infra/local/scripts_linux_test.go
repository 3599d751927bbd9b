package local

import (
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestASecondDeploymentToAPortIsRefusedWhileOneIsUnderWay(t *testing.T) {
	name := "../../.cache/1.up.lock"
	first, err := os.Create(name)
	if err == nil {
		err = syscall.Flock(int(first.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(name) //nolint:errcheck // it was made above
	defer first.Close()
	said, code := run(t, nil, nil, "sam.sh", "up", "1")
	if code == 0 || !strings.HasPrefix(said, "another deployment to port 1 is under way") || strings.Count(said, "\n") != 1 {
		t.Errorf("it exits %d and says %q", code, said)
	}
}

// Who has the port accepts nobody, and the system lets nobody wait for it any more.
func TestAPortWhoseOwnerHangsIsTaken(t *testing.T) {
	l, port := listening(t)
	raw, err := l.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	full := false
	for range 10 {
		c, err := net.DialTimeout("tcp", l.Addr().String(), 300*time.Millisecond)
		if err != nil {
			full = true
			break
		}
		defer c.Close()
	}
	if !full {
		t.Fatal("the port takes everybody")
	}
	said, code := run(t, nil, nil, "ministack.sh", "start", port)
	if code == 0 || !strings.HasPrefix(said, "port "+port+" is taken") || strings.Count(said, "\n") != 1 {
		t.Errorf("it exits %d and says %q", code, said)
	}
}
