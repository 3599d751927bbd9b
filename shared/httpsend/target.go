package httpsend

import (
	"encoding/base64"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// target is an endpoint URL, read once and kept.
type target struct {
	// url has neither user-info nor fragment. It is shared by concurrent
	// requests and never written to.
	url *url.URL
	// user is nil where the URL has no user-info.
	user *url.Userinfo
	// basic is the Authorization header's value, nil where user is nil.
	basic []string
	// flaw says why nothing can be sent there, "" when it can.
	flaw string
}

func parseTarget(endpoint string) *target {
	u, err := url.Parse(endpoint)
	if err != nil {
		return &target{flaw: "it is no URL"} // err quotes the URL, credentials included
	}
	if flaw := flawOf(u); flaw != "" {
		return &target{flaw: flaw}
	}
	t := &target{user: u.User}
	if u.User != nil {
		password, _ := u.User.Password()
		t.basic = []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))}
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	t.url = u
	return t
}

// flawOf says why u cannot be an endpoint, "" when it can. Underscores are
// refused as SNS does (SNS developer guide, HTTP/HTTPS subscriptions).
func flawOf(u *url.URL) string {
	host := u.Hostname()
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "its scheme is neither http nor https"
	case host == "":
		return "it names no host"
	case strings.Contains(host, "_"):
		return "its host name has an underscore"
	case endsInNumber(host):
		return "its host is neither a name nor a dotted IPv4 address"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return "its port is not between 1 and 65535"
		}
	}
	return ""
}

// endsInNumber reports whether host is a number-like IPv4 spelling (decimal,
// octal, hexadecimal, short) rather than four plain decimal parts. No DNS name
// has a numeric last label, and resolvers disagree on what these mean (WHATWG
// URL standard, "ends in a number"). The guard would judge the address all the
// same; this makes the answer independent of the resolver.
func endsInNumber(host string) bool {
	if strings.Contains(host, ":") {
		return false
	}
	last := strings.TrimSuffix(host, ".")
	last = strings.ToLower(last[strings.LastIndexByte(last, '.')+1:])
	digits, hex := strings.CutPrefix(last, "0x")
	alphabet := "0123456789"
	if hex {
		alphabet += "abcdef"
	}
	if last == "" || strings.Trim(digits, alphabet) != "" {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}
