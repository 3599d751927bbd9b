//go:build !profile

package main

// profile does nothing in ordinary binaries; see profile_on.go.
func profile() (stop func()) { return func() {} }
