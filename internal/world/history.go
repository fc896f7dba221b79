package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// History is a random scenario: farms, loads and a run of luck that nobody thought of. A seed is one history, the same for ever on one version
// of sluice; [Run] with the same seed replays it. It is at least an hour long, and ends with a calm in which everything must come to rest.
func History(seed uint64) []byte {
	return (&history{luck: rand.New(rand.NewPCG(seed, 0x51))}).script(seed)
}

// KilledHistory is the history of a seed in which sluice is killed once, right after its nth write, instead of at random. Where n is odd the next
// process knows the operations in flight of the one before; where it is even it does not, unless it needs them to know the truth.
func KilledHistory(seed uint64, n int) []byte {
	return (&history{luck: rand.New(rand.NewPCG(seed, 0x51)), kill: n}).script(seed)
}

func (h *history) script(seed uint64) []byte {
	h.say("# History %d.", seed)
	if h.reckless {
		h.say("reckless")
	}
	h.acted = -shortest // nobody has
	h.standard = seed%13 == 8
	if seed%8 == 5 {
		h.workers = &workers{Rand: rand.New(rand.NewPCG(seed, 0x56))}
	}
	h.farm()
	if seed%7 == 3 && !h.standard {
		h.neighbour = rand.New(rand.NewPCG(seed, 0x53))
		h.say("group others size=Standard_D4s_v5 min=0 max=6 machines=%d elsewhere=true taint=team=others:NoSchedule", h.neighbour.IntN(4))
	}
	if seed%9 == 4 && !h.standard {
		h.crown = rand.New(rand.NewPCG(seed, 0x54))
		h.say("policy remove-control-plane-nodes=true")
		h.say("group masters size=Standard_D4s_v5 min=%d max=5 machines=%d label=node-role.kubernetes.io/control-plane= taint=node-role.kubernetes.io/control-plane=:NoSchedule",
			h.crown.IntN(2), 3+h.crown.IntN(3))
	}
	if seed%11 == 6 {
		h.operator(seed)
	}
	h.say("advance 1s")
	if h.kill > 0 {
		h.say("kill %d operations=%s", h.kill, h.left(h.kill%2 == 1))
	}
	for h.lasted < shortest {
		h.event()
		h.neighbours()
		h.reign()
		h.asks()
		h.labour()
		seconds := 1 + h.upTo(h.oneOf(5, 30, 120, 400))
		h.lasted += seconds
		h.say("advance %ds", seconds)
	}
	h.calm()
	return []byte(h.text.String())
}

// How long a history lasts: so many seconds at least of luck, and this calm. A pod may have to wait for the end of the longest back-off (10m), for a machine
// whose kubelet is dead (8m), for the back-off after it (10m) and for a machine (4m), run for 20m, and leave a node that goes after 10m of idleness and
// a few minutes of removal; ten minutes of peace come after that.
const (
	shortest     = 1800
	calm         = "80m"
	mostArmed    = 60 // seconds
	evictsWithin = 30 // seconds
)

// history is one that is being written.
type history struct {
	luck     *rand.Rand
	text     strings.Builder
	groups   []string
	pods     int
	lasted   int                 // seconds of luck until now
	blind    int                 // until then reads are old
	acted    int                 // when somebody, or Azure's wish to have spot machines back, last changed what reads tell
	scarce   bool                // Azure has fewer cores than the groups may have
	found    bool                // sluice finds the groups by their tags
	standard bool                // groups are pools of availability sets
	liar     bool                // lists and capacity may agree on a lie; what else could tell the truth is left alone then
	mute     []string            // groups whose nodes bear provider ids that tell nothing of their machines
	undo     []string            // what the calm begins with
	doubted  map[string][]string // what tells of a group\'s machines no more for certain, by group

	asked     *asked     // nil for nothing
	crown     *rand.Rand // of control-plane machines that sluice may remove; nil for none
	workers   *workers   // of DaemonSets; nil for none
	neighbour *rand.Rand // of another cluster, which has its machines where sluice looks for this one's; nil for none

	kill     int  // sluice is killed right after so many writes, and not at random; 0 for nothing of the kind
	reckless bool // sluice tries what it has not planned, and is led into more of it
}

func (h *history) say(format string, args ...any) { fmt.Fprintf(&h.text, format+"\n", args...) }

func (h *history) upTo(n int) int { return h.luck.IntN(n + 1) }

func (h *history) between(low, high int) int { return low + h.luck.IntN(high-low+1) }

func (h *history) oneOf(choices ...int) int { return choices[h.luck.IntN(len(choices))] }

func (h *history) pick(words ...string) string { return words[h.luck.IntN(len(words))] }

func (h *history) chance(oneIn int) bool { return h.luck.IntN(oneIn) == 0 }

func (h *history) group() string { return h.pick(h.groups...) }

// machine is one that may be there.
func (h *history) machine() string { return fmt.Sprintf("%s_%d", h.group(), h.upTo(5)) }

// farm says what there is when sluice starts.
func (h *history) farm() {
	h.say("policy scale-down-unneeded-time=%s scale-down-delay-after-add=%s scale-down-unready-time=5m max-drain-time=5m max-node-provision-time=8m max-node-startup-time=8m keep-failed-machine=10m",
		h.pick("1m", "4m", "10m"), h.pick("1s", "3m"))
	h.say("policy initial-node-group-backoff-duration=%s max-node-group-backoff-duration=10m", h.pick("1m", "5m"))
	h.say("policy emptied-window=%s", h.pick("30s", "2m", "10m"))
	h.say("timing resync=%s boot=%s join=%s", h.pick("10s", "20s", "30s", "60s"), h.pick("30s", "90s", "3m"), h.pick("5s", "30s"))
	if h.chance(3) {
		h.found = !h.standard
		if h.found {
			h.say("discover")
		}
	}
	h.liar = h.chance(3) || h.standard // there is no capacity that could tell that a list of a pool is wrong
	h.groups = []string{"agents", "render", "batch"}[:h.between(2, 3)]
	for _, g := range h.groups {
		least := h.oneOf(0, 0, 1, 2)
		mode, ids := h.pick("", " mode=flexible"), h.pick("", "", " reuse-ids=true")
		if mode != "" {
			ids = ""
		}
		removal, names := h.pick("", "", " removal=deallocate"), h.pick("", "", "", " provider-id=k3s", " provider-id=upper")
		if strings.HasSuffix(names, "k3s") {
			h.mute = append(h.mute, g)
		}
		size, most, machines := h.pick("Standard_D4s_v5", "Standard_D8s_v5"), h.between(3, 6), h.between(least, 3)
		zones, spot, late := h.pick("", "", " zones=1,2"), h.pick("", "", "", " spot=delete", " spot=deallocate"), h.pick("", "", "", "", "", " ready-after=6m", " ready-after=9m")
		if h.standard {
			machines, zones, mode, spot, ids = h.least(machines), "", " mode=availability-set", "", ""
		}
		h.say("group %s size=%s min=%d max=%d machines=%d%s%s%s%s%s%s%s%s", g, size, h.least(least), most, machines, zones, mode, removal, spot, names, ids, late, h.workplace(g))
	}
	if h.chance(5) {
		h.scarce = true
		h.say("quota cores %d", 8*h.between(4, 8))
	}
	if h.chance(8) || h.reckless && h.chance(4) {
		h.say("agents")
	}
	if h.reckless {
		h.say("storageclass disks default=true")
	}
	if h.chance(3) {
		h.say("node cp-0 label=node-role.kubernetes.io/control-plane= taint=node-role.kubernetes.io/control-plane=:NoSchedule")
	}
	for range h.upTo(4) {
		h.pod()
	}
	h.say("deployment web replicas=%d cpu=%s", h.upTo(6), h.pick("300m", "1", "2"))
}

// least is the least that a group may have: a pool needs a machine, which the next one is modelled on.
func (h *history) least(n int) int {
	if h.standard {
		return max(1, n)
	}
	return n
}

func (h *history) pod() {
	h.pods++
	h.say("pod p%d-0 cpu=%s%s%s", h.pods, h.pick("100m", "500m", "1500m", "3", "6"),
		h.pick("", "", " owner=job runs=3m", " owner=job runs=20m", " owner=none", " owner=statefulset"),
		h.pick("", "", "", " anti-affinity=hostname", " volume=empty-dir", " host-port=80", " grace=3m", " gate=sluice.dev/capacity",
			" annotation=cluster-autoscaler.kubernetes.io/safe-to-evict=false", " annotation=karpenter.sh/do-not-disrupt=true"))
	if h.chance(4) {
		h.say("budget p%d-0 min-available=1", h.pods)
	}
}

// event is something that happens: load comes or goes, somebody acts, or something breaks.
func (h *history) event() {
	kinds := []struct {
		weight int
		do     func(*history)
	}{{5, (*history).load}, {4, (*history).people}, {7, (*history).azureFault}, {3, (*history).apiFault}, {3, (*history).process}}
	if h.reckless && h.chance(4) {
		h.temptation()
		return
	}
	at := h.luck.IntN(22)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			k.do(h)
			return
		}
	}
}

// neighbours are the other cluster, whose own autoscaler wants more machines, or fewer.
func (h *history) neighbours() {
	if h.neighbour != nil && h.neighbour.IntN(3) == 0 {
		h.say("try resize others %d", h.neighbour.IntN(7))
	}
}

// reign is what becomes of control-plane machines that sluice may remove: somebody takes one away, and the API server calls its node Ready for a while.
func (h *history) reign() {
	if h.crown == nil || h.crown.IntN(5) > 0 {
		return
	}
	m := fmt.Sprintf("masters_%d", h.crown.IntN(5))
	switch what := h.crown.IntN(4); {
	case what == 0:
		h.say("try silence %s", m)
	case what == 1:
		h.say("try cordon %s", m)
		h.undo = append(h.undo, "uncordon "+m)
	case !h.sees(): // nobody knows of it then
	case what == 2:
		h.acts(0)
		h.say("try remove %s", m)
	case what == 3:
		h.acts(0)
		h.say("try deallocate %s", m)
		h.undo = append(h.undo, "start "+m)
	}
}

func (h *history) load() {
	switch h.upTo(5) {
	case 0, 1:
		h.pod()
	case 2, 3:
		h.say("scale web %d", h.upTo(9))
	case 4:
		h.pods++
		h.say("job j%d pods=%d cpu=%s runs=%s", h.pods, h.between(1, 4), h.pick("500m", "2", "3"), h.pick("1m", "5m", "15m"))
	case 5:
		h.say("try delete pod p%d-0", h.between(1, max(1, h.pods)))
	}
}

// sees says whether Azure's reads are new.
func (h *history) sees() bool { return h.lasted >= h.blind }

// acts notes that what reads tell changes within so many seconds: old reads would never have told it.
func (h *history) acts(within int) { h.acted = max(h.acted, h.lasted+within) }

// people are the hands of people and other programs. What they do that keeps sluice from working they take back in the end.
func (h *history) people() {
	g, m := h.group(), h.machine()
	switch h.upTo(15) {
	case 0, 1:
		if h.sees() { // what somebody made that no read shows yet cannot be counted
			n := h.upTo(6)
			h.acts(0)
			if h.chance(3) {
				h.acts(mostArmed)
				h.say("try resize %s %d when=writing within=%ds", g, n, mostArmed)
			} else {
				h.say("try resize %s %d", g, n)
			}
		}
	case 2:
		h.say("try touch %s", g)
	case 3:
		h.say("try cordon %s", m)
		h.undo = append(h.undo, "uncordon "+m)
	case 4:
		h.say("try uncordon %s", m)
	case 5:
		h.say("try taint %s team=a:NoSchedule", m)
		h.undo = append(h.undo, "untaint "+m+" team")
	case 6:
		h.say("try annotate %s cluster-autoscaler.kubernetes.io/scale-down-disabled=true", m)
		h.undo = append(h.undo, "annotate "+m+" cluster-autoscaler.kubernetes.io/scale-down-disabled=false")
	case 7:
		if h.sees() { // nor can a protection that no read shows yet be known
			h.acts(0)
			h.say("try protect %s", m)
			h.undo = append(h.undo, "unprotect "+m)
		}
	case 8:
		if h.sees() {
			h.acts(0)
			h.say("try remove %s", m)
		}
	case 9:
		if h.sees() {
			h.acts(0)
			h.say("try deallocate %s", m)
			h.undo = append(h.undo, "start "+m)
		}
	case 10:
		h.say("try delete node %s", m)
	case 11:
		if !h.found || h.sees() { // nor tags
			if h.found {
				h.acts(0)
			}
			least := h.least(h.upTo(2))
			h.say("limits %s min=%d max=%d", g, least, h.between(3, 6))
		}
	case 12:
		h.say("try lock %s level=%s", g, h.pick("delete", "readonly"))
		h.undo = append(h.undo, "unlock "+g)
	case 13:
		action := h.pick("virtualMachineScaleSets/write", "virtualMachineScaleSets/delete/action", "virtualMachineScaleSets/virtualMachines/read")
		if h.standard {
			action = map[string]string{
				"virtualMachineScaleSets/write": "virtualMachines/write", "virtualMachineScaleSets/delete/action": "virtualMachines/delete",
				"virtualMachineScaleSets/virtualMachines/read": "virtualMachines/read",
			}[action]
		}
		h.say("deny Microsoft.Compute/%s", action)
		h.undo = append(h.undo, "allow Microsoft.Compute/"+action)
	case 14:
		h.say("budget web max-unavailable=%d", h.upTo(1))
		h.say("advance %ds", h.between(1, 60))
		h.say("delete budget web")
	case 15:
		if h.sees() {
			h.acts(evictsWithin)
			h.say("try evict %s", m)
		}
	}
}

// azureFault is one of what Azure's answers and machines may do. Each strikes one group, so that the order of concurrent reads means nothing.
func (h *history) azureFault() {
	g := h.group()
	switch h.upTo(13) {
	case 0, 1:
		h.say("fault %s group=%s times=%d", h.pick("never-boots", "never-joins", "fails", "fails code=SkuNotAvailable"), g, h.between(1, 2))
	case 2:
		h.say("fault %s group=%s times=%d status=%s", h.pick("grow", "delete", "list"), g, h.between(1, 3), h.pick("409", "412", "500", "503"))
	case 3:
		h.say("fault throttled of=%s group=%s times=%d retry-after=%ds", h.pick("grow", "delete", "list"), g, h.between(1, 3), h.between(5, 300))
	case 4:
		what, times := h.pick("no-capacity", "capacity", "capacity count=2"), h.between(1, 4)
		if what == "no-capacity" || h.doubts(g, "capacity") {
			h.say("fault %s group=%s times=%d", what, g, times)
		}
	case 5:
		h.say("fault %s of=%s group=%s times=1", h.pick("lost-answer", "lost-request", "slow after=5s", "slow after=1m"), h.pick("grow", "delete", "list", "start", "deallocate"), g)
	case 6, 7:
		lasts, age := h.between(10, 400), h.oneOf(0, 60, 300)
		if h.lasted-age <= h.acted {
			return // nor can what nobody is told be known
		}
		h.blind = max(h.blind, h.lasted+lasts)
		if age == 0 {
			h.say("fault frozen for=%ds", lasts)
		} else {
			h.say("fault stale after=%ds for=%ds", age, lasts)
		}
	case 8:
		if h.found && h.chance(3) {
			h.say("fault %s of=groups times=%d", h.pick("short-list count=1", "empty-list", "half-answer", "refused status=500"), h.between(1, 4))
			return
		}
		if h.liar && h.chance(2) && !slices.Contains(h.mute, g) { // to a process that begins nothing would tell that this is not so
			times := h.between(2, 9)
			h.say("fault empty-list group=%s times=%d", g, times)
			h.say("fault capacity group=%s times=%d", g, times)
			return
		}
		what, times := h.pick("short-list count=1", "empty-list", "half-answer", "one-page count=1"), h.between(1, 4)
		if what == "half-answer" || h.doubts(g, "list") {
			h.say("fault %s group=%s times=%d", what, g, times)
		}
	case 9:
		h.say("fault twice of=%s group=%s times=1", h.pick("grow", "delete", "deallocate"), g)
	case 10:
		h.say("fault late of=delete group=%s times=1 after=%ds", g, h.between(1, 90)) // a late growth fails later, where nobody looks
	case 11:
		if h.chance(4) { // not of a deletion: the Node objects of its machines wait for its end as long as sluice waits
			h.say("fault operation fate=endless of=grow group=%s times=1", g)
			return
		}
		h.say("fault operation fate=%s of=%s group=%s times=1", h.pick("canceled", "failed code=AllocationFailed after=20s", "not-found"), h.pick("grow", "delete"), g)
	case 12:
		what := h.pick("survives", "never-deleted", "delete-fails", "slow-delete after=10m", "slow-boot after=9m")
		if h.liar && (what == "survives" || what == "delete-fails") {
			return // a machine whose deletion Azure has accepted, and which no list has, is gone for all that anybody knows
		}
		h.say("fault %s group=%s times=1", what, g)
	case 13:
		h.say("heal")
	}
}

// doubts notes that one of the three that tell of a group's machines tells it no more for certain: its capacity, its list or a kubelet. When all three do not,
// nobody can know: false says that this one had better not be the last, which a liar's history sees to by itself.
func (h *history) doubts(group, what string) bool {
	if h.liar {
		return true
	}
	if h.doubted == nil {
		h.doubted = map[string][]string{}
	}
	of := h.doubted[group]
	if slices.Contains(of, what) {
		return true
	}
	if len(of) == 2 {
		return false
	}
	h.doubted[group] = append(of, what)
	return true
}

// apiFault is what the API server may do.
func (h *history) apiFault() {
	switch h.upTo(10) {
	case 9:
		h.say("slow-api after=%s for=%ds", h.pick("1s", "4s", "12s", "25s"), h.between(20, 300))
	case 0:
		h.say("silent-api for=%ds", h.between(5, h.oneOf(50, 200)))
	case 1:
		if h.chance(3) { // client-go comes back by a clock that is not the world's
			h.say("cut %s", h.pick("pods", "nodes"))
			return
		}
		fallthrough
	default:
		h.say("api-fault %s of=%s times=%d", h.pick("conflict", "throttled", "broken", "forbidden", "lost-request", "lost-answer"),
			h.pick("cordon", "cordon", "evict", "delete-node", "gate"), h.between(1, 5))
	}
}

// process is what may become of sluice itself and of the machines' own processes.
func (h *history) process() {
	switch h.upTo(8) {
	case 8:
		h.say("lease left=%ds", h.between(3, 30))
	case 0, 1:
		h.say("restart operations=%s", h.record())
	case 2, 3:
		if n, record := h.between(1, 8), h.record(); h.kill == 0 {
			h.say("kill %d operations=%s", n, record)
		}
	case 4, 5:
		h.say("rival for=%ds", h.between(5, 120))
	case 6:
		h.say("skew %s%ds", h.pick("", "-"), h.between(1, 90))
	case 7:
		if !h.liar { // of a machine that Azure does not list and whose kubelet reports nothing nobody can know
			m := h.machine()
			if group, _, _ := strings.Cut(m, "_"); h.doubts(group, "kubelet") {
				h.say("try silence %s", m)
			}
		}
	}
}

func (h *history) record() string { return h.left(h.chance(2)) }

// left is what becomes of the record that a process leaves. Without it the next one knows of no machine that is no node yet but by Azure's answers.
func (h *history) left(kept bool) string {
	if kept || h.liar {
		return "kept"
	}
	return "lost"
}

// calm ends all trouble, has a person say that he knows what was lost, and gives everything the time that it needs.
func (h *history) calm() {
	h.say("heal")
	h.workers.rest(h)
	for _, act := range h.undo {
		h.say("try %s", act)
	}
	h.say("advance 2m")
	h.say("acknowledge all")
	h.say("advance %s", calm)
	h.say("settled%s", map[bool]string{true: " scarce=true"}[h.scarce])
}
