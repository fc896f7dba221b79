package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/azure/config"
)

// Files that adopt writes.
const (
	wayThere = "sluice.yaml"
	wayBack  = "cluster-autoscaler.yaml"
)

func adoptCommand() *cobra.Command {
	var h operator
	var from adopted
	var directory string
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Show what cluster-autoscaler's settings become; write the manifests to switch and to go back",
		Long: `Read the Deployment of cluster-autoscaler: its arguments, its environment, and the azure.json that it mounts. Show what each setting
becomes and which defaults differ. Write two manifests, and run "sluice doctor" and "sluice plan" with exactly these settings. Nothing is
changed in the cluster or in Azure.

` + wayThere + ` is the same Deployment with sluice's image, and sluice's rights for its service account. ` + wayBack + ` is
the Deployment as it is. They
hold a secret only where the Deployment itself does. A file that exists is not overwritten.

Doctor and plan use your rights in Kubernetes. A managed identity exists only on its machine; elsewhere doctor says so.

Exit code 0: nothing is wrong and nothing to do; 1: doctor found something, or sluice would act; 2: error.`,
		Example: "  sluice adopt --image=registry.example/sluice:v0.1.0\n  sluice adopt --image=registry.example/sluice:v0.1.0 --namespace=autoscaling --deployment=ca-azure",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from.image == "" {
				return fmt.Errorf("--image is empty: give the name under which your registry has sluice, such as registry.example/sluice:%s", version)
			}
			api, err := h.kube()
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(api)
			if err != nil {
				return fmt.Errorf("connect to the API server: %w", err)
			}
			if err := from.read(cmd.Context(), client); err != nil {
				return reaching(err)
			}
			if err := from.say(cmd.OutOrStdout()); err != nil {
				return err
			}
			if err := from.write(directory, cmd.OutOrStdout()); err != nil {
				return err
			}
			return from.try(cmd.Context(), h.kubeconfig, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	h.add(cmd)
	f := cmd.Flags()
	f.StringVar(&from.namespace, "namespace", "kube-system", "namespace of the Deployment")
	f.StringVar(&from.name, "deployment", "cluster-autoscaler", "name of the Deployment")
	f.StringVar(&from.image, "image", "", "image of sluice, as your registry has it")
	f.StringVar(&directory, "directory", ".", "where the two files are written")
	return cmd
}

// read asks for the Deployment and for what its container is given.
func (a *adopted) read(ctx context.Context, client kubernetes.Interface) error {
	d, err := client.AppsV1().Deployments(a.namespace).Get(ctx, a.name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Deployment %s/%s: %w; --namespace and --deployment say where it is", a.namespace, a.name, err)
	}
	a.deployment = d
	return a.resolve(
		func(name string) (map[string][]byte, error) {
			s, err := client.CoreV1().Secrets(a.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("read Secret %s/%s: %w", a.namespace, name, err)
			}
			return s.Data, nil
		},
		func(name string) (map[string]string, error) {
			m, err := client.CoreV1().ConfigMaps(a.namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, fmt.Errorf("read ConfigMap %s/%s: %w", a.namespace, name, err)
			}
			return m.Data, nil
		},
	)
}

// write makes the two files, and says what to do with them.
func (a *adopted) write(directory string, w io.Writer) error {
	there, back, err := a.manifests()
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{wayBack, back}, {wayThere, there}} {
		path := filepath.Join(directory, f.name)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("write %s: %w; move it away, or give another --directory", path, err)
		}
		if _, err := file.Write(f.text); err != nil {
			_ = file.Close()
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := file.Close(); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	_, err = fmt.Fprintf(w, "\nThe way there:  kubectl apply -f %s\nThe way back:   kubectl apply -f %s, then sluice uninstall --yes --beside\n", filepath.Join(directory, wayThere), filepath.Join(directory, wayBack))
	return err
}

// try runs doctor and plan with the settings of the Deployment: its flags, and its environment in the place of this process's own.
func (a *adopted) try(ctx context.Context, kubeconfig string, out, complaints io.Writer) error {
	args := slices.Clone(a.flags)
	if kubeconfig != "" {
		args = append(args, "--kubeconfig="+kubeconfig)
	}
	if a.cloudConfig != nil {
		file, err := os.CreateTemp("", "azure-*.json") // readable by its owner alone
		if err != nil {
			return fmt.Errorf("keep azure.json for a moment: %w", err)
		}
		defer os.Remove(file.Name()) //nolint:errcheck // nothing more can be done
		_, err = file.Write(a.cloudConfig)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return fmt.Errorf("keep azure.json for a moment: %w", err)
		}
		args = append(args, "--cloud-config="+file.Name())
	}
	defer a.enter()()
	worst := exitNothing
	for _, verb := range []string{"doctor", "plan"} {
		if _, err := fmt.Fprintf(out, "\nsluice %s with these settings:\n\n", verb); err != nil {
			return err
		}
		sub := root()
		sub.SetOut(out)
		sub.SetErr(complaints)
		worst = max(worst, execute(ctx, sub, append([]string{verb}, args...)))
	}
	if worst == exitNothing {
		return nil
	}
	return exit(worst)
}

// enter gives this process the container's variables that are settings of Azure, and takes its own such away; the returned function undoes that.
func (a *adopted) enter() (leave func()) {
	own := map[string]string{}
	for _, setting := range config.Settings {
		for _, name := range setting.Variables {
			if value, given := os.LookupEnv(name); given {
				own[name] = value
			}
			_ = os.Unsetenv(name)
			if v, given := a.variable(name); given {
				_ = os.Setenv(name, v.value)
			}
		}
	}
	return func() {
		for _, setting := range config.Settings {
			for _, name := range setting.Variables {
				_ = os.Unsetenv(name)
				if value, was := own[name]; was {
					_ = os.Setenv(name, value)
				}
			}
		}
	}
}

// command is a container's command line without the program, and whether it calls cluster-autoscaler by itself.
func command(words []string) ([]string, bool) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return words, true // the image's own program
	}
	return words[1:], filepath.Base(words[0]) == incumbent
}
