package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestBadInputIsToldInOneSentence holds that whatever is wrong, the user reads what it is and what to give instead.
func TestBadInputIsToldInOneSentence(t *testing.T) {
	nowhere(t)
	refused := "http://" + freeAddress(t)
	journal := string(night(t))
	whole, empty := file(t, "whole", journal), file(t, "empty", "")
	serve := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	look := func(more ...string) []string { // at a farm of which nothing answers
		return append([]string{"plan", "--nodes=0:5:agents", "--kubeconfig=" + kubeconfig(t, refused), "--azure-metadata-endpoint=" + refused}, more...)
	}

	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"a command that is none":            {[]string{"dance"}, []string{`"dance"`, "sluice --help"}},
		"a command with a slip":             {[]string{"plam"}, []string{`"plam"`, "did you mean plan?"}},
		"a flag that is none":               {[]string{"plan", "--node=1:2:agents"}, []string{"--node", "sluice plan --help"}},
		"a flag with a slip":                {look("--max-node-total=3"), []string{"--max-node-total", "did you mean --max-nodes-total?"}},
		"a flag with two letters swapped":   {append([]string{"run"}, look("--sacn-interval=1s")[1:]...), []string{"--sacn-interval", "did you mean --scan-interval?"}},
		"a flag with one dash":              {[]string{"run", "-scan-interval=1s"}, []string{"-scan-interval=1s", "did you mean --scan-interval?"}},
		"a flag of one word of its name":    {[]string{"run", "--interval=1s"}, []string{"--interval", "did you mean --scan-interval?"}},
		"a flag of words that many have":    {[]string{"run", "--scale=1"}, []string{"--scale; see sluice run --help"}},
		"a flag that plan passes over":      {[]string{"plan", "--sacn-interval=1s"}, []string{"did you mean --scan-interval?"}},
		"a command with letters swapped":    {[]string{"exp" + "alin", "pod", "x"}, []string{`"exp` + "alin" + `"`, "did you mean explain?"}},
		"a command behind its flags":        {[]string{"--nodes=1:2:a", "plan"}, []string{"run takes flags only", "a command stands before its flags: sluice plan"}},
		"help of what is no command":        {[]string{"help", "plam"}, []string{`"plam"`, "did you mean plan?"}},
		"an output that version has not":    {[]string{"version", "-o", "xml"}, []string{"--output=xml", "text or json"}},
		"a flag of no command":              {[]string{"--node"}, []string{"--node", "sluice run --help"}},
		"a verbosity without a value":       {[]string{"-v"}, []string{"--v has no value", "log verbosity"}},
		"a letter that is no flag":          {[]string{"plan", "-z"}, []string{"'z'", "sluice plan --help"}},
		"a flag that lost its value":        {[]string{"plan", "--nodes"}, []string{"--nodes", "min:max:scale-set-name"}},
		"an argument to plan":               {[]string{"plan", "agents"}, []string{"plan takes flags only", `"agents"`}},
		"a flag without its dashes":         {[]string{"certify", "plan"}, []string{`"plan"`, "did you mean --plan?"}},
		"an argument to run":                {[]string{"run", "now"}, []string{"run takes flags only", `"now"`}},
		"an argument to version":            {[]string{"version", "2"}, []string{"version takes flags only", `"2"`}},
		"nothing to explain":                {[]string{"explain"}, []string{"a kind and a name", "sluice explain pod default/web-0"}},
		"a kind without a name":             {[]string{"explain", "pod"}, []string{"a kind and a name"}},
		"a kind that is none":               {[]string{"explain", "service", "web"}, []string{"service", "pod, node, group, instance, request or buffer"}},
		"a name that is empty":              {[]string{"explain", "node", ""}, []string{"node", "the name is empty"}},
		"no journal to replay":              {[]string{"replay"}, []string{"one journal", "sluice replay journal.jsonl"}},
		"two journals to replay":            {[]string{"replay", whole, whole}, []string{"one journal"}},
		"nothing to simulate":               {[]string{"simulate"}, []string{"scenario files"}},
		"an output that plan has not":       {look("--output=xml"), []string{"--output=xml", "text or json"}},
		"an output that explain has not":    {[]string{"explain", "node", "a", "--output=xml"}, []string{"--output=xml", "text or json"}},
		"another cloud":                     {look("--cloud-provider=other"), []string{"--cloud-provider=other", "azure"}},
		"a log format that is none":         {look("--log-format=xml"), []string{"--log-format=xml", "text or json"}},
		"a verbosity that is none":          {look("-v=loud"), []string{"--v=loud", "a whole number"}},
		"a count that is none":              {look("--max-nodes-total=many"), []string{"--max-nodes-total=many", "a whole number"}},
		"a count below zero":                {look("--max-nodes-total=-3"), []string{"--max-nodes-total=-3", "give 0 or more"}},
		"bounds without a colon":            {look("--cores-total=320"), []string{"--cores-total=320", "min:max"}},
		"bounds the wrong way round":        {look("--memory-total=64:8"), []string{"--memory-total=64:8", "max at least min"}},
		"a duration without a unit":         {look("--max-drain-time=15"), []string{"--max-drain-time=15", "a duration, such as 90s or 10m"}},
		"a duration of nothing":             {look("--max-drain-time=0s"), []string{"--max-drain-time=0s", "above zero"}},
		"seconds with a unit":               {look("--max-graceful-termination-sec=10m"), []string{"--max-graceful-termination-sec=10m", "whole seconds"}},
		"neither true nor false":            {look("--scale-down-enabled=perhaps"), []string{"--scale-down-enabled=perhaps", "true or false"}},
		"a share that is no number":         {look("--scale-down-utilization-threshold=half"), []string{"--scale-down-utilization-threshold=half", "a number"}},
		"a share above one":                 {look("--scale-down-utilization-threshold=50"), []string{"--scale-down-utilization-threshold=50", "between 0 and 1"}},
		"a group without bounds":            {look("--nodes=agents"), []string{"--nodes=agents", "min:max:name"}},
		"a group twice":                     {look("--nodes=0:5:agents"), []string{"--nodes", `"agents"`, "once"}},
		"an azure.json that is not there":   {look("--cloud-config=/nowhere/azure.json"), []string{"--cloud-config=/nowhere/azure.json", "no such file", "give the path"}},
		"a discovery without a label":       {look("--node-group-auto-discovery=asg:x=y"), []string{"--node-group-auto-discovery=asg:x=y", "label:tag=value"}},
		"an endpoint that is no address":    {look("--azure-resource-manager-endpoint=nowhere"), []string{"--azure-resource-manager-endpoint=nowhere", "must be a URL"}},
		"a metadata endpoint that is none":  {look("--azure-metadata-endpoint=nowhere"), []string{"--azure-metadata-endpoint=nowhere", "a URL such as http://169.254.169.254"}},
		"an endpoint that others read":      {look("--azure-authority-host=http://login.example"), []string{"--azure-authority-host=http://login.example", "must be https"}},
		"metadata that do not answer":       {look(), []string{"ARM_SUBSCRIPTION_ID", strings.TrimPrefix(refused, "http://"), "connection refused"}},
		"no API server is named":            {[]string{"plan", "--nodes=0:5:agents"}, []string{"--kubeconfig", "KUBECONFIG", "service account", "make playground", "sluice simulate testdata/"}},
		"no API server to explain from":     {[]string{"explain", "node", "agents-0"}, []string{"--kubeconfig", "make playground", "sluice simulate testdata/"}},
		"a kubeconfig that is not there":    {look("--kubeconfig=/nowhere/kubeconfig"), []string{"--kubeconfig=/nowhere/kubeconfig", "no such file", "give the path"}},
		"a kubeconfig that is none":         {look("--kubeconfig=" + file(t, "broken", "certainly: [not")), []string{"--kubeconfig=", "broken", "give the path"}},
		"a kubeconfig that is prose":        {look("--kubeconfig=" + file(t, "prose", "dear diary\nit is late\n")), []string{"--kubeconfig=", "prose", "give the path"}},
		"a kubeconfig that is empty":        {look("--kubeconfig=" + empty), []string{"--kubeconfig=", "names no API server", "give the path"}},
		"a kubeconfig without a context":    {look("--kubeconfig=" + file(t, "lost", "apiVersion: v1\nkind: Config\ncurrent-context: gone\n")), []string{"--kubeconfig=", "gone", "give the path"}},
		"a scan interval that is too short": {append([]string{"run"}, look("--scan-interval=1ms")[1:]...), []string{"--scan-interval=1ms", "at least 1s"}},
		"a lease shorter than its renewal":  {append([]string{"run"}, look("--leader-elect-lease-duration=5s")[1:]...), []string{"--leader-elect-lease-duration=5s", "longer"}},
		"a namespace that is empty":         {append([]string{"run"}, look("--namespace=")[1:]...), []string{"--namespace is empty", "give a name"}},
		"an inactivity shorter than a scan": {append([]string{"run"}, look("--max-inactivity=1s")[1:]...), []string{"--max-inactivity=1s", "--scan-interval"}},
		"a journal to replay that is gone":  {[]string{"replay", "/nowhere/journal"}, []string{"/nowhere/journal", "no such file", "sluice run --journal"}},
		"a journal to replay that is prose": {[]string{"replay", file(t, "prose", "dear diary\nit is late\n")}, []string{"prose", "line 1", "sluice run --journal"}},
		"a journal to replay that is empty": {[]string{"replay", empty}, []string{"no whole cycle", "sluice run --journal"}},
		"a journal of one half line":        {[]string{"replay", file(t, "half", journal[:100])}, []string{"cut off"}},
		"a journal that is a directory":     {[]string{"replay", t.TempDir()}, []string{"is a directory", "sluice run --journal"}},
		"a journal of a later version":      {[]string{"replay", file(t, "later", `{"v":99,"version":99}`+"\n")}, []string{"later", "version"}},
		"a journal to explain that is gone": {[]string{"explain", "group", "agents", "--journal=/nowhere/journal"}, []string{"/nowhere/journal", "no such file", "sluice run --journal"}},
		"an empty journal to explain":       {[]string{"explain", "group", "agents", "--journal=" + empty}, []string{"no whole cycle"}},
		"a cycle that is not in the journal": {
			[]string{"explain", "group", "agents", "--journal=" + whole, "--cycle=99999"}, []string{"--cycle=99999", "does not hold it", "its last cycle is"},
		},
		"a cycle that is no number":             {[]string{"explain", "group", "agents", "--journal=" + whole, "--cycle=last"}, []string{"--cycle=last", "a whole number"}},
		"a cycle without a journal":             {[]string{"explain", "group", "agents", "--cycle=3"}, []string{"--cycle=3", "--journal"}},
		"a server and a journal":                {[]string{"explain", "group", "agents", "--journal=" + whole, "--server=" + refused}, []string{"--server", "--journal", "one of them"}},
		"a server that is no address":           {[]string{"explain", "group", "agents", "--server=here"}, []string{"--server=here", "http://127.0.0.1:8085"}},
		"a server without a scheme":             {[]string{"explain", "group", "agents", "--server=localhost:8085"}, []string{"--server=localhost:8085", "http://127.0.0.1:8085"}},
		"a server that does not listen":         {[]string{"explain", "group", "agents", "--server=" + refused}, []string{"--server=" + refused, "refused", "is sluice run there"}},
		"a server that knows no such page":      {[]string{"explain", "group", "agents", "--server=" + serve(404, "<html>\n")}, []string{"--server=", "404", "is it sluice?"}},
		"a server that answers in prose":        {[]string{"explain", "group", "agents", "--server=" + serve(200, "<html>\n")}, []string{"--server=", "is it sluice?"}},
		"a server that answers other JSON":      {[]string{"explain", "group", "agents", "--server=" + serve(200, "{}")}, []string{"--server=", "is it sluice?"}},
		"a server that is another sluice":       {[]string{"explain", "group", "agens", "--server=" + serve(404, `{"error":"no group \"agens\" in this cycle; did you mean agents?"}`)}, []string{"did you mean agents?"}},
		"a journal on top that is gone":         {[]string{"top", "--journal=/nowhere/journal"}, []string{"/nowhere/journal", "no such file", "sluice run --journal"}},
		"an empty journal on top":               {[]string{"top", "--journal=" + empty}, []string{"no whole cycle"}},
		"an output that top has not":            {[]string{"top", "--journal=" + whole, "-o", "xml"}, []string{"--output=xml", "text or json"}},
		"a server on top that does not listen":  {[]string{"top", "--server=" + refused}, []string{refused, "refused", "is sluice run there"}},
		"a server on top that is no address":    {[]string{"top", "--server=here"}, []string{"--server=here", "http://127.0.0.1:8085"}},
		"a server on top that answers JSON":     {[]string{"top", "--server=" + serve(200, "{}")}, []string{"is it sluice?"}},
		"a server and a journal on top":         {[]string{"top", "--journal=" + whole, "--server=" + refused}, []string{"one of them"}},
		"a choice that only a journal may have": {[]string{"plan", "--daemon-work=*"}, []string{"--daemon-work=*", "is no namespace"}},
		"a scenario that is not there":          {[]string{"simulate", "/nowhere/night.txtar"}, []string{"/nowhere/night.txtar", "no such file"}},
		"a scenario with a slip":                {[]string{"simulate", file(t, "slip.txtar", "advanse 3m\n")}, []string{"slip.txtar", "line 1", `"advanse"`, "advance"}},
	} {
		t.Run(name, func(t *testing.T) {
			sluice(t.Context(), c.args...).complains(t, c.says...)
		})
	}
}

func TestAnErrorOfSeveralLinesIsToldInOne(t *testing.T) {
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		return errors.Join(errors.New("unmarshal:\n  line 3: no such field"), errors.New("give another"))
	}}
	var complaint pen
	cmd.SetErr(&complaint)
	code := execute(t.Context(), cmd, nil)
	said{code: code, complaint: complaint.String()}.complains(t, "unmarshal: line 3: no such field give another")
}

func TestAnAPIServerThatDoesNotAnswerIsNamed(t *testing.T) {
	f := newFarm(t)
	refused := freeAddress(t)
	for _, verb := range [][]string{{"plan"}, {"explain", "group", "agents"}} {
		sluice(t.Context(), f.args(append(verb, "--kubeconfig="+kubeconfig(t, "http://"+refused))...)...).
			complains(t, refused, "refuses", "the API server", "kubeconfig")
	}
}
