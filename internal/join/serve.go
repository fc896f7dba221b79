package join

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

// How often the door looks after what it has given.
const (
	whileBusy = 2 * time.Second
	whileIdle = 15 * time.Second
)

// Serve answers on the listener with the certificate until ctx is done, and looks after tokens and certificates. It returns nil then.
func (d *Door) Serve(ctx context.Context, l net.Listener, certificate tls.Certificate) error {
	s := &http.Server{
		Handler: d, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: patience + 10*time.Second, IdleTimeout: 10 * time.Second,
		MaxHeaderBytes: 8 << 10, ErrorLog: log.New(io.Discard, "", 0), // strangers would fill the log
	}
	l = tls.NewListener(newCrowd(l, d.o.Now), &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	defer func() { _ = s.Close() }()
	err := d.rounds(ctx, ended, func() bool {
		pass, cancel := context.WithTimeout(ctx, patience) // an API server may take connections and answer nothing
		defer cancel()
		busy, err := d.Step(pass)
		if err != nil && ctx.Err() == nil {
			d.o.Log.Warn("tokens and certificates are not all looked after", "err", err)
		}
		return busy
	})
	if err != nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// rounds looks again and again, until ctx is done or something has ended with an error. A token that is given wakes a door that idles: its
// machine asks for a certificate within a second, and would wait for it.
func (d *Door) rounds(ctx context.Context, ended <-chan error, look func() (busy bool)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for idle := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-d.gave:
			if idle {
				timer.Reset(whileBusy)
			}
			idle = false // further tokens put the next look off no more
		case <-timer.C:
			idle = !look()
			if idle {
				timer.Reset(whileIdle)
			} else {
				timer.Reset(whileBusy)
			}
		}
	}
}

// How many connections there may be. Where half of all are taken, an address gets no more than a machine needs: some addresses with all that they may have
// keep nobody out.
const (
	mostConnections = 1024
	mostOfOne       = 16
	mostWhenHalf    = 2
)

// ofConnections is how often one address may connect. A handshake costs more than most requests.
var ofConnections = rate{perSecond: 4, burst: 32}

// crowd closes connections above the limits at once: of all, and of one address.
type crowd struct {
	net.Listener
	rates *rates[netip.Addr]

	mu  sync.Mutex
	all int
	of  map[netip.Addr]int
}

func newCrowd(l net.Listener, now func() time.Time) *crowd {
	return &crowd{Listener: l, rates: newRates[netip.Addr](ofConnections, now), of: map[netip.Addr]int{}}
}

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		at, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		source := at.Addr().Unmap()
		often := !c.rates.take(source)
		c.mu.Lock()
		full := often || c.all >= mostConnections || c.of[source] >= mostOfOne || c.all >= mostConnections/2 && c.of[source] >= mostWhenHalf
		if !full {
			c.all++
			c.of[source]++
		}
		c.mu.Unlock()
		if full {
			_ = conn.Close()
			continue
		}
		return &counted{Conn: conn, crowd: c, source: source}, nil
	}
}

type counted struct {
	net.Conn
	crowd  *crowd
	source netip.Addr
	once   sync.Once
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	c.once.Do(func() {
		c.crowd.mu.Lock()
		defer c.crowd.mu.Unlock()
		c.crowd.all--
		if c.crowd.of[c.source]--; c.crowd.of[c.source] == 0 {
			delete(c.crowd.of, c.source)
		}
	})
	return c.Conn.Close()
}

// NewIdentity makes the key of a door: PEM of certificate and key, and the fingerprint by which machines know it.
func NewIdentity(now time.Time) (file []byte, fingerprint string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "sluice-join"}, DNSNames: []string{"sluice-join"}, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(20, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, "", err
	}
	file = append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return file, fingerprintOf(der), nil
}

func fingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// Identity is the key of a door as its file has it.
type Identity struct {
	Certificate tls.Certificate
	Fingerprint string // SHA-256 of the certificate, in hexadecimal
	Secret      []byte // for [Options.Key]: all doors with this key take each other's challenges
}

// ReadIdentity reads the file that NewIdentity makes.
func ReadIdentity(path string) (Identity, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, fmt.Errorf("%s: it cannot be read (%w); make one with sluice join key", path, errors.Unwrap(err))
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return Identity{}, fmt.Errorf("%s: it does not hold a certificate and its key in PEM; make one with sluice join key", path)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return Identity{}, fmt.Errorf("%s: its key is of an unknown kind", path)
	}
	return Identity{Certificate: pair, Fingerprint: fingerprintOf(pair.Certificate[0]), Secret: secret}, nil
}
