package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/internal/clusterfile"
)

// How long a server and a machine of a pool usually take at most. Then their serial consoles are read.
const (
	serverUsual  = 8 * time.Minute
	machineUsual = 5 * time.Minute
)

const (
	askPause     = 15 * time.Second // between two run commands: each takes Azure some seconds
	nodesPause   = 5 * time.Second  // between two looks at the API server
	leastAsked   = 5 * time.Second  // how long an answer is waited for, however little time is left
	mostExamined = 3                // machines of a pool whose consoles are read: they are alike
	mostNamed    = 10               // nodes that are told one by one when they are Ready at the first look
)

// Awaiting is how [Cluster.Await] waits.
type Awaiting struct {
	For     time.Duration
	Address string                                                       // by which the API server is reached from outside
	Keep    func(kubeconfig []byte) error                                // is given the admin's kubeconfig, once
	Nodes   func(ctx context.Context, kubeconfig []byte) ([]Node, error) // asks the API server itself
	Now     func() time.Time
}

// Arrival is what came.
type Arrival struct {
	Kubeconfig bool     // it was handed over
	Direct     bool     // the API server answers here
	Missing    []string // what did not come in time, a sentence each
}

// Await waits until the API server answers and each pool has its min of Ready nodes, and tells each. What the server says comes by run command; nodes
// come from the API server itself where it can be reached from here, else by run command as well. What is late is told with the verdict on its serial
// console. It may be interrupted and called again. An error with [ErrRunCommand] is that run commands are not allowed.
func (c *Cluster) Await(ctx context.Context, how Awaiting) (Arrival, error) {
	w := &wait{Cluster: c, how: how, began: how.Now(), examined: map[string]bool{}, ready: map[string]bool{}}
	if err := w.server(ctx); err != nil || !w.arrival.Kubeconfig {
		return w.arrival, err
	}
	err := w.nodes(ctx)
	return w.arrival, err
}

// wait is one Await.
type wait struct {
	*Cluster
	how        Awaiting
	began      time.Time
	arrival    Arrival
	kubeconfig []byte
	told       string          // the last that the server was told to do
	examined   map[string]bool // machines whose consoles were read
	ready      map[string]bool // nodes, told as Ready
	looked     bool            // nodes were read once
	distant    bool            // it was told that the API server is not reached from here
}

func (w *wait) over() bool { return w.how.Now().Sub(w.began) >= w.how.For }

// once tells what is another thing than the last time.
func (w *wait) once(text string) {
	if text != w.told {
		w.Say(text)
	}
	w.told = text
}

// server waits for the API server, and hands the kubeconfig over.
func (w *wait) server(ctx context.Context) error {
	to, err := newRecipient()
	if err != nil {
		return err
	}
	w.once("the server is asked by run command, which answers within minutes")
	for {
		asking, done := context.WithTimeout(ctx, max(w.how.For-w.how.Now().Sub(w.began), leastAsked))
		s, err := w.askServer(asking, to.pem)
		late := asking.Err() != nil
		done()
		problem := ""
		switch {
		case errors.Is(err, ErrRunCommand) || ctx.Err() != nil:
			return err
		case late && err != nil:
			problem = "the server has not answered the run command: is its machine running?"
		case err != nil:
			problem = "the server answers no run command yet: " + err.Error()
		case s.ready && len(s.sealed) > 0:
			return w.handOver(to, s.sealed)
		case s.ready:
			problem = "the API server answers, but the server cannot seal its kubeconfig: is openssl there?"
		case s.unit == "failed":
			problem = fmt.Sprintf("sluice-server.service on the server failed (%s): %s", s.result, s.line)
		case s.cloudInit == "error":
			problem = "cloud-init on the server failed: cloud-init status --long tells the step"
		case s.line != "":
			problem = "the server: " + strings.TrimPrefix(s.line, "sluice: ")
		default:
			problem = "the server boots"
		}
		w.once(problem)
		if w.how.Now().Sub(w.began) >= serverUsual {
			w.examine(ctx, w.serverID(), "the server "+w.File.ServerName())
		}
		if w.over() {
			w.arrival.Missing = append(w.arrival.Missing, "the API server does not answer: the cause is said above")
			return nil
		}
		if err := w.Wait(ctx, askPause); err != nil {
			return err
		}
	}
}

func (w *wait) handOver(to *recipient, sealed []byte) error {
	text, err := to.open(sealed)
	if err != nil {
		return err
	}
	if w.kubeconfig, err = Kubeconfig(text, w.File.Name, w.how.Address); err != nil {
		return err
	}
	w.Say("the API server answers")
	w.arrival.Kubeconfig = true
	return w.how.Keep(w.kubeconfig)
}

// pool is what is awaited of one pool.
type pool struct {
	*clusterfile.Pool
	set  string // path of its scale set
	want int    // Ready nodes
	has  int
}

// awaited are the pools with what each must have: its min, or what its scale set is asked for where that is less. sluice raises a pool that was there
// to a new min only as it needs machines.
func (w *wait) awaited(ctx context.Context) ([]pool, error) {
	var all []pool
	for i := range w.File.Pools {
		p := pool{Pool: &w.File.Pools[i]}
		p.set = w.scaleSet(p.Pool)
		var set struct {
			SKU struct {
				Capacity int `json:"capacity"`
			} `json:"sku"`
		}
		if _, err := w.Cloud.Get(ctx, p.set, computeVersion, &set); err != nil {
			return nil, err
		}
		p.want = min(p.Min, set.SKU.Capacity)
		all = append(all, p)
	}
	return all, nil
}

// scaleSet is the path of a pool's scale set.
func (c *Cluster) scaleSet(p *clusterfile.Pool) string {
	return c.group(c.File.ResourceGroup) + "/providers/Microsoft.Compute/virtualMachineScaleSets/" + c.File.ScaleSet(p)
}

// nodes waits for the nodes.
func (w *wait) nodes(ctx context.Context) error {
	pools, err := w.awaited(ctx)
	if err != nil {
		return err
	}
	for {
		all, pause, err := w.read(ctx)
		if errors.Is(err, ErrRunCommand) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			w.once("the nodes cannot be read now: " + err.Error())
		} else if w.count(pools, all) {
			return nil
		}
		for i := range pools {
			if pools[i].has < pools[i].want {
				if err := w.late(ctx, &pools[i]); err != nil {
					return err
				}
			}
		}
		if w.over() {
			w.missing(pools, err)
			return nil
		}
		if err := w.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// missing says what did not come in time.
func (w *wait) missing(pools []pool, unread error) {
	if unread != nil {
		w.arrival.Missing = append(w.arrival.Missing, "the nodes cannot be read: the cause is said above")
		return
	}
	for _, p := range pools {
		if p.has < p.want {
			w.arrival.Missing = append(w.arrival.Missing, fmt.Sprintf("pool %s has %d Ready nodes of %d", p.Name, p.has, p.want))
		}
	}
}

// read reads the nodes from the API server, or by run command where it does not answer here.
func (w *wait) read(ctx context.Context) ([]Node, time.Duration, error) {
	all, err := w.how.Nodes(ctx, w.kubeconfig)
	if err == nil {
		w.arrival.Direct = true
		return all, nodesPause, nil
	}
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	if w.arrival.Direct = false; !w.distant {
		w.distant = true
		w.Say("the API server at " + w.how.Address + " does not answer here (" + err.Error() + "): the server is asked for the nodes by run command")
	}
	s, err := w.askServer(ctx, "")
	if err == nil && !s.ready {
		err = errors.New("the API server does not answer")
	}
	return s.nodes, askPause, err
}

// count tells nodes that became Ready, and says whether each pool has what it must have.
func (w *wait) count(pools []pool, all []Node) bool {
	for i := range pools {
		pools[i].has = 0
	}
	slices.SortFunc(all, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	var fresh []string
	for _, n := range all {
		if !n.Ready {
			continue
		}
		line := "node " + n.Name + " is Ready"
		if p := poolOf(pools, w.File.Name, n.Name); p != nil {
			p.has++
			line += fmt.Sprintf(" (pool %s: %d, min %d)", p.Name, p.has, p.Min)
		}
		if !w.ready[n.Name] {
			w.ready[n.Name] = true
			fresh = append(fresh, line)
		}
	}
	if !w.looked && len(fresh) > mostNamed {
		fresh = []string{fmt.Sprintf("%d nodes are Ready", len(fresh))}
	}
	w.looked = true
	for _, line := range fresh {
		w.Say(line)
	}
	return !slices.ContainsFunc(pools, func(p pool) bool { return p.has < p.want })
}

// poolOf is the pool of a node, nil for none. The name of a machine begins with that of its scale set; pool a must not take the nodes of pool a-b.
func poolOf(pools []pool, cluster, node string) (of *pool) {
	for i := range pools {
		p := &pools[i]
		if strings.HasPrefix(node, strings.ToLower(cluster+"-"+p.Name)+"-") && (of == nil || len(p.Name) > len(of.Name)) {
			of = p
		}
	}
	return of
}

// machine is a machine of a pool.
type machine struct {
	ID         string `json:"id"`
	Properties struct {
		Created time.Time `json:"timeCreated"`
		State   string    `json:"provisioningState"`
		UID     string    `json:"vmId"`
		OS      struct {
			Name string `json:"computerName"`
		} `json:"osProfile"`
	} `json:"properties"`
}

// machines are the machines of a pool.
func (c *Cluster) machinesOf(ctx context.Context, p *clusterfile.Pool) (all []machine, err error) {
	path, query := c.scaleSet(p)+"/virtualMachines", url.Values(nil)
	if p.Orchestration == clusterfile.Flexible {
		path = c.group(c.File.ResourceGroup) + "/providers/Microsoft.Compute/virtualMachines"
		query = url.Values{"$filter": {"'virtualMachineScaleSet/id' eq '" + c.scaleSet(p) + "'"}}
	}
	raw, err := c.Cloud.List(ctx, path, computeVersion, query)
	if err != nil {
		return nil, err
	}
	for _, one := range raw {
		var m machine
		if err := json.Unmarshal(one, &m); err != nil {
			return nil, fmt.Errorf("read the machines of pool %s: %w", p.Name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// late examines the machines of a pool that should be nodes by now.
func (w *wait) late(ctx context.Context, p *pool) error {
	if w.how.Now().Sub(w.began) < machineUsual/2 { // a repeated up gives old machines some time, too
		return nil
	}
	examined := 0
	for id := range w.examined {
		if strings.HasPrefix(id, p.Name+" ") {
			examined++
		}
	}
	if examined >= mostExamined {
		return nil
	}
	all, err := w.machinesOf(ctx, p.Pool)
	if err != nil {
		w.once("the machines of pool " + p.Name + " cannot be read now: " + err.Error())
		return ctx.Err()
	}
	for _, m := range all {
		name := strings.ToLower(m.Properties.OS.Name)
		if w.ready[name] || w.how.Now().Sub(m.Properties.Created) < machineUsual || examined >= mostExamined || w.examined[p.Name+" "+m.ID] {
			continue
		}
		w.examined[p.Name+" "+m.ID] = true
		examined++
		w.examine(ctx, m.ID, fmt.Sprintf("machine %s of pool %s", name, p.Name))
	}
	return ctx.Err()
}

// examine tells once what Azure knows of a machine that is late, and the end of its serial console.
func (w *wait) examine(ctx context.Context, id, whom string) {
	if w.examined[id] {
		return
	}
	w.examined[id] = true
	d := w.Cloud.Examine(ctx, id)
	switch {
	case d == nil:
		w.examined[id] = false // there was no answer: the next time
		return
	case d.Cause != "":
		w.Say(fmt.Sprintf("%s is late: %s; %s", whom, d.Cause, d.Remedy))
	case d.Problem != "" && len(d.Lines) == 0:
		w.Say(whom + " is late, and says nothing: " + d.Problem)
	default:
		w.Say(whom + " is late; the end of its serial console:")
	}
	for _, status := range d.Statuses {
		w.Say("  " + status)
	}
	for _, line := range d.Lines[max(0, len(d.Lines)-mostLines):] {
		w.Say("  " + line)
	}
}

// mostLines is how much of a console is told.
const mostLines = 6
