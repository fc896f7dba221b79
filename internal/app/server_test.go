package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"sluice.dev/sluice/cluster"
)

func TestAnAPIServerIsSpokenOf(t *testing.T) {
	for name, c := range map[string]struct {
		server cluster.Server
		want   []string
	}{
		"one of which nothing is known": {cluster.Server{Rules: "1.36"}, nil},
		"an older one": {
			cluster.Server{Version: "v1.31.14", Rules: "1.36", Without: []cluster.Without{{API: "a.v1.b", Loss: "c is not done"}}},
			[]string{
				`level=INFO msg="the API server is known" why="the API server has Kubernetes v1.31.14; pods are judged by the rules of 1.36"`,
				`level=INFO msg="an API is done without" api=a.v1.b why="a.v1.b is not served: c is not done"`,
			},
		},
		"a newer one": {
			cluster.Server{Version: "v1.37.2", Rules: "1.36", Newer: true, Without: []cluster.Without{{API: "a.v1.b", Others: []string{"v2"}, Loss: "c is not done"}}},
			[]string{
				`level=WARN msg="the API server is newer than sluice" why="the API server has Kubernetes v1.37.2, sluice is older: pods are judged by the rules of 1.36"`,
				`level=WARN msg="an API is served in versions that sluice does not read" api=a.v1.b why="a.v1.b is served as v2 alone: c is not done"`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			timeless := func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}
			tellOfServer(c.server, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: timeless})))
			if want := strings.Join(append(c.want, ""), "\n"); log.String() != want {
				t.Errorf("it says\n%s\nwant\n%s", log.String(), want)
			}
		})
	}
}
