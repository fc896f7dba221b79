package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/tools/txtar"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
	"sluice.dev/sluice/internal/report"
)

// clusterName is the file that verbs of cluster read unless they are told another.
const clusterName = "cluster.yaml"

func clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster COMMAND",
		Short: "Make a cluster of one file: network, server, pools, and sluice itself",
		Long: `A cluster is one file, cluster.yaml: its network, its server, its pools of machines. "sluice cluster init" writes one
to begin with. "sluice cluster render" shows its template, parameters and cloud-init. These two use no network. "check", "up", "diff", "pool",
"import" and "down" ask Azure.`,
		Args: knownVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(clusterInitCommand(), clusterRenderCommand(), clusterSchemaCommand(), clusterCheckCommand(), clusterUpCommand(), clusterDiffCommand(),
		clusterPoolCommand(), clusterImportCommand(), clusterDownCommand())
	return cmd
}

// knownVerb refuses what comes to a command with verbs of its own as an argument.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return fmt.Errorf("%q is no command of %s: there are %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
}

// refuseFile says all that is wrong with a file, each problem on a line of its own.
func refuseFile(cmd *cobra.Command, path string, problems clusterfile.Problems) error {
	for _, p := range problems {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", path, report.Printable(p.String()))
	}
	return exit(exitError)
}

// flagOf are the flags of init that fields of the file come from.
var flagOf = map[string]string{
	"name": "name", "region": "region", "distribution.kind": "distribution", "ssh.publicKey": "ssh-public-key",
	"server.allowFrom": "allow-from", "sluice.image": "image",
}

// refuseFlags says all that is wrong with flags of init: the file that has the lines of the problems is not written.
func refuseFlags(cmd *cobra.Command, problems clusterfile.Problems) error {
	for _, p := range problems {
		p.Line = 0
		field, _, _ := strings.Cut(p.Field, "[")
		if flag := flagOf[field]; flag != "" {
			p.Field = "--" + flag
		}
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "sluice: %s\n", report.Printable(p.String()))
	}
	return exit(exitError)
}

// tellOpen says what a range of all addresses opens.
func tellOpen(out io.Writer, f *clusterfile.File) {
	if f.OpenToAll() {
		_, _ = fmt.Fprintln(out, "open     server.allowFrom has 0.0.0.0/0: the whole internet reaches SSH (22) and the API server (6443)")
	}
}

// readCluster reads a file, and holds its settings to the flags of run.
func readCluster(cmd *cobra.Command, path string) (*clusterfile.File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s; sluice cluster init writes one, --file names another", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster file: %w", err)
	}
	f, problems := clusterfile.Parse(text)
	if len(problems) > 0 {
		return nil, refuseFile(cmd, path, problems)
	}
	if err := checkSettings(f.Sluice.Settings); err != nil {
		return nil, fmt.Errorf("%s: sluice.settings: %w", path, err)
	}
	return &f, nil
}

// checkSettings reads settings as sluice run will.
func checkSettings(given map[string]string) error {
	var s settings
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	s.addRun(flags, &app.Options{})
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := flags.Set(name, given[name]); err != nil {
			return app.BadValue(flags.Lookup(name), given[name])
		}
	}
	_, err := s.policy()
	return err
}

func clusterInitCommand() *cobra.Command {
	var start clusterfile.Start
	var path, key string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented cluster.yaml to begin with",
		Long: `Write a commented file that describes a cluster of one server and two pools. Beside it comes the JSON schema by which editors complete it.
A file that exists is not overwritten.`,
		Example: `  sluice cluster init --name=render --region=westeurope --allow-from=203.0.113.0/24
  sluice cluster init --name=render --region=westeurope --distribution=kubeadm --ssh-public-key=$HOME/.ssh/farm.pub`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, f := range []struct{ flag, value, such string }{{"name", start.Name, "render"}, {"region", start.Region, "westeurope"}} {
				if f.value == "" {
					return fmt.Errorf("--%s is not given: give it, such as --%s=%s", f.flag, f.flag, f.such)
				}
			}
			if start.Distribution != clusterfile.K3s && start.Distribution != clusterfile.Kubeadm {
				return fmt.Errorf("--distribution=%s: give k3s or kubeadm", start.Distribution)
			}
			var err error
			if start.PublicKey, err = publicKey(key); err != nil {
				return err
			}
			text := clusterfile.Example(start)
			made, problems := clusterfile.Parse(text)
			if len(problems) > 0 {
				return refuseFlags(cmd, problems)
			}
			if err := writeNew("file", path, text); err != nil {
				return err
			}
			schema := filepath.Join(filepath.Dir(path), clusterfile.SchemaFile)
			if err := os.WriteFile(schema, clusterfile.Schema(), 0o644); err != nil { //nolint:gosec // it is no secret
				return fmt.Errorf("write the schema: %w", err)
			}
			tellOpen(cmd.OutOrStdout(), &made)
			next := "sluice cluster check"
			if path != clusterName {
				next += " --file=" + path
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is written, and %s for editors. Next: %s\n", path, schema, next)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&start.Name, "name", "", "name of the cluster")
	f.StringVar(&start.Region, "region", "", "region of Azure, such as westeurope")
	f.StringVar(&start.Distribution, "distribution", clusterfile.K3s, "k3s or kubeadm")
	f.StringVar(&key, "ssh-public-key", "", "file of the public key that may sign in to the machines; without it the first of ~/.ssh/id_ed25519.pub, id_ecdsa.pub and id_rsa.pub")
	f.StringArrayVar(&start.AllowFrom, "allow-from", nil, "range from which SSH and the API server may be reached; the server gets a public address then; may be repeated")
	f.StringVar(&start.Image, "image", "registry.example/sluice:v0.1.0", "image of sluice, as your registry has it")
	f.StringVarP(&path, "file", "f", clusterName, "file that is written")
	return cmd
}

// publicKey reads a public key, or the first of those that ssh-keygen writes.
func publicKey(path string) (string, error) {
	paths := []string{path}
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("there is no home directory with a public key: give --ssh-public-key")
		}
		paths = nil
		for _, name := range []string{"id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub"} {
			paths = append(paths, filepath.Join(home, ".ssh", name))
		}
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		switch {
		case err == nil:
			return strings.TrimSpace(string(text)), nil
		case path != "":
			return "", fmt.Errorf("--ssh-public-key=%s: it cannot be read (%w); give the path of a public key", path, errors.Unwrap(err))
		}
	}
	return "", errors.New("~/.ssh has no public key: make one with ssh-keygen -t ed25519, or give --ssh-public-key")
}

// writeNew writes a file, which a flag names, that is not there yet.
func writeNew(flag, path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it holds no secret
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; move it away, or give another --%s", path, flag)
	}
	if err != nil {
		return fmt.Errorf("write the cluster file: %w", err)
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write the cluster file: %w", err)
	}
	return nil
}

func clusterRenderCommand() *cobra.Command {
	var path, out, only string
	var images bool
	cmd := &cobra.Command{
		Use:   "render",
		Short: "Show what cluster.yaml becomes: template, parameters and cloud-init",
		Long: `Show what Azure is given of a cluster file: template, parameters, and the cloud-init of the server and of each pool. It is printed as one
archive, each file below a line -- NAME --. With --out it is written to files. The same file gives the same bytes.

az deployment group create deploys it without sluice. first.parameters.json goes with the first deployment only: it says that everything is new.
Afterwards the server stays as it is, and pools keep the machines that sluice gave them.

Exit code 0: it is shown or written; 2: error, such as problems with the file, which are all said.`,
		Example: `  sluice cluster render
  sluice cluster render --only=template.json
  sluice cluster render --out=azure
  sluice cluster render --images
  az deployment group create -g render -f azure/template.json -p azure/parameters.json -p azure/first.parameters.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := readCluster(cmd, path)
			if err != nil {
				return err
			}
			if images {
				return printImages(cmd, f)
			}
			r, err := render.Render(f)
			if err != nil {
				return err
			}
			files := r.Files()
			switch {
			case out != "" && only != "":
				return errors.New("--out and --only: give one of them")
			case out != "":
				return writeRendering(cmd, out, files)
			case only != "":
				at := slices.IndexFunc(files, func(file render.File) bool { return file.Path == only })
				if at < 0 {
					var names []string
					for _, file := range files {
						names = append(names, file.Path)
					}
					return fmt.Errorf("--only=%s: give one of %s", only, strings.Join(names, ", "))
				}
				_, err = cmd.OutOrStdout().Write(files[at].Text)
				return err
			}
			var archive txtar.Archive
			for _, file := range files {
				archive.Files = append(archive.Files, txtar.File{Name: file.Path, Data: file.Text})
			}
			_, err = cmd.OutOrStdout().Write(txtar.Format(&archive))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&path, "file", "f", clusterName, "cluster file")
	f.StringVar(&out, "out", "", "directory that the files are written to; those that are there are replaced")
	f.StringVar(&only, "only", "", "print one file alone, by its name in the archive")
	f.BoolVar(&images, "images", false, "print the images that the machines pull instead, one a line; the field images of the file replaces them by digest")
	return cmd
}

// printImages lists images for who mirrors or pins them. What the distribution brings is on standard error: its publisher has that list.
func printImages(cmd *cobra.Command, f *clusterfile.File) error {
	for _, name := range render.Images(f) {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s pulls its own images besides: %s\n", f.Distribution.Kind, render.DistributionImages(f))
	return err
}

// writeRendering writes the files below a directory. Cloud-init of pools that the cluster has no more goes, since somebody might use it.
func writeRendering(cmd *cobra.Command, out string, files []render.File) error {
	folder := filepath.Join(out, "cloud-init")
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // no secret is in it
		return fmt.Errorf("write the rendering: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("look into %s: %w", folder, err)
	}
	for _, file := range files {
		path := filepath.Join(out, filepath.FromSlash(file.Path))
		if err := os.WriteFile(path, file.Text, 0o644); err != nil { //nolint:gosec // no secret is in it
			return fmt.Errorf("write the rendering: %w", err)
		}
		old = slices.DeleteFunc(old, func(o string) bool { return o == path })
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), path); err != nil {
			return err
		}
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove the cloud-init of a pool that is gone: %w", err)
		}
	}
	return nil
}

func clusterSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of cluster.yaml, for editors",
		Example: "  sluice cluster schema > " + clusterfile.SchemaFile,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(clusterfile.Schema())
			return err
		},
	}
}
