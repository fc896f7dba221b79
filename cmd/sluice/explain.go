package main

import (
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

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

func explainCommand() *cobra.Command {
	var s settings
	var format, server, file, namespace string
	var cycle uint64
	cmd := &cobra.Command{
		Use:   "explain pod|node|group NAME",
		Short: "Say what becomes of a pod, a node or a node group, and why",
		Long: `Say what sluice makes of one pod, node or node group: the outcome, every reason with its code and the numbers
that were compared, what is in flight about it, and how old the evidence is.

The answer comes from a running sluice (--server), from a journal (--journal, by default its last cycle), or, with neither, from
one look at the cluster now with the flags of "sluice plan". Pods are named namespace/name, or name in --namespace.`,
		Example: `  sluice explain pod default/web-7d9f --server=http://localhost:8085
  sluice explain node agents000003 --journal=/var/lib/sluice/journal.jsonl
  sluice explain group agents --journal=journal.jsonl --cycle=1042
  sluice explain pod web-7d9f --nodes=1:10:agents`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("explain wants a kind and a name, such as: sluice explain pod default/web-0")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			about, err := subject(args[0], args[1], namespace)
			if err != nil {
				return err
			}
			x, err := s.explain(cmd.Context(), about, server, file, cycle)
			if err != nil {
				return err
			}
			if format == "json" {
				return x.WriteJSON(cmd.OutOrStdout())
			}
			return x.WriteText(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	s.add(f)
	f.StringVarP(&format, "output", "o", "text", "text or json")
	f.StringVar(&server, "server", "", "address of a running sluice, such as http://localhost:8085")
	f.StringVar(&file, "journal", "", "a journal that sluice run wrote")
	f.Uint64Var(&cycle, "cycle", 0, "the cycle of the journal to explain; 0: the last")
	f.StringVarP(&namespace, "namespace", "n", "default", "namespace of a pod that is named without one")
	return cmd
}

// explain finds the answer where the user says: at a server, in a journal, or by looking now.
func (s *settings) explain(ctx context.Context, about reason.Ref, server, file string, cycle uint64) (report.Explanation, error) {
	var entry journal.Entry
	var err error
	switch {
	case server != "" && file != "":
		return report.Explanation{}, fmt.Errorf("--server and --journal: give one of them")
	case server != "":
		return askServer(ctx, server, about)
	case file != "":
		entry, err = entryOf(file, cycle)
	default:
		entry, err = s.once(ctx)
	}
	if err != nil {
		return report.Explanation{}, err
	}
	return report.NewExplanation(entry, about)
}

// subject reads what the user asks about.
func subject(kind, name, namespace string) (reason.Ref, error) {
	if name == "" {
		return reason.Ref{}, fmt.Errorf("explain %s: the name is empty", kind)
	}
	switch strings.TrimSuffix(kind, "s") {
	case "pod", "po":
		if !strings.Contains(name, "/") {
			name = namespace + "/" + name
		}
		return reason.Ref{Kind: reason.KindPod, Name: name}, nil
	case "node", "no":
		return reason.Node(name), nil
	case "group":
		return reason.Group(name), nil
	case "instance":
		return reason.Ref{Kind: reason.KindInstance, Name: name}, nil
	}
	return reason.Ref{}, fmt.Errorf("explain %s: the kind must be pod, node, group or instance", kind)
}

// entryOf reads one cycle of a journal.
func entryOf(path string, cycle uint64) (journal.Entry, error) {
	var last journal.Entry
	err := eachEntry(path, func(e journal.Entry) bool {
		last = e
		return cycle == 0 || e.Cycle != cycle
	})
	switch {
	case err != nil && !errors.Is(err, journal.ErrCut):
		return last, err
	case last.Seen == nil:
		return last, fmt.Errorf("--journal=%s: it holds no cycle", path)
	case cycle != 0 && last.Cycle != cycle:
		return last, fmt.Errorf("--cycle=%d: the journal %s does not hold it; its last cycle is %d", cycle, path, last.Cycle)
	}
	return last, nil
}

// eachEntry reads a journal from its beginning until visit says stop. A cut last line is [journal.ErrCut].
func eachEntry(path string, visit func(journal.Entry) bool) error {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	d := journal.NewDecoder(file)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("journal %s: %w", path, err)
		}
		if !visit(e) {
			return nil
		}
	}
}

// askServer lets a running sluice answer.
func askServer(ctx context.Context, server string, about reason.Ref) (report.Explanation, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var x report.Explanation
	q := url.Values{"kind": {string(about.Kind)}, "name": {about.Name}}
	address := strings.TrimSuffix(server, "/") + "/api/v1/explain?" + q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return x, fmt.Errorf("--server=%s: %w", server, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return x, fmt.Errorf("--server=%s: %w; is sluice running there with --address?", server, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return x, fmt.Errorf("--server=%s: read the answer: %w", server, err)
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct{ Error string }
		if json.Unmarshal(body, &problem) == nil && problem.Error != "" {
			return x, errors.New(problem.Error)
		}
		return x, fmt.Errorf("--server=%s answers %s; is it sluice?", server, resp.Status)
	}
	if err := json.Unmarshal(body, &x); err != nil {
		return x, fmt.Errorf("--server=%s: the answer is not sluice's: %w", server, err)
	}
	return x, nil
}
