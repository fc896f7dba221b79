package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/azuresim"
)

// ask sends a request to the control interface of the server that runs and returns its answer. An error is the server's sentence.
func ask(ctx context.Context, control, method, path string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+control+path, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", control, err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("no azuresim answers on %s: start one, or name its address with --control or AZURESIM_CONTROL: %w", control, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", control, err)
	}
	if resp.StatusCode != http.StatusOK {
		var e struct{ Error string }
		if json.Unmarshal(answer, &e) != nil || e.Error == "" {
			return nil, fmt.Errorf("%s %s: %s", method, path, resp.Status)
		}
		return nil, errors.New(e.Error)
	}
	return answer, nil
}

// verb is a command that talks to the server that runs.
func verb(use, short string, args cobra.PositionalArgs, run func(cmd *cobra.Command, control string, args []string) error) *cobra.Command {
	control := ""
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		return run(cmd, control, args)
	}}
	cmd.Flags().StringVar(&control, "control", defaultControl(), "`address` of the server's control interface; also AZURESIM_CONTROL")
	return cmd
}

// addLists adds the verbs that say what is and what happened.
func addLists(root *cobra.Command) {
	for _, l := range []struct {
		name, about string
		columns     []string
	}{
		{"requests", "List the requests that were answered, oldest first", []string{"time", "status", "kind", "scaleSet", "code", "capacity", "instanceIds"}},
		{"scalesets", "List the scale sets", []string{"name", "capacity", "size", "mode", "priority", "provisioningState"}},
		{"machines", "List the machines", []string{"name", "computerName", "zone", "provisioningState", "powerState", "privateIp", "error"}},
		{"operations", "List the long-running operations of the last day", []string{"started", "ends", "scaleSet", "status", "error", "id"}},
		{"faults", "List the faults in force or to come", []string{"name", "kind", "scaleSet", "matched", "struck", "from", "until"}},
		{"acts", "List what others did", []string{"at", "do", "target", "error"}},
		{"counters", "Count the requests by kind", nil},
	} {
		last, kind, output := 0, "", ""
		cmd := verb(l.name, l.about, cobra.NoArgs, func(cmd *cobra.Command, control string, _ []string) error {
			query := url.Values{}
			if last > 0 {
				query.Set("last", fmt.Sprint(last))
			}
			if kind != "" {
				query.Set("kind", kind)
			}
			answer, err := ask(cmd.Context(), control, http.MethodGet, "/"+l.name+"?"+query.Encode(), nil)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				_, err = cmd.OutOrStdout().Write(answer)
				return err
			case "table":
				return table(cmd.OutOrStdout(), answer, l.columns)
			}
			return fmt.Errorf("-o %s is unknown: use table or json", output)
		})
		cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
		if l.name == "requests" {
			cmd.Flags().IntVar(&last, "last", 0, "so many of them; 0: a hundred")
			cmd.Flags().StringVar(&kind, "kind", "", "only this `kind`, such as 'PATCH *'")
		}
		root.AddCommand(cmd)
	}
	speed := verb("speed [FACTOR]", "Say how fast the clock runs, or change it", cobra.MaximumNArgs(1), func(cmd *cobra.Command, control string, args []string) error {
		method, path := http.MethodGet, "/clock"
		if len(args) == 1 {
			method, path = http.MethodPut, path+"?speed="+url.QueryEscape(args[0])
		}
		answer, err := ask(cmd.Context(), control, method, path, nil)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(answer)
		}
		return err
	})
	root.AddCommand(speed)
}

// addFaults adds the verbs that inject and clear faults.
func addFaults(root *cobra.Command) {
	file := ""
	inject := verb("inject [FIELD=VALUE ...]", "Inject a fault, in the words of a world file", cobra.ArbitraryArgs,
		func(cmd *cobra.Command, control string, args []string) error {
			fault, err := readFault(file, args)
			if err != nil {
				return err
			}
			if _, err := ask(cmd.Context(), control, http.MethodPost, "/faults", fault); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "injected")
			return nil
		})
	inject.Example = `  azuresim inject kind='PATCH *' status=429 style=compute retryAfter=20m times=3
  azuresim inject kind='LIST *' omit=-1 until=10m
  azuresim inject scaleSet=burst machineError=AllocationFailed
  azuresim inject name=old frozen=true chance=0.5
  azuresim inject -f fault.yaml`
	inject.Flags().StringVarP(&file, "file", "f", "", "`file` with the fault; - reads standard input")
	clearing := verb("clear [NAME]", "End one fault by its name, or all", cobra.MaximumNArgs(1), func(cmd *cobra.Command, control string, args []string) error {
		path := "/faults"
		if len(args) == 1 {
			path += "/" + url.PathEscape(args[0])
		}
		if _, err := ask(cmd.Context(), control, http.MethodDelete, path, nil); err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "cleared")
		return nil
	})
	root.AddCommand(inject, clearing)
}

// readFault puts together the fault in a file and the fields on the command line, whose values are YAML.
func readFault(file string, fields []string) (map[string]any, error) {
	fault := map[string]any{}
	if file != "" {
		raw, err := os.ReadFile(file)
		if file == "-" {
			raw, err = io.ReadAll(os.Stdin)
		}
		if err == nil {
			err = yaml.UnmarshalStrict(raw, &fault)
		}
		if err != nil {
			return nil, fmt.Errorf("read the fault: %w", err)
		}
	}
	for _, field := range fields {
		name, text, ok := strings.Cut(field, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not FIELD=VALUE, such as status=429", field)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil || strings.HasPrefix(text, "*") {
			value = text // a pattern, which YAML takes for a reference
		}
		fault[name] = value
	}
	return fault, nil
}

// addActs adds a verb for everything that others do behind a client's back.
func addActs(root *cobra.Command) {
	names, about := azuresim.ActNames()
	for n, name := range names {
		if name == "inject" || name == "clear" {
			continue
		}
		act := map[string]any{"do": name}
		use := name + " TARGET"
		if name == "set-capacity" {
			use += " N"
		}
		var value float64
		var tags map[string]string
		var actions []string
		cmd := verb(use, strings.ToUpper(about[n][:1])+about[n][1:], cobra.ExactArgs(strings.Count(use, " ")),
			func(cmd *cobra.Command, control string, args []string) error {
				act["target"] = args[0]
				if len(args) == 2 {
					var capacity any
					if err := yaml.Unmarshal([]byte(args[1]), &capacity); err != nil {
						return fmt.Errorf("capacity %q: %w", args[1], err)
					}
					act["capacity"] = capacity
				}
				if tags != nil {
					act["tags"] = tags
				}
				if actions != nil {
					act["actions"] = actions
				}
				cmd.Flags().Visit(func(f *pflag.Flag) {
					switch f.Name {
					case "at", "notice", "updating", "level", "event", "role", "scope", "metric":
						act[f.Name] = f.Value.String()
					case "value":
						act[f.Name] = value
					case "from-scale-in":
						act["fromScaleIn"] = f.Value.String() == "true"
					case "from-scale-set-actions":
						act["fromScaleSetActions"] = f.Value.String() == "true"
					}
				})
				if _, err := ask(cmd.Context(), control, http.MethodPost, "/acts", act); err != nil {
					return err
				}
				if act["at"] != nil {
					fmt.Fprintln(cmd.OutOrStdout(), "scheduled")
					return nil
				}
				fmt.Fprintln(cmd.OutOrStdout(), "done")
				return nil
			})
		f := cmd.Flags()
		f.String("at", "", "`when`: so long from now, or a time; empty: at once")
		switch name {
		case "evict":
			f.Duration("notice", 0, "how long before the machine hears of it; 0: not at all")
		case "schedule":
			f.String("event", "", "Freeze, Reboot, Redeploy, Preempt or Terminate")
			f.Duration("notice", 0, "how long before the machine hears of it; 0: the usual time")
		case "autoscale":
			f.String("metric", "Percentage CPU", "the `metric` that the setting's rules are about")
			f.Float64Var(&value, "value", 0, "of the metric")
		case "assign-role":
			f.String("role", "", "`role`: its name, GUID or resource id")
			f.String("scope", "", "a subscription, a resource group or a resource, by its `id`")
		case "touch":
			f.Duration("updating", 0, "how long the set is Updating")
		case "lock":
			f.String("level", "CanNotDelete", "CanNotDelete or ReadOnly")
		case "protect":
			f.Bool("from-scale-in", false, "Azure does not choose it when capacity is lowered")
			f.Bool("from-scale-set-actions", false, "actions on the whole set spare it")
		case "set-image":
			f.String("version", "", "the image's `version`, such as 24.04.202611010")
		case "set-tags":
			f.StringToStringVar(&tags, "tags", nil, "all tags, `name=value,...`")
		case "deny", "allow":
			f.StringSliceVar(&actions, "actions", nil, "`actions`, such as Microsoft.Compute/virtualMachineScaleSets/write")
		}
		root.AddCommand(cmd)
	}
}
