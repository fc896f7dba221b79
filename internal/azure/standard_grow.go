package azure

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
)

// ownDeployment is how the names of sluice's deployments begin: as those of cluster-autoscaler do, so that either prunes the other's.
const ownDeployment = "cluster-autoscaler-"

// comingFor is how long a deployment's machines are waited for that nobody follows and that do not appear.
const comingFor = 30 * time.Minute

// growth is a deployment in flight.
type growth struct {
	Deployment string    `json:"deployment"`
	Pool       string    `json:"pool"`
	First      int       `json:"first"` // number of the first machine that it makes
	Machines   int       `json:"machines"`
	Begun      time.Time `json:"begun"`
	Token      string    `json:"token"` // of the SDK

	followed bool // its end will be heard
}

// coming are the numbers of the machines that deployments in flight will make and that are not there yet.
func (s *standard) coming(name string, vms []*armcompute.VirtualMachine) []int {
	there := map[int]bool{}
	for _, vm := range vms {
		if index, ok := indexOf(val(vm.Name)); ok {
			there[index] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var coming []int
	for _, g := range s.growing {
		if !strings.EqualFold(g.Pool, name) || s.now().Sub(g.Begun) > comingFor {
			continue
		}
		for index := g.First; index < g.First+g.Machines; index++ {
			if !there[index] {
				coming = append(coming, index)
			}
		}
	}
	return coming
}

// grow replays the deployment for the numbers behind the highest one, gaps left as they are, so that exactly as many machines are new as
// are wanted. It sends what the deployment had, less what must not be written again.
func (k *pool) grow(ctx context.Context, name, version string, n int) (*accepted, error) {
	m, now, err := k.fresh(ctx, name, version)
	if err != nil {
		return nil, err
	}
	first, err := now.free(name)
	if err != nil {
		return nil, err
	}
	add := n - m.capacity
	if add <= 0 {
		return nil, &cloud.Error{Kind: cloud.Conflict, Code: "PoolMoved", Message: fmt.Sprintf("node pool %q has %d machines by now", name, m.capacity)}
	}
	template, err := k.arm.template(ctx, k.template)
	if err != nil {
		return nil, err
	}
	parameters, err := k.parameters()
	if err != nil {
		return nil, err
	}
	if template, parameters, err = replay(template, parameters, name, first, add); err != nil {
		return nil, invalid("TemplateUnfit", "deployment %q can't be replayed: %v", k.template, err)
	}
	g := &growth{Deployment: ownDeployment + unique(), Pool: name, First: first, Machines: add, Begun: k.now().UTC(), followed: true}
	poller, resp, err := k.arm.deploy(ctx, g.Deployment, template, parameters) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		return nil, err
	}
	a := accept(verbGrow, &lasting{poller: poller, ended: func() { k.ended(g) }, result: func(ctx context.Context) error { _, err := poller.Result(ctx); return err }}, resp)
	if g.Token, err = poller.ResumeToken(); err == nil {
		raw, _ := json.Marshal(g) // strings, numbers and times always encode
		a.token = string(raw)
	}
	k.mu.Lock()
	k.growing = append(k.growing, g)
	k.prune = k.now()
	k.mu.Unlock()
	wanted := *m
	wanted.capacity, wanted.version, wanted.provisioning = n, "", "Updating"
	a.model = &wanted
	return a, nil
}

// free is the first of the numbers that no machine of the pool has, none is coming under, and none is leaving things behind under: what
// belongs to a machine is named by its number, too.
func (k *pool) free(name string) (int, error) {
	first := 0
	for _, index := range k.coming(name, k.members) {
		first = max(first, index+1)
	}
	series := map[string]bool{}
	for _, vm := range k.members {
		index, ok := indexOf(val(vm.Name))
		if !ok {
			return 0, invalid("NameWithoutNumber", "machine %q of node pool %q has no number in its name, so that no free one can be told", val(vm.Name), name)
		}
		first = max(first, index+1)
		series[seriesOf(val(vm.Name))] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, leaving := range k.removing {
		if index, ok := indexOf(leaving); ok && series[seriesOf(leaving)] {
			first = max(first, index+1)
		}
	}
	return first, nil
}

// resume goes on with a write of an earlier process.
func (s *standard) resume(ctx context.Context, _ string, v verb, token string) (*accepted, error) {
	switch v {
	case verbGrow:
		g := &growth{}
		if err := json.Unmarshal([]byte(token), g); err != nil {
			return nil, err
		}
		poller, err := s.arm.resumeDeployment(g.Token)
		if err != nil {
			return nil, err
		}
		g.followed = true
		s.mu.Lock()
		s.growing = append(slices.DeleteFunc(s.growing, func(other *growth) bool { return other.Deployment == g.Deployment }), g)
		s.mu.Unlock()
		a := accept(v, &lasting{poller: poller, ended: func() { s.ended(g) }, result: func(ctx context.Context) error { _, err := poller.Result(ctx); return err }}, nil)
		a.token = token
		return a, nil
	case verbDelete, verbPark, verbStart:
		return s.refollow(ctx, v, token)
	}
	return nil, unresumable(v)
}

// ended drops a deployment that Azure has finished: its machines are there by now, or do not come.
func (s *standard) ended(g *growth) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.growing = slices.DeleteFunc(s.growing, func(other *growth) bool { return other.Deployment == g.Deployment })
	s.prune = s.now()
}

// adopt finds, once, the deployments that an earlier process began and that are still at it: their machines count as coming.
func (s *standard) adopt(ctx context.Context) error {
	s.mu.Lock()
	done := s.adopted
	s.mu.Unlock()
	if done {
		return nil
	}
	all, err := s.arm.deployments(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.adopted {
		return nil
	}
	s.adopted = true
	for _, d := range all {
		if !strings.HasPrefix(d.Name, ownDeployment) || !d.active() || slices.ContainsFunc(s.growing, func(g *growth) bool { return g.Deployment == d.Name }) {
			continue
		}
		if g := s.read(d); g != nil {
			s.growing = append(s.growing, g)
			s.prune = s.now() // look again for its end
		}
	}
	return nil
}

// read finds the pool that a deployment of sluice's is to grow: the one it makes machines of.
func (s *standard) read(d *deployment) *growth {
	for _, name := range s.pools {
		count, hasCount := numberOf(d.Properties.Parameters[name+"Count"].Value)
		first, hasFirst := numberOf(d.Properties.Parameters[name+"Offset"].Value)
		if hasCount && hasFirst && count > first {
			return &growth{Deployment: d.Name, Pool: name, First: first, Machines: count - first, Begun: s.now().UTC()}
		}
	}
	return nil
}

// numberOf is a whole number in a JSON value.
func numberOf(v any) (int, bool) {
	f, ok := v.(float64)
	return int(f), ok && f >= 0 && f == float64(int(f))
}

// parameters are those of the configuration, or of the file. They are a copy: the caller may change it.
func (s *standard) parameters() (map[string]any, error) {
	if s.given != nil {
		return maps.Clone(s.given), nil
	}
	raw, err := os.ReadFile(s.file)
	if err != nil {
		return nil, invalid("ParametersMissing", "the parameters of deployment %q can't be read (%v): put them at %s under the key parameters, or give deploymentParameters in azure.json", s.template, innermost(err), s.file)
	}
	var file struct {
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Parameters == nil {
		return nil, invalid("ParametersUnreadable", "%s holds no JSON object with the key parameters: put the parameters of deployment %q there", s.file, s.template)
	}
	return file.Parameters, nil
}

func invalid(code, format string, args ...any) *cloud.Error {
	return &cloud.Error{Kind: cloud.Invalid, Code: code, Message: fmt.Sprintf(format, args...)}
}

// unique is a name that no deployment has.
func unique() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// lasting follows a write and says when it has ended.
type lasting struct {
	poller
	result func(context.Context) error
	ended  func()
}

func (l *lasting) Poll(ctx context.Context) (*http.Response, error) {
	resp, err := l.poller.Poll(ctx)
	if missing(err) || err == nil && l.Done() {
		l.ended()
	}
	return resp, err
}

// ResumeToken is none of the SDK's: the owner knows what else a later process needs.
func (l *lasting) ResumeToken() (string, error) { return "", nil }

// Result is the outcome.
func (l *lasting) Result(ctx context.Context) (deployed, error) { return deployed{}, l.result(ctx) }
