package lifecycle

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
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"sluice.dev/sluice/internal/render"
)

// Door is the certificate of the door by which machines join.
type Door struct {
	Fingerprint string // SHA-256 of the certificate, in hex
	PEM         string // certificate and key; "" where only the fingerprint is known
}

// doorLife is how long a door's certificate is good. Machines look at its fingerprint alone.
const doorLife = 10 * 365 * 24 * time.Hour

// NewDoor makes a certificate and its key.
func NewDoor(now time.Time) (Door, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Door{}, fmt.Errorf("make the key of the join door: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Door{}, fmt.Errorf("make the certificate of the join door: %w", err)
	}
	about := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "sluice-join"}, DNSNames: []string{"sluice-join"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(doorLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return Door{}, fmt.Errorf("make the certificate of the join door: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Door{}, fmt.Errorf("encode the key of the join door: %w", err)
	}
	sum := sha256.Sum256(der)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return Door{hex.EncodeToString(sum[:]), string(append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...))}, nil
}

// ReadDoor reads a door from the certificate and key in PEM.
func ReadDoor(text []byte) (Door, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return Door{}, errors.New("it does not begin with a certificate in PEM")
	}
	if _, err := tls.X509KeyPair(text, text); err != nil { // on the server it would take the place of a good key
		return Door{}, errors.New("it has not the private key of its certificate")
	}
	sum := sha256.Sum256(block.Bytes)
	return Door{hex.EncodeToString(sum[:]), string(text)}, nil
}

// DoorInUse is the fingerprint of the door that the cluster's machines join by: that of its server, or of a deployment that is still under
// way. It is "" where there is neither: [Cluster.Up] uses a fresh one then.
func (c *Cluster) DoorInUse(ctx context.Context) (fingerprint string, err error) {
	var server listed
	found, err := c.Cloud.Get(ctx, c.serverID(), computeVersion, &server)
	if err != nil {
		return "", err
	}
	if found && c.ours(server) && server.Tags[render.JoinTag] != "" {
		return server.Tags[render.JoinTag], nil
	}
	was, found, err := c.recorded(ctx)
	if err != nil || !found || was.ended() {
		return "", err
	}
	fingerprint, _ = was.Properties.Parameters[render.ParameterFingerprint].Value.(string)
	return fingerprint, nil
}

// Address is where the server is reached: its public address, or its private one.
func (c *Cluster) Address(ctx context.Context) (string, error) {
	r, _, err := c.recorded(ctx)
	if err != nil {
		return "", err
	}
	if at, ok := r.Properties.Outputs[render.OutputAddress].Value.(string); ok && at != "" {
		return at, nil
	}
	return c.File.Server.Address, nil
}

// Up makes what the file describes, or changes what is there to it. It may be interrupted and called again: a deployment that Azure still works at
// is followed to its end first, since it may be of an older file.
//
// The door is used where the server is new. Up returns that of the cluster, without its key where the server was there before.
func (c *Cluster) Up(ctx context.Context, fresh Door) (Door, error) {
	was, found, err := c.recorded(ctx)
	if err != nil {
		return Door{}, err
	}
	before, _ := was.Properties.Parameters[render.ParameterFingerprint].Value.(string)
	if found && !was.ended() {
		c.Say(fmt.Sprintf("deployment %s is under way already, and is followed to its end first", c.File.Name))
		if err := c.follow(ctx); err != nil {
			return Door{Fingerprint: before}, err
		}
	}
	for _, name := range c.groups() {
		made, err := c.ensureGroup(ctx, name)
		if err != nil {
			return Door{}, err
		}
		if made {
			c.Say("resource group " + name + " is made")
		}
	}
	for _, step := range []func(context.Context) error{c.outlast, keeper{c}.bringVault, c.takeBack} {
		if err := step(ctx); err != nil {
			return Door{}, err
		}
	}
	door, err := c.send(ctx, fresh, before)
	if err != nil {
		return Door{}, err
	}
	return door, c.follow(ctx)
}

// outlast waits until Azure has deleted the server and the scale sets that a down, or a person, has asked it to delete: a deployment that
// counts them as there ends without them.
func (c *Cluster) outlast(ctx context.Context) error {
	ids := []string{c.serverID()}
	for i := range c.File.Pools {
		ids = append(ids, c.scaleSet(&c.File.Pools[i]))
	}
	for _, id := range ids {
		for told := false; ; told = true {
			var is struct {
				Properties struct {
					State string `json:"provisioningState"`
				} `json:"properties"`
			}
			found, err := c.Cloud.Get(ctx, id, computeVersion, &is)
			if err != nil {
				return err
			}
			if !found || is.Properties.State != "Deleting" {
				break
			}
			if !told {
				c.Say(Resource{id}.String() + " is being deleted, and its end is waited for")
			}
			if err := c.Wait(ctx, pause); err != nil {
				return err
			}
		}
	}
	return nil
}

// groups are the resource groups of the file: the cluster's, and that of its storage.
func (c *Cluster) groups() []string {
	all := []string{c.File.ResourceGroup}
	if s := c.File.Storage; s.ResourceGroup != "" && len(s.Disks)+len(s.Shares) > 0 {
		all = append(all, s.ResourceGroup)
	}
	return all
}

// ensureGroup makes a resource group where there is none. One that is there stays as it is: without the cluster's tag, down leaves it.
func (c *Cluster) ensureGroup(ctx context.Context, name string) (made bool, err error) {
	found, err := c.Cloud.Get(ctx, c.group(name), groupsVersion, &struct{}{})
	if err != nil || found {
		return false, err
	}
	tags := map[string]string{render.ClusterTag: c.File.Name}
	if name != c.File.ResourceGroup {
		tags = nil // storage outlives the cluster
	}
	body := map[string]any{"location": c.File.Region, "tags": tags}
	if err := c.Cloud.Put(ctx, c.group(name), groupsVersion, body); err != nil {
		return false, fmt.Errorf("resource group %s is not made: %w", name, err)
	}
	return true, nil
}

// step is an operation of a deployment.
type step struct {
	ID         string `json:"operationId"`
	Properties struct {
		State    string   `json:"provisioningState"`
		Verb     string   `json:"provisioningOperation"`
		Target   *listed  `json:"targetResource"`
		Duration string   `json:"duration"`
		Message  *message `json:"statusMessage"`
	} `json:"properties"`
}

type message struct {
	Error *problem `json:"error"`
}

// follow tells each resource as Azure ends it, until the deployment has ended. An error is what Azure says of the first that failed.
func (c *Cluster) follow(ctx context.Context) error {
	told := map[string]bool{}
	others := 0
	var first error
	for {
		// The record is read before the steps: a deployment that has ended has all of them.
		r, found, err := c.recorded(ctx)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("deployment %s was deleted while it was followed: %w", c.File.Name, ErrAgain)
		}
		steps, err := c.Cloud.List(ctx, c.deployment()+"/operations", deploymentsVersion, nil)
		if err != nil {
			return err
		}
		for _, raw := range steps {
			var s step
			if json.Unmarshal(raw, &s) != nil || s.Properties.Target == nil || told[s.ID] {
				continue
			}
			about := Resource{s.Properties.Target.ID}
			switch s.Properties.State {
			case "Succeeded":
				if c.News != nil && !c.News[strings.ToLower(about.ID)] {
					others++
				} else {
					c.Say(c.named(ctx, about) + " is ready")
				}
			case "Failed", "Canceled":
				why := problem{Code: s.Properties.State}
				if m := s.Properties.Message; m != nil && m.Error != nil {
					why = m.Error.leaf()
				}
				c.Say(fmt.Sprintf("%s failed: %s", about, why.Error()))
				if first == nil {
					first = fmt.Errorf("%s failed: %w", about, why)
				}
			default:
				continue
			}
			told[s.ID] = true
		}
		if r.ended() {
			if others > 0 {
				c.Say(fmt.Sprintf("%d other resources are as the file says", others))
			}
			return c.outcome(r, first)
		}
		if err := c.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// ErrAgain is what there is to do where nothing is to be corrected.
var ErrAgain = errors.New("run the command again")

// outcome is what the whole deployment came to.
func (c *Cluster) outcome(r record, first error) error {
	switch {
	case r.Properties.State == "Succeeded":
		return nil
	case first != nil:
		return first
	case r.Properties.Error != nil:
		return fmt.Errorf("deployment %s failed: %w", c.File.Name, r.Properties.Error.leaf())
	}
	return fmt.Errorf("deployment %s ended as %s: %w", c.File.Name, r.Properties.State, ErrAgain)
}
