package httpsend

import (
	"net"
	"syscall"
	"testing"
	"time"

	"postino/shared/outcome"
	"postino/shared/push"
)

// Linux drops what finds the accept queue full; other systems may reset it.
func TestAFullAcceptQueueTimesOutWithoutAConnection(t *testing.T) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	shrinkBacklog(t, l)
	for range 4 { // fills the queue; the kernel drops further SYNs
		c, err := net.DialTimeout("tcp4", l.Addr().String(), 50*time.Millisecond)
		if err != nil {
			break
		}
		defer func() { _ = c.Close() }()
	}
	within(t, 3*time.Second, func() {
		r := send(loopbackSender(t, timeout(short)), "http://"+l.Addr().String())
		expect(t, r, push.Retryable, outcome.Timeout)
		if r.Connected {
			t.Error("no connection was had")
		}
	})
}

// shrinkBacklog lets l's accept queue hold one connection.
func shrinkBacklog(t *testing.T, l *net.TCPListener) {
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
}
