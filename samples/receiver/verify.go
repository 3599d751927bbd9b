package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// message is what SNS and Postino push.
type message struct {
	Type, MessageId, TopicArn, Subject, Message, Timestamp, Token, SubscribeURL string //nolint:revive // SNS's names
	SignatureVersion, Signature, SigningCertURL                                 string
}

// canonical is the text that is signed (SNS developer guide, "Verifying the
// signatures of Amazon SNS messages").
func (m message) canonical() string {
	lines := []string{"Message", m.Message, "MessageId", m.MessageId}
	if m.Type == "Notification" {
		if m.Subject != "" {
			lines = append(lines, "Subject", m.Subject)
		}
		lines = append(lines, "Timestamp", m.Timestamp)
	} else {
		lines = append(lines, "SubscribeURL", m.SubscribeURL, "Timestamp", m.Timestamp, "Token", m.Token)
	}
	return strings.Join(append(lines, "TopicArn", m.TopicArn, "Type", m.Type), "\n") + "\n"
}

// verify says why m was not signed by the server, nil if it was.
func (r *receiver) verify(m message) error {
	// A forger's certificate fits a forger's signature: where it comes from is
	// what counts.
	if !strings.HasPrefix(m.SigningCertURL, r.from+"/") {
		return errors.New("its certificate is not at " + r.from + ": --from names the server to trust")
	}
	algorithm, known := map[string]x509.SignatureAlgorithm{"1": x509.SHA1WithRSA, "2": x509.SHA256WithRSA}[m.SignatureVersion]
	if !known {
		return fmt.Errorf("its signature version is %q", m.SignatureVersion)
	}
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil {
		return errors.New("its signature is no base64")
	}
	certificate, err := r.keys.get(r.client, m.SigningCertURL)
	if err != nil {
		return err
	}
	return certificate.CheckSignature(algorithm, []byte(m.canonical()), signature)
}

// keys keeps certificates by their URL, which changes with the certificate.
type keys struct {
	mu    sync.Mutex
	known map[string]*x509.Certificate
}

func (k *keys) get(client *http.Client, url string) (*x509.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.known[url]; c != nil {
		return c, nil
	}
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("there is no certificate at " + url)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	if k.known == nil {
		k.known = map[string]*x509.Certificate{}
	}
	k.known[url] = c
	return c, nil
}
