package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/internal/lifecycle"
)

func clusterPoolCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pool COMMAND",
		Short: "Add a pool of machines, change its limits, or have sluice empty and remove it",
		Long: `Change the pools of cluster.yaml, and their scale sets in Azure. These commands remove no machine: the running sluice does, with its guard.
"add" writes a pool into the file. "scale" changes the min and max that sluice goes by. "remove" has sluice empty a pool, and deletes the scale set
once that has no machine. The file keeps its comments and its order.`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(poolAddCommand(), poolScaleCommand(), poolRemoveCommand())
	return cmd
}

// rewrite writes a changed cluster file, whole or not at all, with the mode that it has.
func rewrite(path string, text []byte) error {
	d, err := prepare(path, text)
	if err != nil {
		return err
	}
	return d.keep()
}

// draft is a changed cluster file beside the one that it takes the place of: where the folder cannot be written, that shows before Azure is changed.
type draft struct{ at, path string }

func (d draft) keep() error {
	if err := os.Rename(d.at, d.path); err != nil {
		d.drop()
		return fmt.Errorf("write the cluster file: %w", err)
	}
	return nil
}

func (d draft) drop() { _ = os.Remove(d.at) }

// prepare writes the draft.
func prepare(path string, text []byte) (draft, error) {
	about, err := os.Stat(path)
	if err != nil {
		return draft{}, fmt.Errorf("write the cluster file: %w", err)
	}
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".cluster-*")
	if err != nil {
		return draft{}, fmt.Errorf("write the cluster file: nothing was changed: in folder %s no file can be made (%w)", filepath.Dir(path), errors.Unwrap(err))
	}
	d := draft{at: file.Name(), path: path}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(about.Mode().Perm()), file.Close()); err != nil {
		d.drop()
		return draft{}, fmt.Errorf("write the cluster file: nothing was changed: %w", err)
	}
	return d, nil
}

func poolAddCommand() *cobra.Command {
	u := riser{now: time.Now}
	var p clusterfile.Pool
	var spot, flexible bool
	var price float64
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Write a pool into cluster.yaml; with --yes make it",
		Long: `Write a pool at the end of the pools of cluster.yaml. With --yes "sluice cluster up" runs, too: it deploys all that the file says.

Exit code 0: it is written, and made with --yes; 1: as of up; 2: error, such as what is wrong with the pool.`,
		Example: "  sluice cluster pool add gpu --size=Standard_NC4as_T4_v3 --max=4\n  sluice cluster pool add burst --size=Standard_D8s_v5 --max=50 --spot --yes",
		Args:    arguments(1, 1, "a name for the pool, such as: sluice cluster pool add gpu --size=Standard_NC4as_T4_v3 --max=4"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.cmd = cmd
			if _, err := readCluster(cmd, u.path); err != nil {
				return err
			}
			text, err := os.ReadFile(u.path)
			if err != nil {
				return fmt.Errorf("read the cluster file: %w", err)
			}
			p.Name = args[0]
			if !spot && cmd.Flags().Changed("max-price") {
				return errors.New("--max-price is the price of spot machines: give --spot as well, or leave it out")
			}
			if spot {
				p.Spot = &clusterfile.Spot{MaxPrice: price}
			}
			if flexible {
				p.Orchestration = clusterfile.Flexible
			}
			more, err := clusterfile.AddPool(text, p)
			if err != nil {
				return fmt.Errorf("%s stays as it is: with the pool %w", u.path, err)
			}
			if err := rewrite(u.path, more); err != nil {
				return err
			}
			if !u.yes {
				u.say("pool %s is written into %s. Next: sluice cluster up", p.Name, u.path)
				return nil
			}
			u.say("pool %s is written into %s", p.Name, u.path)
			return u.run()
		},
	}
	u.flags(cmd)
	f := cmd.Flags()
	f.Lookup("yes").Usage = "make the pool at once"
	f.StringVar(&p.Size, "size", "", "size of the machines, such as Standard_D4s_v5")
	f.IntVar(&p.Min, "min", 0, "fewest machines")
	f.IntVar(&p.Max, "max", 0, "most machines")
	f.StringSliceVar(&p.Zones, "zones", nil, "availability zones with commas between them; empty: none")
	f.BoolVar(&flexible, "flexible", false, "a flexible scale set; else it is uniform")
	f.StringToStringVar(&p.Labels, "labels", nil, "labels of the nodes, such as a=b,c=d")
	f.StringSliceVar(&p.Taints, "taints", nil, "taints of the nodes with commas between them, such as a=b:NoSchedule")
	f.BoolVar(&spot, "spot", false, "spot machines, which Azure takes back")
	f.Float64Var(&price, "max-price", -1, "most that an hour of a spot machine may cost, in USD; -1: the price of a regular one")
	return cmd
}

func poolScaleCommand() *cobra.Command {
	var b builder
	var yes bool
	var least, most int
	cmd := &cobra.Command{
		Use:   "scale NAME",
		Short: "Change the min and max that sluice goes by, in Azure and in cluster.yaml",
		Long: `Change the file, and the tags min and max of the pool's scale set, by which the running sluice goes. The number of machines stays. sluice adds
machines as pods need them, and removes those that are idle. A lower max has it remove none that is busy.

Exit code 0: it is changed; 1: nobody agreed; 2: error.`,
		Example: "  sluice cluster pool scale agents --max=20\n  sluice cluster pool scale agents --min=2 --max=20 --yes",
		Args:    arguments(1, 1, "a pool, such as: sluice cluster pool scale agents --max=20"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f := cmd.Flags()
			if !f.Changed("min") && !f.Changed("max") {
				return errors.New("neither --min nor --max is given: give one, such as --max=20")
			}
			return b.scale(cmd, args[0], func(p *clusterfile.Pool) (int, int) {
				if !f.Changed("min") {
					least = p.Min
				}
				if !f.Changed("max") {
					most = p.Max
				}
				return least, most
			}, yes)
		},
	}
	b.add(cmd)
	cmd.Flags().IntVar(&least, "min", 0, "fewest machines; without it the min stays")
	cmd.Flags().IntVar(&most, "max", 0, "most machines; without it the max stays")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it; without this flag a person is asked")
	return cmd
}

// scale changes a pool's limits: in Azure first, so that a file that says them is true.
func (b *builder) scale(cmd *cobra.Command, name string, limits func(*clusterfile.Pool) (least, most int), yes bool) error {
	f, err := readCluster(cmd, b.path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(b.path)
	if err != nil {
		return fmt.Errorf("read the cluster file: %w", err)
	}
	var was clusterfile.Pool
	for _, p := range f.Pools {
		if p.Name == name {
			was = p
		}
	}
	least, most := limits(&was)
	text, err = clusterfile.SetPool(text, name, least, most)
	if err != nil {
		return fmt.Errorf("%s stays as it is: %w", b.path, err)
	}
	c, err := b.cluster(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	set, found, err := c.Pool(cmd.Context(), name)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "pool %s: min %d, max %d; before: min %d, max %d\n", name, least, most, was.Min, was.Max)
	if found {
		for _, line := range consequences(set.Capacity, least, most, c.File.Sluice.Settings["enforce-node-group-min-size"] == "true") {
			_, _ = fmt.Fprintln(out, line)
		}
		if more, quota, known := c.Room(cmd.Context(), &was); known && set.Capacity+more < most {
			_, _ = fmt.Fprintf(out, "the quota of %s in %s has room for %s more: so it can have %d (max %d)\n",
				quota, c.File.Region, lifecycle.Machines(more), set.Capacity+more, most)
		}
	}
	if ok, err := agreed(cmd, yes, "Change pool "+name+"?"); err != nil {
		return err
	} else if !ok {
		return exit(exitActs)
	}
	d, err := prepare(b.path, text)
	if err != nil {
		return err
	}
	if found {
		if err := c.Limit(cmd.Context(), set, least, most); err != nil {
			d.drop()
			return err
		}
	}
	if err := d.keep(); err != nil {
		return err
	}
	if !found {
		_, err = fmt.Fprintf(out, "%s has it; the pool is not in Azure yet. Next: sluice cluster up\n", b.path)
		return err
	}
	_, err = fmt.Fprintf(out, "the scale set and %s have it\n", b.path)
	return err
}

// consequences are what limits mean for the machines that are there.
func consequences(machines, least, most int, enforced bool) (lines []string) {
	switch {
	case machines > most:
		lines = append(lines, fmt.Sprintf("it has %s: sluice adds none, and removes them as they become idle; busy ones stay", lifecycle.Machines(machines)))
	case machines < least && enforced:
		lines = append(lines, fmt.Sprintf("it has %s: sluice adds %d", lifecycle.Machines(machines), least-machines))
	case machines < least:
		lines = append(lines, fmt.Sprintf("it has %s: sluice adds more as pods need them, and up to the min only with --enforce-node-group-min-size", lifecycle.Machines(machines)))
	}
	return lines
}

// defaultRetire is how long remove waits until a pool is empty.
const defaultRetire = time.Hour

func poolRemoveCommand() *cobra.Command {
	u := riser{now: time.Now}
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Have sluice empty a pool, then delete its empty scale set",
		Long: `Take a pool out of cluster.yaml, and set the tags min and max of its scale set to 0. Ask the running sluice to drain each of its nodes and to delete
their machines. Wait until the last one is gone, and delete the empty scale set by its name. A scale set with machines is never deleted. sluice keeps
what its guard keeps: pods of Jobs run to their end, and disruption budgets hold. Without a kubeconfig sluice is not asked, and removes idle machines
alone. A kubeconfig of another cluster is refused. It may be interrupted and called again.

Exit code 0: it is gone; 1: without --yes, which only says what would be done, or machines are there after --wait; 2: error.`,
		Example: "  sluice cluster pool remove burst --yes",
		Args:    arguments(1, 1, "a pool, such as: sluice cluster pool remove burst"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u.cmd = cmd
			return u.retire(args[0])
		},
	}
	u.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&u.yes, "yes", false, "do it; without this flag it says what would be done")
	f.DurationVar(&u.wait, "wait", defaultRetire, "how long to wait until the pool is empty; 0: do not wait")
	f.StringVar(&u.kubeconfig, "kubeconfig", "", "kubeconfig by which sluice is asked to drain nodes; empty: NAME.kubeconfig in this folder, where up has written it")
	return cmd
}

// retire removes a pool.
func (u *riser) retire(name string) error {
	c, err := u.cluster(u.cmd)
	if err != nil {
		return err
	}
	u.Cluster = c
	set, found, err := c.Pool(u.cmd.Context(), name)
	if err != nil {
		return err
	}
	inFile := false
	for _, p := range c.File.Pools {
		inFile = inFile || p.Name == name
	}
	if !found && !inFile {
		return fmt.Errorf("neither %s nor Azure has a pool %s", u.path, name)
	}
	var without *draft // of the file, which is written before anything is changed
	if inFile && u.yes {
		text, err := os.ReadFile(u.path)
		if err != nil {
			return fmt.Errorf("read the cluster file: %w", err)
		}
		if text, err = clusterfile.RemovePool(text, name); err != nil {
			return fmt.Errorf("%s stays as it is: %w", u.path, err)
		}
		d, err := prepare(u.path, text)
		if err != nil {
			return err
		}
		defer d.drop()
		without = &d
	}
	switch {
	case found && set.Capacity == 0:
		u.say("pool %s has no machines: the scale set %s-%s is deleted", name, c.File.Name, name)
	case found:
		u.say("pool %s has %s: sluice drains and removes them, then the scale set %s-%s is deleted", name, lifecycle.Machines(set.Capacity), c.File.Name, name)
	default:
		u.say("pool %s is not in resource group %s of subscription %s", name, c.File.ResourceGroup, c.Cloud.Subscription())
	}
	if !u.yes {
		if inFile {
			u.say("pool %s would be taken out of %s", name, u.path)
		}
		u.say("nothing was changed: --yes does it")
		return exit(exitActs)
	}
	how := lifecycle.Retiring{For: u.wait, Now: u.now}
	if found {
		api, err := u.drainer()
		if err != nil {
			return err
		}
		if api != nil {
			how.API = api
			if err := c.Acquainted(u.cmd.Context(), set, api); err != nil {
				return fmt.Errorf("--kubeconfig=%s: %w: nothing was changed; give the kubeconfig of cluster %s", api.path, err, c.File.Name)
			}
		}
	}
	if without != nil {
		if err := without.keep(); err != nil {
			return err
		}
		u.say("pool %s is taken out of %s", name, u.path)
	}
	err = c.Retire(u.cmd.Context(), name, how)
	if errors.Is(err, lifecycle.ErrNotEmpty) {
		u.say("%v; run the command again to go on", err)
		return exit(exitActs)
	}
	return interrupted(u.cmd.Context(), err, "pool "+name+" has min 0 and max 0, and sluice goes on to empty it; run the command again to go on")
}

// drainer is the API server by which the running sluice is asked to drain nodes.
type drainer struct {
	path   string // of the kubeconfig
	client kubernetes.Interface
	now    func() time.Time
}

// drainer is nil where there is no kubeconfig.
func (u *riser) drainer() (*drainer, error) {
	path := u.kubeconfig
	if path == "" {
		path = u.File.Name + ".kubeconfig"
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			u.say("there is no %s, and no --kubeconfig is given: sluice is not asked to drain, and removes idle machines alone", path)
			return nil, nil
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		err = errors.Unwrap(err)
		return nil, fmt.Errorf("--kubeconfig=%s: it cannot be read (%w); give the file that sluice cluster up has written", path, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil { // client-go's own remedies are about its environment
		return nil, fmt.Errorf("--kubeconfig=%s: it is no kubeconfig of an API server; give the file that sluice cluster up has written", path)
	}
	config.Timeout = reach
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: %w", path, err)
	}
	return &drainer{path, client, u.now}, nil
}

// Nodes are the nodes of the cluster.
func (d *drainer) Nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Drain writes the drain annotation.
func (d *drainer) Drain(ctx context.Context, node string) error {
	_, err := (kube.Operator{Client: d.client}).Drain(ctx, node, d.now())
	return err
}
