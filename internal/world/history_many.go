package world

import (
	"fmt"
	"math/rand/v2"
)

// masses is a history of what strikes many machines at once, and lasts for hours. Its luck is its own, so that other histories stay what they are. All that it
// is judged by stands in the script, with nothing left to a default.
type masses struct {
	*rand.Rand
	history
	large  bool
	count  int      // of Deployments and Jobs
	webs   []string // Deployments that are there
	backup bool
}

// ManyHistory is a random history in which much goes wrong at once: Node objects deleted, kubelets silent, an older store restored, machines that never join, pods
// that vanish, bursts of load. Large has groups of 50 to 200 machines.
func ManyHistory(seed uint64, large bool) []byte {
	m := &masses{Rand: rand.New(rand.NewPCG(seed, 0x60)), large: large}
	m.say("# History %d of many at once.", seed)
	m.farm()
	m.say("advance 30m") // the first minutes are forgotten
	for range 3 + m.IntN(3) {
		m.wave()
	}
	m.rest()
	return []byte(m.text.String())
}

func (m *masses) oneOf(words ...string) string { return words[m.IntN(len(words))] }

func (m *masses) amid(low, high int) int { return low + m.IntN(high-low+1) }

func (m *masses) half() bool { return m.IntN(2) == 0 }

// farm is two groups: one that is struck, and one that nothing strikes, in which everything goes on.
func (m *masses) farm() {
	m.say("policy scale-down-unneeded-time=%s scale-down-unready-time=%s scale-down-delay-after-add=1m emptied-window=10m max-emptied-percentage=5 max-node-provision-time=15m",
		m.oneOf("4m", "10m"), m.oneOf("10m", "20m"))
	m.say("timing resync=%s boot=90s join=30s", m.oneOf("30s", "60s"))
	least, machines := m.IntN(4), m.amid(12, 30)
	if m.large {
		machines = m.amid(50, 200)
	}
	m.say("group struck size=Standard_D4s_v5 min=%d max=%d machines=%d zones=1,2%s", least, machines+machines/4, machines, m.oneOf("", " mode=flexible", " removal=deallocate", " provider-id=k3s"))
	m.say("group calm size=Standard_D8s_v5 min=%d max=%d machines=%d", 1, 6, 2)
	m.say("calm calm within=20m")
	for range m.amid(1, 3) {
		m.deploy(machines)
	}
	for n := range m.amid(0, machines/4) {
		m.say("pod base%d-0 cpu=3 owner=job on=struck_%d", n, n)
	}
}

// deploy is a Deployment whose pods fill so many machines, about, or less.
func (m *masses) deploy(machines int) {
	m.count++
	name := fmt.Sprintf("web%d", m.count)
	m.webs = append(m.webs, name)
	m.say("deployment %s replicas=%d cpu=%s", name, m.amid(1, max(1, machines/2)), m.oneOf("1", "2", "3"))
}

// wave is one thing that strikes many, often with another one, and some hours.
func (m *masses) wave() {
	for range 1 + m.IntN(2) {
		m.strike()
		m.say("advance %ds", m.amid(5, 600))
	}
	if m.IntN(3) == 0 {
		m.say("restart operations=%s", m.oneOf("kept", "kept", "lost"))
	}
	if m.half() {
		m.say("pod p%d-0 cpu=6", m.next()) // that the group which nothing strikes takes
	}
	m.say("advance %dm", m.amid(20, 90))
	switch m.IntN(3) {
	case 0:
		m.say("acknowledge %s", m.oneOf("struck", "all"))
	case 1:
		m.say("revive struck share=%d", m.amid(30, 100))
	}
	m.say("advance %dm", m.amid(30, 180))
}

func (m *masses) next() int { m.count++; return m.count }

// where is how many of them are struck.
func (m *masses) where() string {
	return m.oneOf("", " share=50", " share=20", " share=10", " zone=1", " zone=2 share=80")
}

func (m *masses) strike() {
	switch m.IntN(10) {
	case 0, 1:
		m.say("lose nodes struck%s", m.where())
	case 2, 3:
		m.say("lose kubelets struck%s", m.where())
	case 4:
		if m.backup = !m.backup; m.backup {
			m.say("backup")
			return
		}
		m.say("restore")
	case 5:
		m.say("fault %s group=struck times=%d", m.oneOf("never-joins", "never-boots"), m.amid(2, 8))
		m.say("job burst%d pods=%d cpu=3 runs=%s", m.next(), m.amid(2, 12), m.oneOf("10m", "1h"))
	case 6:
		m.say("job burst%d pods=%d cpu=%s runs=%s", m.next(), m.amid(5, 40), m.oneOf("1", "3"), m.oneOf("5m", "20m", "1h"))
	case 7: // an HPA without metrics
		m.say("scale %s 0", m.webs[m.IntN(len(m.webs))])
	case 8:
		m.say("scale %s %d", m.webs[m.IntN(len(m.webs))], m.amid(1, 60))
	case 9:
		if len(m.webs) > 1 {
			at := m.IntN(len(m.webs))
			m.say("delete deployment %s", m.webs[at])
			m.webs = append(m.webs[:at:at], m.webs[at+1:]...)
		}
	}
}

// rest ends all trouble; hours later everything has come to rest.
func (m *masses) rest() {
	m.say("heal")
	m.say("revive struck")
	m.say("advance 2m")
	m.say("acknowledge all")
	m.say("advance 4h")
	m.say("settled scarce=true")
}
