package stack

import "testing"

func TestEndpointsMayBeOnThisHostOnlyWhileTheServerIsReachedHere(t *testing.T) {
	for url, want := range map[string]bool{
		"http://127.0.0.1:4575": true, "http://localhost:1": true, "http://[::1]:4575": true,
		"https://push.example.com": false, "http://10.0.0.1": false, "http://127.0.0.1.example.com": false, "::": false,
	} {
		if got := Local(url); got != want {
			t.Errorf("%s: %v, want %v", url, got, want)
		}
	}
}
