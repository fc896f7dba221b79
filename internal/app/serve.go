package app

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"time"
)

// Serve answers HTTP where the options say, and nowhere when they name no address, until the returned function is called. A server that dies later stops the process through fail.
func Serve(o Options, handler http.Handler, fail context.CancelCauseFunc) (stop func(), err error) {
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	listener := o.Listener
	if listener == nil {
		if o.Address == "" {
			return func() {}, nil
		}
		if listener, err = net.Listen("tcp", o.Address); err != nil {
			return nil, fmt.Errorf("--address=%s: %w; choose another address or leave it empty", o.Address, err)
		}
	}
	address := listener.Addr()
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	s := &http.Server{
		Handler: handler, ConnState: (&crowd{most: connections}).note,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
	go func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve %s: %w", address, err))
		}
	}()
	return func() { _ = s.Close() }, nil
}

// tls is nil when answers go in the clear, as cluster-autoscaler's do. Files are read anew for every connection, so that a renewed certificate is
// shown without a restart.
func (o Options) tls() (*tls.Config, error) {
	if o.Certificate == "" && !o.Authorize {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.Certificate == "" {
		own, err := selfSigned(time.Now())
		c.Certificates = []tls.Certificate{own}
		return c, err
	}
	read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert-file=%s, --tls-private-key-file=%s: %w", o.Certificate, o.Key, err)
		}
		return &pair, nil
	}
	c.GetCertificate = read
	_, err := read(nil)
	return c, err
}

// selfSigned is a certificate of this process's own, which keeps tokens from those who only listen.
func selfSigned(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "sluice"}, DNSNames: []string{"sluice"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
