package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// ErrCut says that the last line of a journal is not whole, as after a crash. The entries before it are good.
var ErrCut = errors.New("the last line is cut off, as after a crash")

// ErrLong says that a line is longer than [Decoder.Most] allows. Nothing can be read behind it.
var ErrLong = errors.New("a cycle takes more room in the journal than may be read here")

// LineError says what is wrong with a line. The lines after it can be read on, from one on that can be understood alone.
type LineError struct {
	Line int
	Why  error // as a clause of which the line is the subject
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d %v", e.Line, e.Why) }

func (e *LineError) Unwrap() error { return e.Why }

// Decoder reads the entries of a journal in their order. It is not safe for concurrent use.
type Decoder struct {
	r      *bufio.Reader
	cut    []byte    // the beginning of a line of which there is no more yet
	until  time.Time // see [Decoder.Until]
	over   bool      // a line was later than that
	most   int       // see [Decoder.Most]
	line   int
	after  int // of the last line, see [record.After]
	begun  bool
	said   Line // by the last line
	policy *policy.Policy
	offers map[cluster.GroupID]*cluster.Sizes
	told   []action.Verdict
	fleet  fleet.Ledger
	groups tree
	parsed parsed // groups that were asked for
	memory tree
	seen   *cluster.Snapshot // of the last entry that was asked for, nil for none

	lacks            cluster.Lacks
	controllersKnown bool

	nodes      objects[*corev1.Node]
	pods       objects[*cluster.Pod]
	classes    cluster.Classes
	numbered   []*cluster.Class // see [alike]
	daemonSets objects[*appsv1.DaemonSet]
	budgets    objects[*policyv1.PodDisruptionBudget]
	namespaces objects[*corev1.Namespace]
	configMaps objects[*corev1.ConfigMap]

	persistentVolumeClaims objects[*corev1.PersistentVolumeClaim]
	persistentVolumes      objects[*corev1.PersistentVolume]
	storageClasses         objects[*storagev1.StorageClass]
	csiNodes               objects[*storagev1.CSINode]
	csiDrivers             objects[*storagev1.CSIDriver]
	csiStorageCapacities   objects[*storagev1.CSIStorageCapacity]
	volumeAttachments      objects[*storagev1.VolumeAttachment]
	deviceClasses          objects[*resourcev1.DeviceClass]
	resourceClaims         objects[*resourcev1.ResourceClaim]
	resourceSlices         objects[*resourcev1.ResourceSlice]
	podGroups              objects[*schedulingv1beta1.PodGroup]
	coschedulingGroups     objects[*cluster.CoschedulingGroup]
	capacityBuffers        objects[*cluster.CapacityBuffer]
	provisioningRequests   objects[*cluster.ProvisioningRequest]
	podTemplates           objects[*corev1.PodTemplate]
	nodeUse                objects[*cluster.NodeUse]

	replicaSets            objects[*cluster.Controller]
	replicationControllers objects[*cluster.Controller]
	statefulSets           objects[*cluster.Controller]
}

// Line is what one line says by itself: an [Entry] without what it rests on.
type Line struct {
	Cycle    uint64
	Time     time.Time
	Policy   *policy.Policy
	Plan     action.Plan
	Results  []memory.Result
	Refused  []Refusal
	TookOver []Takeover
	DryRun   bool
}

// NewDecoder returns a decoder of r. Lines before the first full one are passed over: they cannot be understood alone.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, 1<<20)} }

// Until has reading end before the first line that is later than a time: [Decoder.Entry] is that of the last one before it then.
func (d *Decoder) Until(t time.Time) { d.until = t }

// Most has reading end with [ErrLong] at a line of more bytes: to read one takes several times its length of memory. 0 is no bound.
func (d *Decoder) Most(bytes int) { d.most = bytes }

// readLine reads up to the end of a line, or of what there is.
func (d *Decoder) readLine() ([]byte, error) {
	line := d.cut
	for {
		part, err := d.r.ReadSlice('\n')
		line = append(line, part...)
		if d.most > 0 && len(line) > d.most {
			return nil, ErrLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Next is the next entry; io.EOF at the end, [ErrCut] when the end is not whole: once the file has grown, a caller may go on. After a [*LineError] it is
// given the next entry that can be understood alone, and those after it.
func (d *Decoder) Next() (Entry, error) {
	if _, err := d.Read(); err != nil {
		return Entry{}, err
	}
	return d.Entry()
}

// Read reads the next entry but for what it rests on, Seen and Before: [Decoder.Entry] has these too. Whoever looks for one cycle of many, or for
// what was said and done alone, so needs a fraction of the time. Errors are those of [Decoder.Next].
func (d *Decoder) Read() (Line, error) {
	if d.over {
		return Line{}, io.EOF
	}
	for {
		line, err := d.readLine()
		if errors.Is(err, ErrLong) {
			return Line{}, err
		}
		if err != nil {
			if d.cut = line; errors.Is(err, io.EOF) && len(line) > 0 {
				return Line{}, ErrCut
			}
			return Line{}, err
		}
		d.cut = nil
		d.line++
		if len(line) == 1 {
			continue
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			d.begun = false // what follows says what changed since this line
			return Line{}, &LineError{d.line, fmt.Errorf("is not a journal entry: %w", err)}
		}
		if r.Version > Version || r.Version < 1 {
			return Line{}, &LineError{d.line, fmt.Errorf("has format version %d, this sluice reads up to %d: use the version that wrote it", r.Version, Version)}
		}
		if !d.begun && !r.Full {
			continue
		}
		if !d.until.IsZero() && r.Time.After(d.until) {
			d.over = true
			return Line{}, io.EOF
		}
		if err := d.apply(&r); err != nil {
			d.begun = false
			return Line{}, &LineError{d.line, err}
		}
		return d.said, nil
	}
}

// apply has a line change what is known from those before it.
func (d *Decoder) apply(r *record) error {
	if !r.Full && r.Version >= 3 && r.After != d.after+1 {
		return errors.New("does not follow the line before it")
	}
	if r.Full {
		*d = Decoder{r: d.r, line: d.line, until: d.until, most: d.most}
	}
	d.begun, d.after = true, r.After
	if r.Policy != nil {
		d.policy = r.Policy
	}
	if d.policy == nil {
		return errors.New("has no policy")
	}
	if r.Version > 1 {
		told, err := verdictsAfter(d.told, r.Told)
		if err != nil {
			return fmt.Errorf("is damaged: %w", err)
		}
		r.Plan.Verdicts = told
	}
	d.told = r.Plan.Verdicts
	if r.Offers != nil {
		d.offers = r.Offers.tables()
	}
	if err := cmp.Or(next(&d.groups, r.Version, r.Groups), next(&d.memory, r.Version, r.Before)); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	if err := d.unfold(r); err != nil {
		return err
	}
	if err := d.nodes.patch(r.Nodes.Changed); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	d.nodes.apply(r.Nodes)
	d.pods.apply(r.Pods)
	d.daemonSets.apply(r.DaemonSets)
	d.budgets.apply(r.Budgets)
	d.namespaces.apply(r.Namespaces)
	d.configMaps.apply(r.ConfigMaps)
	d.persistentVolumeClaims.apply(r.PersistentVolumeClaims)
	d.persistentVolumes.apply(r.PersistentVolumes)
	d.storageClasses.apply(r.StorageClasses)
	d.csiNodes.apply(r.CSINodes)
	d.csiDrivers.apply(r.CSIDrivers)
	d.csiStorageCapacities.apply(r.CSIStorageCapacities)
	d.volumeAttachments.apply(r.VolumeAttachments)
	d.deviceClasses.apply(r.DeviceClasses)
	d.resourceClaims.apply(r.ResourceClaims)
	d.resourceSlices.apply(r.ResourceSlices)
	d.podGroups.apply(r.PodGroups)
	d.coschedulingGroups.apply(r.CoschedulingGroups)
	d.capacityBuffers.apply(r.CapacityBuffers)
	d.provisioningRequests.apply(r.ProvisioningRequests)
	d.podTemplates.apply(r.PodTemplates)
	d.nodeUse.apply(r.NodeUse)
	d.replicaSets.apply(r.ReplicaSets)
	d.replicationControllers.apply(r.ReplicationControllers)
	d.statefulSets.apply(r.StatefulSets)
	d.fleet = d.fleet.Apply(r.Fleet)
	d.lacks, d.controllersKnown = r.Lacks, r.ControllersKnown
	d.said = Line{r.Cycle, r.Time, d.policy, r.Plan, r.Results, r.Refused, r.TookOver, r.DryRun}
	return nil
}

// Entry is the entry that [Decoder.Read] has read last.
func (d *Decoder) Entry() (Entry, error) {
	var before memory.Memory
	groups, err := d.parsed.groups(&d.groups, d.offers)
	if err := cmp.Or(err, json.Unmarshal(d.memory.value(), &before)); err != nil {
		return Entry{}, &LineError{d.line, fmt.Errorf("is damaged: %w", err)}
	}
	seen := d.next(cluster.Objects{
		Nodes:      d.nodes.all(),
		Pods:       d.pods.all(),
		DaemonSets: d.daemonSets.all(),
		Budgets:    d.budgets.all(),
		Namespaces: d.namespaces.all(),
		ConfigMaps: d.configMaps.all(),

		PersistentVolumeClaims: d.persistentVolumeClaims.all(),
		PersistentVolumes:      d.persistentVolumes.all(),
		StorageClasses:         d.storageClasses.all(),
		CSINodes:               d.csiNodes.all(),
		CSIDrivers:             d.csiDrivers.all(),
		CSIStorageCapacities:   d.csiStorageCapacities.all(),
		VolumeAttachments:      d.volumeAttachments.all(),
		DeviceClasses:          d.deviceClasses.all(),
		ResourceClaims:         d.resourceClaims.all(),
		ResourceSlices:         d.resourceSlices.all(),
		PodGroups:              d.podGroups.all(),
		CoschedulingGroups:     d.coschedulingGroups.all(),
		CapacityBuffers:        d.capacityBuffers.all(),
		ProvisioningRequests:   d.provisioningRequests.all(),
		PodTemplates:           d.podTemplates.all(),
		NodeUse:                d.nodeUse.all(),
		Lacks:                  d.lacks,

		Controllers: cluster.Controllers{
			Known: d.controllersKnown, ReplicaSets: d.replicaSets.all(),
			ReplicationControllers: d.replicationControllers.all(), StatefulSets: d.statefulSets.all(),
		},
	}, groups)
	seen.Fleet = d.fleet
	d.seen = seen
	said := d.said
	return Entry{
		Cycle: said.Cycle, Seen: seen, Policy: said.Policy, Before: before, Plan: said.Plan, Results: said.Results, Refused: said.Refused, TookOver: said.TookOver,
		DryRun: said.DryRun,
	}, nil
}

// next is what the line saw. A cluster of the line before is not joined anew, as in the process that wrote it.
func (d *Decoder) next(objects cluster.Objects, groups []*cluster.Group) *cluster.Snapshot {
	if d.seen == nil {
		return cluster.New(d.said.Time, objects, groups)
	}
	return d.seen.Next(d.said.Time, objects, groups)
}

// next applies what a line says of a value to that of the line before. Lines before version 3 have the whole value.
func next(value *tree, version int, said json.RawMessage) (err error) {
	var p patch
	switch {
	case version < 3:
		p.Is = said
	case len(said) > 0:
		err = json.Unmarshal(said, &p)
	}
	if err == nil {
		err = value.apply(p)
	}
	if len(value.raw) == 0 && value.at == nil {
		value.raw = json.RawMessage("null")
	}
	return err
}

// Pod is the pod of that "namespace/name" as of the last line, nil for none.
func (d *Decoder) Pod(name string) *cluster.Pod { return d.pods.by[name] }

// Node is the Node object of that name as of the last line, nil for none.
func (d *Decoder) Node(name string) *corev1.Node { return d.nodes.by[name] }

// objects are the objects of one kind as of the last line.
type objects[T comparable] struct {
	by    map[string]T    // by [name.String]; nil for a kind that the cluster does not have
	inRow []T             // as they were when all was asked for last, sorted by namespace and name
	since map[string]bool // names of those that changed after that
}

// apply makes the change.
func (os *objects[T]) apply(c change[T]) {
	if os.by == nil && !c.IsZero() {
		os.by, os.since = map[string]T{}, map[string]bool{}
	}
	for _, k := range c.Gone {
		delete(os.by, k)
		os.since[k] = true
	}
	for _, o := range c.Set {
		os.put(o)
	}
}

// put puts an object in the place of one that is there.
func (os *objects[T]) put(o T) {
	var none T
	if o != none { // a null in a damaged line
		key := nameOf(o).String()
		os.by[key], os.since[key] = o, true
	}
}

// patch puts objects with these changes in the place of those that are there.
func (os *objects[T]) patch(changed map[string]patch) error {
	for name, p := range changed {
		was, err := json.Marshal(os.by[name])
		if err != nil {
			return err
		}
		is, err := p.apply(was)
		if err != nil {
			return err
		}
		var o T
		if err := json.Unmarshal(is, &o); err != nil {
			return err
		}
		if os.by != nil {
			os.put(o)
		}
	}
	return nil
}

// all are the objects, sorted by namespace and name; nil for a kind that the cluster does not have. Nobody changes them: while no object changes they
// are the same list.
func (os *objects[T]) all() []T {
	if os.by == nil {
		return nil
	}
	if len(os.since) == 0 && os.inRow != nil {
		return os.inRow
	}
	type named struct {
		name
		of T
	}
	came := make([]named, 0, len(os.since))
	for key := range os.since {
		if o, there := os.by[key]; there {
			came = append(came, named{nameOf(o), o})
		}
	}
	slices.SortFunc(came, func(a, b named) int { return a.compare(b.name) })
	all := make([]T, 0, len(os.by))
	for _, o := range os.inRow {
		is := nameOf(o)
		for len(came) > 0 && came[0].compare(is) < 0 {
			all, came = append(all, came[0].of), came[1:]
		}
		if !os.since[is.String()] {
			all = append(all, o)
		}
	}
	for _, c := range came {
		all = append(all, c.of)
	}
	os.inRow = all
	clear(os.since)
	return all
}
