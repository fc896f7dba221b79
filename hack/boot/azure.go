package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/azuresim/host"
)

// The directory, the subscription and the application that the operator signs in as. It owns the subscription.
const (
	tenant       = "22222222-2222-2222-2222-222222222222"
	subscription = "00000000-0000-0000-0000-000000000001"
	client       = "33333333-3333-3333-3333-333333333333"
	secret       = "simulated"
)

// Where Azure is, as machines and the operator look it up.
const vaults = ".vault.azure.net"

var (
	azureAddress = netip.MustParseAddr("40.113.0.1")
	hosts        = []string{"management.azure.com", "login.microsoftonline.com", "www.microsoft.com"}
)

// world is a simulated Azure, with the host that its machines boot on.
type world struct {
	azure *azuresim.Server
	host  *host.Host
	life  context.Context // until close
	end   []func()
}

// open opens both, and joins them: by names and addresses in the machines' network.
func open(image []string, dir string, t *trusted, say func(string, ...any)) (*world, error) {
	w := &world{}
	w.azure = &azuresim.Server{
		TenantID: tenant, AwaitReports: true, Delete: azuresim.Fixed(3 * time.Second), RetryAfter: time.Second, Attestation: t.attestor,
		Console: func(vmID string) (string, bool) { return w.host.ConsoleOf(vmID) },
		Observe: func(r azuresim.Request, _ []azuresim.MachineState) {
			if r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden {
				say("Azure refuses %s %s: %s (%s)", r.Method, r.Path, r.Code, r.Action)
			}
		},
		Run: func(ctx context.Context, id string, script []string) (string, string, error) {
			return w.host.Run(ctx, id, script)
		},
	}
	if err := errors.Join(
		w.azure.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: client, Secret: secret}),
		w.azure.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: "images", Location: "westeurope"}), // where the machine image is
		w.azure.AddRoleAssignment(azuresim.RoleAssignment{Role: "Owner", Principal: client, Scope: "/subscriptions/" + subscription}),
	); err != nil {
		return nil, err
	}
	names := map[string]netip.Addr{vaults: azureAddress}
	for _, name := range hosts {
		names[name] = azureAddress
	}
	var err error
	if w.host, err = host.Open(host.Config{Dir: filepath.Join(dir, "machines"), Image: image, Names: names, Metadata: w.azure.Metadata, Report: w.azure.Report, Say: say}); err != nil {
		return nil, err
	}
	l, err := w.host.Listen(netip.AddrPortFrom(azureAddress, 443))
	if err != nil {
		return nil, errors.Join(err, w.host.Close())
	}
	server := &http.Server{Handler: w.azure, ReadHeaderTimeout: time.Minute}
	go server.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{t.server}, MinVersion: tls.VersionTLS12}))
	life, halt := context.WithCancel(context.Background())
	w.life = life
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		host.Follow(life, w.azure, w.host, say)
	}()
	w.end = []func(){func() { server.Close() }, halt, func() { <-followed }}
	return w, nil
}

// close ends all machines.
func (w *world) close() error {
	for _, end := range w.end {
		end()
	}
	return w.host.Close()
}

// ask asks Resource Manager as the operator, and decodes its answer.
func (w *world) ask(ctx context.Context, method, path string, into any) error {
	return w.send(ctx, method, path, "", into)
}

// send is ask with a body.
func (w *world) send(ctx context.Context, method, path, body string, into any) error {
	c := w.azure.Client("")
	token, err := c.PostForm("https://"+hosts[1]+"/"+tenant+"/oauth2/v2.0/token", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {secret}, "scope": {"https://" + hosts[0] + "/.default"},
	})
	if err != nil {
		return err
	}
	defer token.Body.Close()
	var bearer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(token.Body).Decode(&bearer); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://"+hosts[0]+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+bearer.Token)
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		return errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text), err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// forward is Azure's network in front of a public address, once there is one: what comes to a port there goes to the private address.
func (w *world) forward(path, private string, port uint16) error {
	ctx := w.life
	var public struct {
		Properties struct{ IPAddress string }
	}
	if err := until(ctx, "the public address", func() (bool, error) {
		err := w.ask(ctx, http.MethodGet, path, &public)
		return err == nil && public.Properties.IPAddress != "", err
	}); err != nil {
		return err
	}
	at, err := netip.ParseAddr(public.Properties.IPAddress)
	if err != nil {
		return err
	}
	l, err := w.host.Listen(netip.AddrPortFrom(at, port))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		from, err := l.Accept()
		if err != nil {
			return nil
		}
		go func() {
			defer from.Close()
			to, err := w.host.Dial(ctx, "tcp", net.JoinHostPort(private, fmt.Sprint(port)))
			if err != nil {
				return
			}
			defer to.Close()
			var both sync.WaitGroup
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				both.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					way[0].(*net.TCPConn).CloseWrite()
				})
			}
			both.Wait()
		}()
	}
}

// groups are the names of the resources in each resource group, with their types.
func (w *world) groups(ctx context.Context) (map[string][]string, error) {
	var groups, resources struct {
		Value []struct{ Name, Type string }
	}
	top := "/subscriptions/" + subscription + "/resourceGroups"
	if err := w.ask(ctx, http.MethodGet, top+"?api-version=2021-04-01", &groups); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, g := range groups.Value {
		resources.Value = nil
		if err := w.ask(ctx, http.MethodGet, top+"/"+g.Name+"/resources?api-version=2021-04-01", &resources); err != nil {
			return nil, err
		}
		all[g.Name] = []string{}
		for _, r := range resources.Value {
			all[g.Name] = append(all[g.Name], r.Type[strings.LastIndexByte(r.Type, '/')+1:]+" "+r.Name)
		}
	}
	return all, nil
}
