package httpsend

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"postino/shared/outcome"
	"postino/shared/push"
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// The addresses nobody may reach by default, by what they are.
var nonPublic = map[string][]string{
	"this network":                  {"0.0.0.0", "0.1.2.3", "0.255.255.255", "::"},
	"loopback":                      {"127.0.0.1", "127.0.0.2", "127.255.255.254", "::1"},
	"private":                       {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"},
	"shared address space":          {"100.64.0.1", "100.127.255.255"},
	"link-local":                    {"169.254.0.1", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%lo"},
	"metadata":                      {"169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"},
	"IETF assignments":              {"192.0.0.1", "192.0.0.170", "2001::1", "2001:1ff::1"},
	"documentation":                 {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
	"benchmarking":                  {"198.18.0.1", "198.19.255.255", "2001:2::1"},
	"AS112 and AMT":                 {"192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1", "2001:4:112::1"},
	"6to4":                          {"192.88.99.1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "2002:808:808::1"},
	"Teredo":                        {"2001:0:7f00:1::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"},
	"ORCHID":                        {"2001:10::1", "2001:20::1", "2001:2f:ffff::1"},
	"NAT64":                         {"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "64:ff9b:1:fffe::a9fe:a9fe"},
	"v4-mapped":                     {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"},
	"v4-compatible and -translated": {"::127.0.0.1", "::10.0.0.1", "::808:808", "::ffff:0:7f00:1"},
	"unique local":                  {"fc00::1", "fd12:3456:789a::1"},
	"site-local":                    {"fec0::1", "feff::1"},
	"multicast":                     {"224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1"},
	"reserved and broadcast":        {"240.0.0.1", "255.255.255.255", "4000::1", "5f00::1", "100::1", "a000::1"},
}

var public = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
	"128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
	"192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17", "::ffff:8.8.8.8",
	"2606:4700:4700::1111", "2a00:1450:4001::1", "2600:1f18::1",
}

func refused(g *guard, addr string) bool {
	a := netip.MustParseAddr(addr)
	network := "tcp6"
	if a.Is4() {
		network = "tcp4"
	}
	err := g.control(context.Background(), network, netip.AddrPortFrom(a, 443).String(), nil)
	if b, ok := err.(*outcome.BlockedError); ok { //nolint:errorlint // the dialer hands it on as it is
		return b.Address == a.String()
	}
	return false
}

func TestTheGuardRefusesEveryNonPublicAddressByDefault(t *testing.T) {
	g := newGuard(Options{})
	n := 0
	for kind, list := range nonPublic {
		for _, addr := range list {
			n++
			if !refused(g, addr) {
				t.Errorf("%s address %s may be dialled", kind, addr)
			}
		}
	}
	if n < 60 {
		t.Errorf("the table has shrunk to %d addresses", n)
	}
}

func TestTheGuardLetsPublicAddressesThroughOnAnyPort(t *testing.T) {
	g := newGuard(Options{})
	for _, addr := range public {
		for _, port := range []string{"1", "80", "443", "8080", "65535"} {
			if err := g.control(context.Background(), "tcp4", net.JoinHostPort(addr, port), nil); err != nil {
				t.Errorf("%s port %s: %v", addr, port, err)
			}
		}
	}
}

func TestTheGuardRefusesEveryNetworkButTCP(t *testing.T) {
	g := newGuard(Options{AllowLoopback: true})
	for _, network := range []string{"udp4", "udp6", "unix", "ip4", "tcp", ""} {
		if g.control(context.Background(), network, "8.8.8.8:80", nil) == nil {
			t.Errorf("network %q may be dialled", network)
		}
	}
	if g.control(context.Background(), "tcp4", "/var/run/docker.sock", nil) == nil {
		t.Error("an address that is none may be dialled")
	}
}

func TestAllowingLoopbackAllowsNothingElse(t *testing.T) {
	g := newGuard(Options{AllowLoopback: true})
	for kind, list := range nonPublic {
		for _, addr := range list {
			want := kind != "loopback" && addr != "::ffff:127.0.0.1"
			if refused(g, addr) != want {
				t.Errorf("%s address %s: refused is %v", kind, addr, !want)
			}
		}
	}
}

func TestTheOperatorsNetworksAreAllowedExactly(t *testing.T) {
	g := newGuard(Options{AllowNetworks: prefixes("10.1.0.0/16", "fd12::/16", "fe80::/10")})
	for addr, want := range map[string]bool{
		"10.1.0.0": false, "10.1.255.255": false, "::ffff:10.1.2.3": false, "fd12::1": false, "fe80::1%lo": false,
		"10.0.255.255": true, "10.2.0.0": true, "fd13::1": true, "127.0.0.1": true, "169.254.169.254": true,
	} {
		if refused(g, addr) != want {
			t.Errorf("%s: refused is %v", addr, !want)
		}
	}
}

func anyIPv4(t *rapid.T) netip.Addr {
	// Half of the draws come from the neighbourhood of the table.
	if rapid.Bool().Draw(t, "near") {
		var all []string
		for _, list := range nonPublic {
			for _, a := range list {
				if netip.MustParseAddr(a).Is4() {
					all = append(all, a)
				}
			}
		}
		a := netip.MustParseAddr(rapid.SampledFrom(append(all, public[:19]...)).Draw(t, "addr"))
		return a
	}
	return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "bytes")))
}

func TestAnIPv4AddressIsJudgedTheSameInEverySpelling(t *testing.T) {
	g := newGuard(Options{AllowLoopback: true})
	behindNAT64 := newGuard(Options{AllowLoopback: true, AllowNetworks: prefixes("64:ff9b::/96")})
	rapid.Check(t, func(t *rapid.T) {
		a := anyIPv4(t)
		want := g.permits(a)
		if mapped := netip.AddrFrom16(a.As16()); g.permits(mapped) != want {
			t.Fatalf("%s is judged otherwise than %s", mapped, a)
		}
		gateway := netip.MustParseAddr("64:ff9b::").As16()
		copy(gateway[12:], a.AsSlice())
		if through := netip.AddrFrom16(gateway); behindNAT64.permits(through) != want {
			t.Fatalf("%s is judged otherwise than %s", through, a)
		} else if g.permits(through) {
			t.Fatalf("%s is permitted without the operator's word", through)
		}
	})
}

// strict sends to endpoint with a Sender that resolves by r and may dial only
// what the guard lets through.
func strict(t *testing.T, r *net.Resolver, endpoint string) push.Result {
	s := New(Options{Resolver: r})
	t.Cleanup(s.Close)
	return send(s, endpoint)
}

// serveOn serves h on a loopback address of its own and answers the port.
func serveOn(t *testing.T, addr string, h http.Handler) (port string) {
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func TestNoSpellingOfAHostReachesALoopbackServer(t *testing.T) {
	var hits atomic.Int32
	server := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0X7F.1", "0177.0.0.1", "017700000001",
		"127.0.0.1.", "127.0.0.01", "0", "0.0.0.0", "00000000", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::1%25lo]", "localhost",
		"LOCALHOST", "localhost.", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1", "127.0.0.1%00.example.com", "",
	} {
		for _, endpoint := range []string{"http://" + host + ":" + port + "/", "http://user:secret@" + host + ":" + port + "/"} {
			r := strict(t, nil, endpoint)
			if r.Class == push.Success || r.Connected {
				t.Errorf("%s was reached: %+v", endpoint, r)
			}
			if strings.Contains(r.Detail, "secret") {
				t.Errorf("%s: credentials shown: %s", endpoint, r.Detail)
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestABlockedAddressIsAPermanentResult(t *testing.T) {
	for _, endpoint := range []string{
		"http://127.0.0.1:1/", "https://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1:8080/",
	} {
		if r := strict(t, nil, endpoint); r.Class != push.Permanent || r.Fault != outcome.Blocked || r.Detail == "" {
			t.Errorf("%s: %+v", endpoint, r)
		}
	}
	if r := strict(t, nil, "http://10.0.0.1/"); !strings.Contains(r.Detail, "10.0.0.1") || !strings.Contains(r.Detail, "POSTINO_ALLOW_NETWORKS") {
		t.Errorf("says neither what is refused nor what would allow it: %s", r.Detail)
	}
}

func TestANameThatLeadsToANonPublicAddressIsBlocked(t *testing.T) {
	for kind, list := range nonPublic {
		for _, addr := range list {
			if strings.Contains(addr, "%") {
				continue // not a form that DNS can answer
			}
			if r := strict(t, name("inside.example", addr), "http://inside.example/"); r.Fault != outcome.Blocked || r.Class != push.Permanent {
				t.Errorf("%s address %s behind a name: %+v", kind, addr, r)
			}
		}
	}
}

func TestOfANamesAddressesOnlyThePermittedOnesAreDialled(t *testing.T) {
	var hits atomic.Int32
	server := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	s := New(Options{AllowNetworks: prefixes("127.0.0.1/32"), Resolver: name("mixed.example", "10.0.0.1", "127.0.0.2", "127.0.0.1")})
	defer s.Close()
	if r := send(s, "http://mixed.example:"+port); r.Class != push.Success || hits.Load() != 1 {
		t.Errorf("%+v, %d hits", r, hits.Load())
	}
}

func TestANameThatTurnsToAnotherAddressIsJudgedAtEachDial(t *testing.T) {
	var lookups, hits atomic.Int32
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Connection", "close") // so that every send dials
	})
	// 127.0.0.2 stands for a public address, 127.0.0.3 for one inside.
	port := serveOn(t, "127.0.0.2:0", handler)
	serveOn(t, "127.0.0.3:"+port, handler)
	s := New(Options{AllowNetworks: prefixes("127.0.0.2/32"), Resolver: names(func(string) []netip.Addr {
		if lookups.Add(1) <= 2 { // the A and the AAAA question of the first dial
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.3")}
	})})
	defer s.Close()
	endpoint := "http://rebind.example:" + port
	if r := send(s, endpoint); r.Class != push.Success {
		t.Fatalf("first send: %+v", r)
	}
	if r := send(s, endpoint); r.Fault != outcome.Blocked || r.Class != push.Permanent {
		t.Errorf("second send: %+v", r)
	}
	if hits.Load() != 1 {
		t.Errorf("%d requests arrived, want 1", hits.Load())
	}
}

// net/http reads the proxy variables once in a process, so a process of its own
// is needed to see whether they are heeded.
func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	const child = "POSTINO_TEST_PROXY"
	var proxied atomic.Int32
	if proxy := os.Getenv(child); proxy != "" {
		// The proxy may be dialled and would answer for this name; its own
		// address may not.
		s := loopbackSender(t, func(o *Options) { o.Resolver = name("inside.example", "10.0.0.1") })
		for _, scheme := range []string{"http", "https"} {
			if r := send(s, scheme+"://inside.example/"); r.Fault != outcome.Blocked {
				t.Errorf("%+v", r)
			}
		}
		return
	}
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied.Add(1) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), child+"="+proxy.URL, "NO_PROXY=", "no_proxy=")
	for _, v := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		c.Env = append(c.Env, v+"="+proxy.URL)
	}
	if out, err := c.CombinedOutput(); err != nil || proxied.Load() != 0 {
		t.Errorf("%v, %d requests by proxy:\n%s", err, proxied.Load(), out)
	}
}
