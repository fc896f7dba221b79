package workload

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Service is one Deployment of the steady cluster: replicas that are alike.
type Service struct {
	Name     string
	Milli    int64 // CPU
	MiB      int64
	Replicas int
	Pool     string // "" for any
}

// Host is one node of the steady cluster.
type Host struct {
	Set  int // of 8 scale sets
	No   int // within the scale set
	Size string
	Pool string
	Zone int // 1 to 3
}

// Step is one pod that appears or goes.
type Step struct {
	Millis  int64 // since the beginning; 0 for the pods that are there
	Gone    bool
	Service int // index
	Replica int
}

// Steady is the cluster of services: who runs where it may, and an hour of rolling updates and resizes.
type Steady struct {
	Hosts    []Host
	Services []Service
	Steps    []Step // by time, then by service and replica
}

const (
	services = 1200
	sets     = 8
)

// NewSteady draws the cluster of a seed for so many nodes; 5,000 are the reference. Per service are drawn in this order: CPU, memory
// per core, replicas (lognormal, median 56 at 5,000 nodes, sigma 1, 2 to 2,000), whether it wants a pool (2 of 10), which one. Then, every ten
// seconds for an hour: a service, which replaces 5 % of its replicas; or in each full minute a service that grows or shrinks by 20 %.
func NewSteady(seed uint64, nodes int) *Steady {
	c := NewChance(seed)
	s := &Steady{}
	for i := range services {
		milli := one[int64](c, 100, 100, 250, 250, 500, 500, 1000, 2000)
		mib := milli * one[int64](c, 1, 2, 4, 4) * 1024 / 1000
		replicas := int(math.Round(c.LogNormal(56, 1) * float64(nodes) / 5000))
		pool := ""
		if c.Below(10) < 2 {
			pool = fmt.Sprintf("pool%d", c.Below(4))
		}
		s.Services = append(s.Services, Service{fmt.Sprintf("dep-%04d", i), milli, mib, max(2, min(replicas, 2000)), pool})
	}
	for i := range nodes {
		h := Host{Set: i % sets, No: i / sets, Size: "Standard_D16s_v5", Pool: fmt.Sprintf("pool%d", i%sets%4), Zone: 1 + i%3}
		switch h.Set {
		case 6:
			h.Size = "Standard_E16s_v5"
		case 7:
			h.Size = "Standard_D32s_v5"
		}
		s.Hosts = append(s.Hosts, h)
	}
	s.begin()
	s.churn(c)
	slices.SortStableFunc(s.Steps, func(a, b Step) int {
		if a.Millis != b.Millis {
			return int(a.Millis - b.Millis)
		}
		return strings.Compare(s.pod(a), s.pod(b))
	})
	return s
}

func (s *Steady) begin() {
	for i, of := range s.Services {
		for j := range of.Replicas {
			s.Steps = append(s.Steps, Step{Service: i, Replica: j})
		}
	}
}

// churn replaces the oldest replicas by new ones, which come 5 s earlier than those go. A service keeps one replica.
func (s *Steady) churn(c *Chance) {
	type span struct{ oldest, next int }
	live := make([]span, len(s.Services))
	for i, of := range s.Services {
		live[i].next = of.Replicas
	}
	for second := int64(10); second < 3600; second += 10 {
		i := c.Below(len(live))
		l := &live[i]
		share, grows, shrinks := 20, true, true
		if second%60 == 0 {
			share = 5
			grows = c.Below(2) == 0
			shrinks = !grows
		}
		for range max(1, (l.next-l.oldest)/share) {
			if grows {
				s.Steps = append(s.Steps, Step{Millis: second * 1000, Service: i, Replica: l.next})
				l.next++
			}
			if shrinks && l.oldest < l.next-1 {
				s.Steps = append(s.Steps, Step{Millis: second*1000 + 5000, Gone: true, Service: i, Replica: l.oldest})
				l.oldest++
			}
		}
	}
}

// pod is the name of the step's pod.
func (s *Steady) pod(t Step) string {
	return fmt.Sprintf("%s-%05d", s.Services[t.Service].Name, t.Replica)
}

// Initial counts the pods that are there at the beginning.
func (s *Steady) Initial() int {
	n, _ := slices.BinarySearchFunc(s.Steps, 1, func(t Step, millis int64) int { return int(t.Millis - millis) })
	return n
}

// WriteSteps writes all steps as rows "t_ms,op,id,owner,kind,cpu_m,mem_mib,gpu,dur_ms,pool,tolerates,evictable".
func (s *Steady) WriteSteps(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "t_ms,op,id,owner,kind,cpu_m,mem_mib,gpu,dur_ms,pool,tolerates,evictable"); err != nil {
		return err
	}
	for _, t := range s.Steps {
		of := s.Services[t.Service]
		row := fmt.Sprintf("create,%s,%s,ReplicaSet,%d,%d,0,-1,%s,,true", s.pod(t), of.Name, of.Milli, of.MiB, of.Pool)
		if t.Gone {
			row = fmt.Sprintf("delete,%s,%s,ReplicaSet,0,0,0,-1,,,false", s.pod(t), of.Name)
		}
		if _, err := fmt.Fprintf(w, "%d,%s\n", t.Millis, row); err != nil {
			return err
		}
	}
	return nil
}

// WriteHosts writes all nodes as rows "node,size,pool,zone".
func (s *Steady) WriteHosts(w io.Writer) error {
	if _, err := fmt.Fprintln(w, "node,size,pool,zone"); err != nil {
		return err
	}
	for _, h := range s.Hosts {
		if _, err := fmt.Fprintf(w, "vmss%d_%d,%s,%s,zone%d\n", h.Set, h.No, h.Size, h.Pool, h.Zone); err != nil {
			return err
		}
	}
	return nil
}
