package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/bench"
	"sluice.dev/sluice/internal/bench/resident"
)

const residentRow = "resident"

// residentSizes are the nodes of the clusters that are watched.
var residentSizes = []int{1000, 2500, 5000}

// watchAll measures the memory of a process that watches each size, one after the other.
func watchAll(ctx context.Context, exe string, settle time.Duration, progress io.Writer) *bench.Resident {
	var all []bench.Watched
	for _, nodes := range residentSizes {
		fmt.Fprintf(progress, "%s: %d nodes ...\n", residentRow, nodes)
		w, err := watchOne(ctx, exe, nodes, settle)
		if err != nil {
			w.Nodes, w.Problem = nodes, err.Error()
		}
		all = append(all, w)
	}
	return bench.NewResident(all)
}

// watchOne starts a server and a process that watches it.
func watchOne(ctx context.Context, exe string, nodes int, settle time.Duration) (bench.Watched, error) {
	var w bench.Watched
	ctx, stop := context.WithCancel(ctx)
	server := exec.CommandContext(ctx, exe, "serve", "--nodes="+strconv.Itoa(nodes))
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		stop()
		return w, fmt.Errorf("start the server: %w", err)
	}
	defer func() {
		stop()
		_ = server.Wait() // it was killed
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return w, fmt.Errorf("read the server's address: %w", err)
	}
	var said bytes.Buffer
	watcher := exec.CommandContext(ctx, exe, "watch", strings.TrimSpace(address), "--settle="+settle.String())
	watcher.Stderr = &said
	text, err := watcher.Output()
	if err != nil {
		return w, fmt.Errorf("watch %d nodes: %w: %s", nodes, err, strings.TrimSpace(said.String()))
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return w, fmt.Errorf("read what the watcher found: %w", err)
	}
	return w, nil
}

// serveCommand serves a cluster until it is killed.
func serveCommand() *cobra.Command {
	nodes := 0
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the steady cluster as an API server does", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := resident.Serve(nodes)
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return fmt.Errorf("serve the cluster: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", listener.Addr())
			h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
			go func() {
				<-cmd.Context().Done()
				_ = h.Close()
			}()
			if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve the cluster: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", 5000, "nodes of the cluster")
	return cmd
}

// watchCommand watches a served cluster and reports the memory of its process.
func watchCommand() *cobra.Command {
	var settle time.Duration
	cmd := &cobra.Command{
		Use: "watch URL", Short: "Watch a served cluster and say how much memory that takes", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := resident.Watch(cmd.Context(), args[0], settle)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(w)
		},
	}
	cmd.Flags().DurationVar(&settle, "settle", time.Minute, "how long to turn cycles after everything was read")
	return cmd
}
