package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/lifecycle"
	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/report"
)

// defaultWait is how long up waits for the cluster.
const defaultWait = 20 * time.Minute

// riser are the flags of up, and the cluster that it makes.
type riser struct {
	builder
	*lifecycle.Cluster
	cmd        *cobra.Command
	yes        bool
	wait       time.Duration
	kubeconfig string
	now        func() time.Time
}

func clusterUpCommand() *cobra.Command {
	u := riser{now: time.Now}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make the cluster that cluster.yaml describes, or change it to that",
		Long: `Check what Azure has, and say what the machines cost. Deploy the template; each resource is told as Azure ends it. Then wait until
the API server answers and each pool has its min of Ready nodes. Write the admin's kubeconfig, and say what comes next.

The server is asked by run command. Its kubeconfig comes sealed: who may read the machine in Azure sees what commands print. What is
late is told with the end of its serial console. It may be interrupted and called again: what is under way is followed. Existing pools
keep the machines that sluice gave them. The server's machine stays as it is.

Exit code 0: the cluster is as the file says; 1: a check found something, nobody agreed, or nodes did not come in time; 2: error.`,
		Example: "  sluice cluster up\n  sluice cluster up --yes --wait=30m --kubeconfig=$HOME/.kube/render",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.cmd = cmd
			return u.run()
		},
	}
	u.flags(cmd)
	return cmd
}

// flags are those of up.
func (u *riser) flags(cmd *cobra.Command) {
	u.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&u.yes, "yes", false, "do it; without this flag a person is asked")
	f.DurationVar(&u.wait, "wait", defaultWait, "how long to wait for the API server and the nodes; 0: do not wait")
	f.StringVar(&u.kubeconfig, "kubeconfig", "", "file that the admin's kubeconfig is written to; empty: NAME.kubeconfig in this folder")
}

func (u *riser) say(format string, words ...any) {
	_, _ = fmt.Fprintf(u.cmd.OutOrStdout(), format+"\n", words...)
}

// run checks, asks, deploys and waits.
func (u *riser) run() error {
	if u.wait < 0 {
		return fmt.Errorf("--wait=%s: give 0 or more", u.wait)
	}
	c, ok, err := u.checked(u.cmd)
	if err != nil {
		return err
	}
	if !ok {
		return exit(exitActs)
	}
	u.Cluster = c
	u.kubeconfig = cmp.Or(u.kubeconfig, c.File.Name+".kubeconfig")
	if u.wait > 0 {
		if ok, err := u.mayWrite(); err != nil {
			return err
		} else if !ok {
			return exit(exitActs)
		}
	}
	question, err := u.announce()
	if err != nil {
		return err
	}
	if ok, err := agreed(u.cmd, u.yes, question); err != nil {
		return err
	} else if !ok {
		return exit(exitActs)
	}
	return u.up()
}

// announce says what up changes of a cluster that is there, and gives the question to a person.
func (u *riser) announce() (question string, err error) {
	where := fmt.Sprintf("cluster %s in resource group %s of subscription %s", u.File.Name, u.File.ResourceGroup, u.Cloud.Subscription())
	there, well, err := u.Made(u.cmd.Context())
	if err != nil || !there {
		return "Make " + where + "?", err
	}
	all, err := u.Diff(u.cmd.Context())
	if err != nil { // who deploys need not have the right to ask what would change
		u.say("what changes is not known: %s", report.Printable(err.Error()))
		return "Change " + where + " to what " + u.path + " says?", nil
	}
	news := map[string]bool{}
	for _, one := range all {
		if one.Changes() {
			news[strings.ToLower(one.ID)] = true
			tellChange(u.cmd.OutOrStdout(), one)
		}
	}
	for _, one := range all {
		if one.Gone { // such as by a pool remove that was interrupted
			tellChange(u.cmd.OutOrStdout(), one)
		}
	}
	if well { // else more may be missing than Azure says
		u.News = news
	}
	if len(news) == 0 {
		u.say("Azure has all that %s says", u.path)
		return "Deploy " + where + " again?", nil
	}
	return "Change " + where + " so?", nil
}

// headline begins a kubeconfig that up has written for this cluster: only such a file is written over.
func (u *riser) headline() string {
	return fmt.Sprintf("# The admin of cluster %s in resource group %s: \"sluice cluster up\" writes this file anew.\n", u.File.Name, u.File.ResourceGroup)
}

// mayWrite says whether the kubeconfig may be written: over a file of others only when a person at the terminal says so.
func (u *riser) mayWrite() (bool, error) {
	text, err := os.ReadFile(u.kubeconfig)
	in, isFile := u.cmd.InOrStdin().(*os.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(u.kubeconfig)); err != nil {
			return false, fmt.Errorf("--kubeconfig=%s: there is no folder %s; make it, or give another file", u.kubeconfig, filepath.Dir(u.kubeconfig))
		}
		probe, err := os.CreateTemp(filepath.Dir(u.kubeconfig), ".kubeconfig-*")
		if err != nil {
			return false, fmt.Errorf("--kubeconfig=%s: in folder %s no file can be made (%w); give another file", u.kubeconfig, filepath.Dir(u.kubeconfig), errors.Unwrap(err))
		}
		return true, errors.Join(probe.Close(), os.Remove(probe.Name()))
	case err != nil:
		return false, fmt.Errorf("--kubeconfig=%s: it is there and cannot be read (%w); give another file", u.kubeconfig, errors.Unwrap(err))
	case bytes.HasPrefix(text, []byte(u.headline())):
		return true, nil
	case u.yes, !isFile, !progress.Terminal(in): // --yes is yes to the cluster
		return false, fmt.Errorf("--kubeconfig=%s: it is there and not of this cluster's up; move it away, or give another file", u.kubeconfig)
	}
	return agreed(u.cmd, false, "Write over "+u.kubeconfig+", which is not of this cluster's up?")
}

// up deploys, waits, and says what comes next.
func (u *riser) up() error {
	fresh, err := lifecycle.NewDoor(u.now())
	if err != nil {
		return err
	}
	kept := u.File.Name + "-join.pem"
	byFile, made := u.File.Secrets == clusterfile.SecretsFile, false
	if byFile {
		_, none := os.Lstat(kept)
		made = errors.Is(none, fs.ErrNotExist)
		inUse, err := u.DoorInUse(u.cmd.Context())
		if err != nil {
			return err
		}
		if fresh, err = bringDoor(kept, inUse, fresh); err != nil {
			return err
		}
	}
	const goesOn = "what is under way goes on in Azure; run the command again to follow it, or sluice cluster down to delete what is there"
	door, err := u.Up(u.cmd.Context(), fresh)
	if err != nil && made && fresh.PEM != "" {
		u.takeBack(kept, fresh)
	}
	switch {
	case u.cmd.Context().Err() != nil:
		return interrupted(u.cmd.Context(), err, goesOn)
	case errors.Is(err, lifecycle.ErrBusy):
		return err
	case lifecycle.Unanswered(err):
		return fmt.Errorf("%w; run the command again: it follows what Azure has accepted", err)
	case errors.Is(err, lifecycle.ErrAgain):
		return err
	case err != nil:
		return fmt.Errorf("%w; correct what it names and run the command again", err)
	}
	at, err := u.Address(u.cmd.Context())
	if err != nil {
		return err
	}
	sign := u.File.SSH.User + "@" + at
	u.say("cluster %s is deployed; its server makes the control plane now, which takes some minutes", u.File.Name)
	switch {
	case byFile && fresh.PEM == "":
		u.private(at)
		u.say("%s is not in this folder: it is where up was first called, and on the server once it was put there:", kept)
		u.say("  (umask 077; ssh %s sudo cat /etc/sluice/join/tls.pem > %s)", sign, kept)
	case byFile:
		if err := sameDoor(kept, door.Fingerprint, fresh.Fingerprint); err != nil { // another up was first
			return err
		}
		u.private(at)
		u.say("machines join once the server has the key of its door; where it has none yet:")
		u.say("  ssh %s 'sudo install -D -m 600 /dev/stdin /etc/sluice/join/tls.pem' < %s", sign, kept)
	}
	if u.wait == 0 {
		u.bySSH(sign, at)
		return nil
	}
	came, err := u.Await(u.cmd.Context(), lifecycle.Awaiting{
		For: u.wait, Address: at, Keep: u.keep, Nodes: readNodes, Now: u.now,
	})
	switch {
	case errors.Is(err, lifecycle.ErrRunCommand):
		u.say("whoever asks may not run commands on the server, so that nothing was waited for; the right is\n%s. Next:", lifecycle.RunCommandAction)
		u.bySSH(sign, at)
		return nil
	case err != nil && u.cmd.Context().Err() != nil:
		return interrupted(u.cmd.Context(), err, "the cluster is deployed and starts by itself; run the command again to wait on")
	case err != nil:
		return fmt.Errorf("wait for the cluster: %w; run the command again to go on", err)
	}
	for _, what := range came.Missing {
		u.say("%s", report.Printable(what))
	}
	if came.Kubeconfig {
		u.next(at, came.Direct)
	}
	if len(came.Missing) > 0 {
		u.say("%s is over; run the command again to wait on", u.wait)
		return exit(exitActs)
	}
	return nil
}

// takeBack removes the key that this up has made where another up was first: the cluster has its door.
func (u *riser) takeBack(kept string, fresh lifecycle.Door) {
	inUse, err := u.DoorInUse(u.cmd.Context())
	if err == nil && inUse != "" && !strings.EqualFold(inUse, fresh.Fingerprint) && os.Remove(kept) == nil {
		u.say("%s is removed: the cluster has another join door, whose key is where up was first called", kept)
	}
}

// keep writes the kubeconfig, whole or not at all.
func (u *riser) keep(text []byte) error {
	if err := writeSecret(u.kubeconfig, append([]byte(u.headline()), text...)); err != nil {
		return fmt.Errorf("--kubeconfig=%s: it cannot be written: %w", u.kubeconfig, err)
	}
	u.say("%s is written", u.kubeconfig)
	return nil
}

// writeSecret writes a file that its owner alone may read, whole or not at all: a full disk leaves no half of it.
func writeSecret(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// fromWithin is how a private address is reached.
const fromWithin = "from the cluster's network, by VPN, or through a jump host (ssh -J)"

// private says how an address is reached that is no public one.
func (u *riser) private(at string) {
	if !u.File.Server.PublicAddress {
		u.say("%s is private: it is reached %s", at, fromWithin)
	}
}

// next are the next commands.
func (u *riser) next(at string, direct bool) {
	if !direct {
		where := "it is reached " + fromWithin
		if u.File.Server.PublicAddress {
			where = "server.allowFrom names who reaches it"
		}
		u.say("the API server at %s does not answer from here: %s", at, where)
	}
	u.say("cluster %s is there. Next:", u.File.Name)
	for _, line := range []string{
		"kubectl --kubeconfig=%s get nodes", "sluice doctor --kubeconfig=%s", "sluice top --kubeconfig=%s",
	} {
		u.say("  "+line, u.kubeconfig)
	}
}

// bySSH are the commands that fetch the kubeconfig by SSH, to where pool looks for it. With its first line the next up may write it anew.
func (u *riser) bySSH(sign, at string) {
	if u.File.Secrets != clusterfile.SecretsFile { // there it is said already
		u.private(at)
	}
	config := "/etc/rancher/k3s/k3s.yaml"
	if u.File.Distribution.Kind == clusterfile.Kubeadm {
		config = "/etc/kubernetes/admin.conf"
	}
	u.say("  (echo '%s'\n  ssh %s sudo cat %s | sed 's#https://.*:6443#https://%s:6443#') > %s\n  kubectl --kubeconfig=%[5]s get nodes",
		strings.TrimSpace(u.headline()), sign, config, at, u.kubeconfig)
}

// reach is how long an API server has to answer.
const reach = 10 * time.Second

// readNodes asks the API server of a kubeconfig for the cluster's nodes.
func readNodes(ctx context.Context, kubeconfig []byte) ([]lifecycle.Node, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.Timeout = reach
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]lifecycle.Node, len(list.Items))
	for i := range list.Items {
		n := &list.Items[i]
		all[i].Name = n.Name
		for _, is := range n.Status.Conditions {
			if is.Type == corev1.NodeReady {
				all[i].Ready = is.Status == corev1.ConditionTrue
			}
		}
	}
	return all, nil
}
