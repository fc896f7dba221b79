package azure

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
)

// ownDeployment is how the names of sluice's deployments begin: as those of cluster-autoscaler do, so that either prunes the other's.
const ownDeployment = "cluster-autoscaler-"

// comingFor is how long a deployment's machines are waited for that nobody follows and that do not appear.
const comingFor = 30 * time.Minute

// growth is a deployment in flight, or one that has ended and whose machines lists may still lack.
type growth struct {
	Deployment string    `json:"deployment"`
	Pool       string    `json:"pool"`
	First      int       `json:"first"` // number of the first machine that it makes
	Machines   int       `json:"machines"`
	Begun      time.Time `json:"begun"`
	Token      string    `json:"token,omitempty"`  // of the SDK
	Over       time.Time `json:"over,omitzero"`    // its end was heard; zero: it was not
	Failed     bool      `json:"failed,omitempty"` // and was a failure: what it has not made does not come

	followed bool         // its end will be heard
	seen     map[int]bool // numbers of its machines that a list has had
}

// token is the growth as it is handed on.
func (g *growth) token() string {
	raw, _ := json.Marshal(g) // strings, numbers and times always encode
	return string(raw)
}

// forgets says whether a growth's machines are waited for no longer: those of one that has failed, or ended so long ago that lists are as new, or that
// nobody follows and that takes longer than any.
func (g *growth) forgets(now time.Time) bool {
	if !g.Over.IsZero() {
		return g.Failed || now.Sub(g.Over) >= believeFor
	}
	return now.Sub(g.Begun) > comingFor
}

// coming are the numbers of the machines that deployments will make, or have made a moment ago, and that no list has had yet.
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
	for _, g := range s.growths.growing {
		if !strings.EqualFold(g.Pool, name) || g.forgets(s.now()) {
			continue
		}
		for index := g.First; index < g.First+g.Machines; index++ {
			if there[index] {
				if g.seen == nil {
					g.seen = map[int]bool{}
				}
				g.seen[index] = true
			}
			if !g.seen[index] {
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
	template, err := k.arm.template(ctx, k.replays.template)
	if err != nil {
		return nil, err
	}
	parameters, err := k.parameters()
	if err != nil {
		return nil, err
	}
	if template, parameters, err = replay(template, parameters, name, first, add); err != nil {
		return nil, invalid("TemplateUnfit", "deployment %q can't be replayed: %v", k.replays.template, err)
	}
	k.mu.Lock()
	g := k.growths.intended[strings.ToLower(name)]
	if g == nil || g.First != first || g.Machines != add {
		g = &growth{Deployment: ownDeployment + k.unique(), Pool: name, First: first, Machines: add}
	}
	delete(k.growths.intended, strings.ToLower(name))
	g.Begun, g.followed = k.now().UTC(), true
	k.growths.growing, k.prune = append(k.growths.growing, g), k.now()
	k.mu.Unlock()
	poller, resp, err := k.arm.deploy(ctx, g.Deployment, template, parameters) //nolint:bodyclose // the pipeline has read and closed it
	if err != nil {
		k.unanswered(g, err)
		return nil, err
	}
	a := accept(verbGrow, k.following(g, poller), resp)
	if g.Token, err = poller.ResumeToken(); err == nil {
		a.token = g.token()
	}
	wanted := *m
	wanted.capacity, wanted.version, wanted.provisioning = n, "", "Updating"
	a.model = &wanted
	return a, nil
}

// following is what is heard of a growth.
func (s *standard) following(g *growth, poller *runtime.Poller[deployed]) *lasting {
	return &lasting{poller: poller, ended: func(failed bool) { s.ended(g, failed) }, lost: func() { s.lost(g) }, result: func(ctx context.Context) error {
		_, err := poller.Result(ctx)
		return err
	}}
}

// unanswered leaves a growth to what the list of deployments tells of it, unless Azure has refused it. That a deployment of its name is active
// means that it was accepted, whatever became of the answer: nobody else gives it that name.
func (s *standard) unanswered(g *growth, err error) {
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || refused.StatusCode >= http.StatusInternalServerError || refused.ErrorCode == "DeploymentActiveAndUneditable" {
		s.lost(g)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.growths.growing = slices.DeleteFunc(s.growths.growing, func(other *growth) bool { return other == g })
}

// lost has the end of a growth looked for in the list of deployments.
func (s *standard) lost(g *growth) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.followed = false
	s.prune = sooner(s.prune, s.now().Add(pruneEvery))
}

// recordIntent implements [intentRecorder].
func (k *pool) recordIntent(name string, n int) (token string) {
	first, err := k.free(name)
	add := n - (&reading{machines: k.listed}).staying() - len(k.coming(name, k.members))
	if err != nil || add <= 0 {
		return ""
	}
	g := &growth{Deployment: ownDeployment + k.unique(), Pool: name, First: first, Machines: add, Begun: k.now().UTC()}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.growths.intended[strings.ToLower(name)] = g
	return g.token()
}

// asked implements [teller].
func (s *standard) asked(pool string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.growths.growing {
		last := g.Over
		if last.IsZero() {
			last = g.Begun.Add(s.now().Sub(g.Begun).Truncate(believeFor / 2))
		}
		if strings.EqualFold(g.Pool, pool) && s.now().Sub(last) < believeFor {
			all = append(all, g.token())
		}
	}
	return all
}

// merge implements [teller].
func (s *standard) merge(token string) {
	g := &growth{}
	if json.Unmarshal([]byte(token), g) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.growths.growing, func(other *growth) bool { return other.Deployment == g.Deployment }) {
		return
	}
	if now := s.now().UTC(); g.Begun.After(now) {
		g.Begun = now // by the clock of another machine
	}
	if s.growths.growing = append(s.growths.growing, g); g.Over.IsZero() {
		s.prune = s.now() // look for its end
	}
}

// free is the first of the numbers that no machine of the pool has, none is coming under or was asked for under lately, and none is leaving things behind under: what
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
	if last := k.known[strings.ToLower(name)]; last != nil && len(k.members) == 0 {
		first = max(first, last.free)
	}
	for _, g := range k.growths.growing { // also of one that has failed: it may have made some
		if strings.EqualFold(g.Pool, name) {
			first = max(first, g.First+g.Machines)
		}
	}
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
		s.growths.growing = append(slices.DeleteFunc(s.growths.growing, func(other *growth) bool { return other.Deployment == g.Deployment }), g)
		s.mu.Unlock()
		a := accept(v, s.following(g, poller), nil)
		a.token = token
		return a, nil
	case verbDelete, verbPark, verbStart:
		return s.refollow(ctx, v, token)
	}
	return nil, unresumable(v)
}

// ended notes that Azure has finished a deployment: its machines are there by now, or do not come.
func (s *standard) ended(g *growth, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.Over, g.Failed = s.now().UTC(), failed
	s.prune = s.now()
}

// adopt finds, once, the deployments that an earlier process began and that are still at it: their machines count as coming.
func (s *standard) adopt(ctx context.Context) error {
	s.mu.Lock()
	done := s.growths.adopted
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
	if s.growths.adopted {
		return nil
	}
	s.growths.adopted = true
	for _, d := range all {
		if !strings.HasPrefix(d.Name, ownDeployment) || !d.active() || slices.ContainsFunc(s.growths.growing, func(g *growth) bool { return g.Deployment == d.Name }) {
			continue
		}
		if g := s.read(d); g != nil {
			s.growths.growing = append(s.growths.growing, g)
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
	if s.replays.given != nil {
		return maps.Clone(s.replays.given), nil
	}
	raw, err := os.ReadFile(s.replays.file)
	if err != nil {
		return nil, invalid("ParametersMissing", "the parameters of deployment %q can't be read (%v): put them at %s under the key parameters, or give deploymentParameters in azure.json", s.replays.template, innermost(err), s.replays.file)
	}
	var file struct {
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Parameters == nil {
		return nil, invalid("ParametersUnreadable", "%s holds no JSON object with the key parameters: put the parameters of deployment %q there", s.replays.file, s.replays.template)
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

// lasting follows a write and says when it has ended, and how, or that Azure knows nothing of it.
type lasting struct {
	poller
	result func(context.Context) error
	ended  func(failed bool)
	lost   func()
}

func (l *lasting) Poll(ctx context.Context) (*http.Response, error) {
	resp, err := l.poller.Poll(ctx)
	switch {
	case missing(err):
		l.lost()
	case err == nil && l.Done():
		l.ended(!succeeded(resp))
	}
	return resp, err
}

// ResumeToken is none of the SDK's: the owner knows what else a later process needs.
func (l *lasting) ResumeToken() (string, error) { return "", nil }

// Result is the outcome.
func (l *lasting) Result(ctx context.Context) (deployed, error) { return deployed{}, l.result(ctx) }
