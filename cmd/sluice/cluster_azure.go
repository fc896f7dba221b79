package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/lifecycle"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/report"
)

// builder are the flags of the verbs of cluster that ask Azure.
type builder struct {
	path         string
	subscription string
	signIn       string

	endpoints endpoints
}

// The values of --sign-in.
const (
	signInAny         = "auto"
	signInAz          = "az"
	signInEnvironment = "environment"
	signInMachine     = "machine"
)

func (b *builder) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&b.path, "file", "f", clusterName, "cluster file")
	b.addAzure(cmd)
}

func (b *builder) addAzure(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.subscription, "subscription", "", "id of the subscription; empty: ARM_SUBSCRIPTION_ID, then the one that az has chosen")
	f.StringVar(&b.signIn, "sign-in", signInAny, "who asks Azure: az (whoever has signed in to it), environment (ARM_TENANT_ID, ARM_CLIENT_ID, ARM_CLIENT_SECRET), machine (this machine's identity), or auto: environment where it is set, then az, then machine")
	app.Bind(f, map[string]any{
		"azure-resource-manager-endpoint": &b.endpoints.manager, "azure-authority-host": &b.endpoints.authority, "azure-metadata-endpoint": &b.endpoints.metadata,
	})
}

// account is what az tells of its own choice.
type account struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Tenant string `json:"tenantId"`
}

// azAccount asks az which subscription it has chosen.
func azAccount(ctx context.Context) (account, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "az", "account", "show", "--output", "json").Output()
	var a account
	if err != nil {
		return a, errors.New("az has nobody signed in: run az login, or set ARM_TENANT_ID, ARM_CLIENT_ID and ARM_CLIENT_SECRET")
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("az account show prints no account: %w", err)
	}
	return a, nil
}

// found is who signs in where nobody says. An az with nobody signed in, as images have it, is passed over on a machine of Azure's.
func (b *builder) found(ctx context.Context, application bool) (string, error) {
	if application {
		return signInEnvironment, nil
	}
	if _, err := exec.LookPath("az"); err != nil {
		return signInMachine, nil //nolint:nilerr // there is no az
	}
	_, err := azAccount(ctx)
	if err == nil {
		return signInAz, nil
	}
	if _, none := (&imds.Client{Endpoint: b.endpoints.metadata, Within: metadataReach}).Instance(ctx); none == nil {
		return signInMachine, nil
	}
	return "", err
}

// metadataReach is how long a machine of Azure's takes to say that it is one. Elsewhere nothing ever comes.
const metadataReach = 2 * time.Second

// environment is what the environment says beside the flag --sign-in, which overrides it.
func (b *builder) environment() (config.Config, error) {
	alone := config.WithoutApplication(os.Getenv)
	switch b.signIn {
	case signInAny:
		c, err := config.Parse(nil, "", os.Getenv)
		if _, other := config.Parse(nil, "", alone); err != nil && other == nil {
			err = fmt.Errorf("%w; --sign-in=az and --sign-in=machine pass over it", err)
		}
		return c, err
	case signInEnvironment:
		return config.Parse(nil, "", func(name string) string {
			if name == "ARM_USE_MANAGED_IDENTITY_EXTENSION" { // it chooses the machine
				return ""
			}
			return os.Getenv(name)
		})
	case signInAz, signInMachine:
		return config.Parse(nil, "", alone)
	}
	return config.Config{}, fmt.Errorf("--sign-in=%s: give auto, az, environment or machine", b.signIn)
}

// options finds who signs in, and the subscription.
func (b *builder) options(ctx context.Context, group, region string) (azure.Options, error) {
	var o azure.Options
	var err error
	if o.Config, err = b.environment(); err != nil {
		return o, err
	}
	o.Subscription = cmp.Or(b.subscription, o.Subscription)
	o.ResourceGroup, o.Location = group, region
	b.endpoints.give(&o)
	o.Log = slog.New(slog.DiscardHandler)
	o.APIShare = 1 // a person waits
	who := b.signIn
	if who == signInAny {
		if who, err = b.found(ctx, o.Identity.Application()); err != nil {
			return o, err
		}
	}
	switch who {
	case signInEnvironment:
		if !o.Identity.Application() {
			return o, errors.New("--sign-in=environment: set ARM_TENANT_ID, ARM_CLIENT_ID and ARM_CLIENT_SECRET")
		}
	case signInAz:
		o.Identity.CLI = true
		if o.Subscription == "" {
			a, err := azAccount(ctx)
			if err != nil {
				return o, err
			}
			o.Subscription = a.ID
		}
	}
	if o.Subscription == "" {
		return o, errors.New("the subscription is not known: give --subscription, or set ARM_SUBSCRIPTION_ID")
	}
	if o.Cloud == "" && o.ResourceManagerEndpoint == "" && o.EnvironmentFile == "" && o.EndpointsFrom == "" {
		o.Cloud = "AzurePublicCloud"
	}
	return o, nil
}

// cluster reads the file and finds Azure.
func (b *builder) cluster(cmd *cobra.Command) (*lifecycle.Cluster, error) {
	f, err := readCluster(cmd, b.path)
	if err != nil {
		return nil, err
	}
	o, err := b.options(cmd.Context(), f.ResourceGroup, f.Region)
	if err != nil {
		return nil, err
	}
	r, err := azure.NewResources(cmd.Context(), o)
	if err != nil {
		return nil, err
	}
	began, out := time.Now(), cmd.OutOrStdout()
	say := func(s string) {
		_, _ = fmt.Fprintf(out, "%7s  %s\n", time.Since(began).Round(time.Second), report.Printable(s))
	}
	r.Tell = say
	if f.Network.Subnet == "" {
		if f, err = b.inSubnet(cmd, r, f.Network.SubnetID); err != nil {
			return nil, err
		}
	}
	return &lifecycle.Cluster{File: f, Cloud: r, Wait: r.Wait, Say: say}, nil
}

// inSubnet reads the file once more with the range that its subnet has in Azure.
func (b *builder) inSubnet(cmd *cobra.Command, in lifecycle.Cloud, id string) (*clusterfile.File, error) {
	at, err := lifecycle.SubnetRange(cmd.Context(), in, id)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(b.path)
	if err != nil {
		return nil, fmt.Errorf("read the cluster file: %w", err)
	}
	f, problems := clusterfile.ParseIn(text, at)
	if len(problems) > 0 {
		return nil, refuseFile(cmd, b.path, problems)
	}
	return &f, nil
}

// checkCluster makes all checks and prints what is wrong; false when something is.
func checkCluster(cmd *cobra.Command, c *lifecycle.Cluster) (bool, error) {
	made, looked := 0, "rights, providers, sizes, quota and template"
	line := progress.NewLine(cmd.ErrOrStderr())
	ok, err := c.Check(cmd.Context(), func(f lifecycle.Finding) {
		made++
		line.Clear()
		switch {
		case f.Wrong != "":
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "wrong    %s: %s\n", report.Printable(f.Wrong), report.Printable(f.Remedy))
		case f.Stays != "":
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "stays    %s\n", report.Printable(f.Stays))
		case f.Missing != "":
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "missing  %s\n", report.Printable(f.Missing))
		case f.Skipped != "": // it is the template alone
			made, looked = made-1, "rights, providers, sizes and quota"
			_, _ = fmt.Fprintf(cmd.OutOrStdout(), "later    %s\n", report.Printable(f.Skipped))
			return
		}
		line.Show("checked: " + f.Check)
	})
	line.Clear()
	if err != nil {
		return false, fmt.Errorf("check what Azure has: %w", err)
	}
	if ok {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d checks: %s are right\n", made, looked)
	}
	return ok, err
}

// checked is the cluster with everything checked, and told what it costs; false when something is wrong.
func (b *builder) checked(cmd *cobra.Command) (*lifecycle.Cluster, bool, error) {
	c, err := b.cluster(cmd)
	if err != nil {
		return nil, false, err
	}
	ok, err := checkCluster(cmd, c)
	if err != nil {
		return nil, false, err
	}
	tellOpen(cmd.OutOrStdout(), c.File)
	tellCost(cmd.OutOrStdout(), c)
	return c, ok, nil
}

// tellCost prints what the machines cost a month.
func tellCost(out io.Writer, c *lifecycle.Cluster) {
	cost := c.Cost(catalog.Listed())
	if cost.Most == 0 && len(cost.Unknown) > 0 {
		_, _ = fmt.Fprintf(out, "what the machines cost is not known: there is no list price of their sizes in %s\n", c.File.Region)
		return
	}
	const prices = " (list prices; disks, addresses and traffic come on top)"
	if len(cost.Unknown) > 0 {
		_, _ = fmt.Fprintf(out, "machines cost at least %.0f USD a month with each pool at its min, at least %.0f at its max; no price is known of %s%s\n",
			cost.Least, cost.Most, strings.Join(cost.Unknown, ", "), prices)
		return
	}
	_, _ = fmt.Fprintf(out, "machines cost %.0f USD a month with each pool at its min, at most %.0f%s\n", cost.Least, cost.Most, prices)
}

// agreed asks the person at the terminal; without one only --yes agrees.
func agreed(cmd *cobra.Command, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	in, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !progress.Terminal(in) {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing was changed: --yes does it")
		return false, err
	}
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s Type yes: ", question)
	text, _ := bufio.NewReader(in).ReadString('\n')
	if strings.TrimSpace(text) == "yes" {
		return true, nil
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "nothing was changed: only the word yes does it")
	return false, err
}

// interrupted says in the place of an error that somebody has ended the command, and what is next.
func interrupted(ctx context.Context, err error, next string) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return errors.New("interrupted: " + next)
}

func clusterCheckCommand() *cobra.Command {
	var b builder
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Show what Azure lacks for the cluster: rights, quota, sizes; nothing is written",
		Long: `Check what a deployment of the cluster file needs: the subscription, your rights, resource providers, and each size in its zones. Also
checked are the quota for the server and the min of each pool. Azure checks the template where the resource group is there. Fields
that differ and "up" leaves are shown as stays. Nothing is written.

Exit code 0: nothing is wrong; 1: something is; 2: error.`,
		Example: "  sluice cluster check\n  sluice cluster check --sign-in=az --subscription=00000000-0000-0000-0000-000000000000",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, ok, err := b.checked(cmd)
			if err != nil {
				return err
			}
			if !ok {
				return exit(exitActs)
			}
			return nil
		},
	}
	b.add(cmd)
	return cmd
}

// bringDoor has the door whose key a file of this folder keeps. It makes the file only where the cluster has no door yet: the key of
// another one, put on the server, would keep every machine from joining. Where the cluster has a door whose key is elsewhere, the door has
// no key.
func bringDoor(path, inUse string, fresh lifecycle.Door) (lifecycle.Door, error) {
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		door, err := lifecycle.ReadDoor(text)
		if err != nil {
			return door, fmt.Errorf("%s: %w; put back the file that up has written, or move it away", path, err)
		}
		return door, sameDoor(path, inUse, door.Fingerprint)
	case !errors.Is(err, fs.ErrNotExist):
		err = errors.Unwrap(err)
		return fresh, fmt.Errorf("%s: it cannot be read (%w); it may hold the key of this cluster's join door: make it readable", path, err)
	case inUse != "":
		return lifecycle.Door{Fingerprint: inUse}, nil
	}
	if err := writeSecret(path, []byte(fresh.PEM)); err != nil {
		return fresh, fmt.Errorf("keep the key of the join door: %w", err)
	}
	return fresh, nil
}

// sameDoor refuses a file with the key of another door than the cluster's.
func sameDoor(path, inUse, kept string) error {
	if inUse == "" || strings.EqualFold(inUse, kept) {
		return nil
	}
	return fmt.Errorf("%s has the key of another join door (%.12s) than the cluster's (%.12s): move it away, or put the cluster's there",
		path, kept, inUse)
}

func clusterDiffCommand() *cobra.Command {
	var b builder
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show what differs in Azure from cluster.yaml; nothing is written",
		Long: `Ask Azure what a deployment of the cluster file would change now (what-if). Print each resource with the fields that change. Nothing is
written. What differs and "up" leaves is shown as stays, and what Azure or "up" refuses to change as refused.

Exit code 0: nothing differs; 1: something does; 2: error.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.cluster(cmd)
			if err != nil {
				return err
			}
			all, err := c.Diff(cmd.Context())
			if err != nil {
				return err
			}
			for _, one := range all {
				tellChange(cmd.OutOrStdout(), one)
			}
			if len(all) > 0 {
				return exit(exitActs)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "cluster %s is as %s says\n", c.File.Name, b.path)
			return err
		},
	}
	b.add(cmd)
	return cmd
}

// tellChange prints a resource, and below it its fields.
func tellChange(out io.Writer, one lifecycle.Change) {
	_, _ = fmt.Fprintf(out, "%-8s %s\n", one.Verb, report.Printable(one.String()))
	for _, field := range one.Fields {
		_, _ = fmt.Fprintf(out, "         %s\n", report.Printable(field))
	}
}

// eachTold prints several errors in lines of their own, and returns how many there were.
func eachTold(cmd *cobra.Command, err error) error {
	var all lifecycle.Several
	if !errors.As(err, &all) || len(all) < 2 {
		return err
	}
	for _, one := range all {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "failed   %s\n", report.Printable(one.Error()))
	}
	return fmt.Errorf("%d deletions failed: run the command again to delete the rest", len(all))
}

// tellDemolition lists what goes and what stays.
func tellDemolition(out io.Writer, f *clusterfile.File, d *lifecycle.Demolition) {
	if d.Underway {
		_, _ = fmt.Fprintf(out, "cancels  deployment %s, which is under way; what it makes until then goes as well\n", f.Name)
	}
	for _, r := range d.Goes {
		where := ""
		if g := r.Group(); g != "" && !strings.EqualFold(g, f.ResourceGroup) {
			where = " (the server's right in resource group " + g + ")"
		}
		_, _ = fmt.Fprintf(out, "goes     %s%s\n", report.Printable(d.Says(r)), report.Printable(where))
	}
	for _, r := range d.Stays {
		why := "others made it"
		if by := d.Used[r]; by != "" {
			why = by + " uses it"
		}
		_, _ = fmt.Fprintf(out, "stays    %s (%s)\n", report.Printable(r.String()), report.Printable(why))
	}
	if d.Keeps != "" {
		_, _ = fmt.Fprintf(out, "stays    resource group %s with all storage\n", d.Keeps)
	}
}

func clusterDownCommand() *cobra.Command {
	var b builder
	var yes bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Delete what up has made, each resource by its name; storage stays",
		Long: `List what the cluster file's deployment has made in its resource group. Delete it with --yes, or when a person at the terminal agrees. What
others made in the group stays, and then so does the group. Storage stays in its group; the rights on it that
the server had go. A deployment that is under way is canceled first.

Exit code 0: it is gone; 1: nobody agreed, or others use its network, which stays; 2: error. It may be called again.`,
		Example: "  sluice cluster down\n  sluice cluster down --yes",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := b.cluster(cmd)
			if err != nil {
				return err
			}
			d, err := c.Demolish(cmd.Context())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if d.Nothing() {
				_, err := fmt.Fprintf(out, "nothing of cluster %s is in resource group %s of subscription %s\n",
					c.File.Name, c.File.ResourceGroup, c.Cloud.Subscription())
				return err
			}
			tellDemolition(out, c.File, &d)
			if len(d.Goes) == 0 && d.Group == "" && !d.Underway {
				_, _ = fmt.Fprintf(out, "all else of cluster %s is deleted already\n", c.File.Name)
				return exit(exitActs)
			}
			locked, err := c.Locked(cmd.Context(), &d)
			if err != nil {
				return err
			}
			for _, says := range locked {
				_, _ = fmt.Fprintf(out, "locked   %s\n", report.Printable(says))
			}
			if ok, err := agreed(cmd, yes, fmt.Sprintf("Delete %s?", c.Loses(cmd.Context(), &d))); err != nil {
				return err
			} else if !ok {
				return exit(exitActs)
			}
			if err := interrupted(cmd.Context(), c.Down(cmd.Context(), d), "what was asked for goes on in Azure; run the command again to delete the rest"); err != nil {
				return eachTold(cmd, err)
			}
			if len(d.Used) > 0 {
				_, _ = fmt.Fprintf(out, "cluster %s is deleted, but for what others use: run the command again once they are gone\n", c.File.Name)
				return exit(exitActs)
			}
			_, err = fmt.Fprintf(out, "cluster %s is deleted\n", c.File.Name)
			return err
		},
	}
	b.add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without this flag a person is asked")
	return cmd
}
