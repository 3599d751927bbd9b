package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"math"
	"syscall"
)

// signingCost is the CPU time of one RSA-2048 signature (PKCS #1 v1.5 over
// SHA-1, SNS's version 1) in this process, in µs; NaN where it cannot be had.
func signingCost() float64 {
	const n = 200
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return math.NaN()
	}
	digest := sha1.Sum(newMessage())
	sign := func() bool {
		_, err := rsa.SignPKCS1v15(nil, key, crypto.SHA1, digest[:])
		return err == nil
	}
	if !sign() { // the first one precomputes
		return math.NaN()
	}
	before, ok1 := usedCPU(syscall.RUSAGE_SELF)
	for range n {
		if !sign() {
			return math.NaN()
		}
	}
	after, ok2 := usedCPU(syscall.RUSAGE_SELF)
	if !ok1 || !ok2 {
		return math.NaN()
	}
	return float64(after-before) / 1000 / n
}

// usedCPU is the CPU time in nanoseconds of this process or of its children
// that have ended (getrusage(2)).
func usedCPU(who int) (int64, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0, false
	}
	return u.Utime.Nano() + u.Stime.Nano(), true
}
