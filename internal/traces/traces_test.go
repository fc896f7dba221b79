package traces

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestMissingDataIsNamedWithWhatBelongsThere(t *testing.T) {
	dir := t.TempDir()
	want := filepath.Join(dir, "openb", "openb_pod_list_default.csv") + " is missing: put the pod list of cluster-trace-gpu-v2023"
	if _, err := Open(dir); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want one that begins with %q", err, want)
	}
}

const head = "t_ms,op,id,owner,kind,cpu_m,mem_mib,gpu,dur_ms,pool,tolerates,evictable\n"

func TestWorkloadRowsBecomePods(t *testing.T) {
	pods, err := parseWorkload(bytes.NewBufferString(head + "1500,create,a,o,Job,3800,8192,1,2000,render,batch,true\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Pod{{At: 1500 * time.Millisecond, Name: "a", Owner: "o", Asks: Vector{3800, 8192, 1}, Run: 2 * time.Second, Evictable: true}}
	if d := cmp.Diff(want, pods); d != "" {
		t.Errorf("pods (-want +got):\n%s", d)
	}
}

func TestUnreadableRowsAreRefused(t *testing.T) {
	for name, rows := range map[string]string{
		"a number that is none":    head + "x,create,a,o,Job,1,1,0,1,,,true\n",
		"a pod that never ends":    head + "0,create,a,o,Job,1,1,0,-1,,,true\n",
		"a row that deletes":       head + "0,delete,a,o,Job,1,1,0,1,,,true\n",
		"a column that is missing": "t_ms,op\n0,create\n",
	} {
		if _, err := parseWorkload(bytes.NewBufferString(rows)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPricesAndPodsAreReadByColumn(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		openbFile:     "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos\np,100,200,1,500,LS\n",
		pricesFile:    "sku,vcpu,mem_mib,gpu,usd_per_h\nStandard_D4s_v5,4,16384,0,0.1920\n",
		workloadsFile: "package main\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := d.Openb()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Pod{{Name: "p", Asks: Vector{100, 200, 1}, Evictable: true}}, pods); d != "" {
		t.Errorf("pods (-want +got):\n%s", d)
	}
	sizes, err := d.Sizes()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Size{{"Standard_D4s_v5", Vector{4000, 16384, 0}, 0.192}}, sizes); d != "" {
		t.Errorf("sizes (-want +got):\n%s", d)
	}
}
