package httpsend

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"postino/shared/envelope"
	"postino/shared/push"
)

// endpointRole makes this test binary the benchmark's endpoint, so that only
// the sending side's time is measured.
const endpointRole = "POSTINO_BENCH_ENDPOINT"

// runEndpoint answers 200 to everything until its standard input closes.
func runEndpoint() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = http.Serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
}

func startEndpoint(b *testing.B) string {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), endpointRole+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr) + "/hook"
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSend reports the sending process's CPU time for one push of a
// 256-byte message over a kept loopback connection, system calls included.
func BenchmarkSend(b *testing.B) {
	url := startEndpoint(b)
	r := envelope.Request{Header: http.Header{}, Body: []byte(strings.Repeat("x", 1100))}
	for _, name := range []string{
		"Content-Type", "User-Agent", "Accept-Encoding", "X-Amz-Sns-Message-Type", "X-Amz-Sns-Message-Id",
		"X-Amz-Sns-Topic-Arn", "X-Amz-Sns-Subscription-Arn",
	} {
		r.Header[name] = []string{strings.Repeat("v", 40)}
	}
	for _, parallel := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d at once", parallel), func(b *testing.B) {
			s := loopbackSender(b)
			b.ReportAllocs()
			b.SetParallelism(parallel)
			began := cpuTime()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if got := s.Send(context.Background(), url, r); got.Class != push.Success {
						b.Errorf("%+v", got)
						return
					}
				}
			})
			b.ReportMetric(float64((cpuTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
