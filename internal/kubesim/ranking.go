package kubesim

import (
	"container/heap"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// ranking remembers what the rooms answered a pod, for those like it that come after. Within a pass rooms only fill: one that has refused
// refuses again, one that has taken a pod is worth no more than before, and all others are as they were.
type ranking struct {
	of    *corev1.Pod
	rooms []ranked // that took the pod when they were last asked: a heap
	why   string   // why none does
	held  int      // when why was found
}

// ranked is a room with its score and how many pods it had then.
type ranked struct {
	room  *room
	at    int // in the order of the rooms
	score int64
	pods  int
}

// recall returns the room for a pod that nothing but what the rooms hold keeps away, or why there is none. It is what search finds.
func (p *pass) recall(f *fit) (best *room, why string) {
	if p.ranked == nil || !equality.Semantic.DeepEqual(p.ranked.of.Spec, f.st.pod.Spec) {
		p.rank(f)
	}
	known := p.ranked
	for known.Len() > 0 {
		top := &known.rooms[0]
		switch {
		case top.pods == len(top.room.pods):
			return top.room, ""
		case len(f.refusals(top.room)) > 0:
			heap.Pop(known)
		default:
			top.score, top.pods = f.score(top.room), len(top.room.pods)
			heap.Fix(known, 0)
		}
	}
	if known.why == "" || known.held != p.held {
		_, known.why = p.search(f)
		known.held = p.held
	}
	return nil, known.why
}

// rank asks every room.
func (p *pass) rank(f *fit) {
	p.ranked = &ranking{of: f.st.pod}
	for i, r := range p.rooms {
		if len(f.refusals(r)) == 0 {
			p.ranked.rooms = append(p.ranked.rooms, ranked{r, i, f.score(r), len(r.pods)})
		}
	}
	heap.Init(p.ranked)
}

// Len, Less, Swap, Push and Pop are those of a heap: the room with the highest score first, of equal ones the one that comes first.
func (k *ranking) Len() int { return len(k.rooms) }

func (k *ranking) Less(i, j int) bool {
	a, b := k.rooms[i], k.rooms[j]
	return a.score > b.score || a.score == b.score && a.at < b.at
}

func (k *ranking) Swap(i, j int) { k.rooms[i], k.rooms[j] = k.rooms[j], k.rooms[i] }

func (k *ranking) Push(x any) { k.rooms = append(k.rooms, x.(ranked)) }

func (k *ranking) Pop() any {
	last := len(k.rooms) - 1
	r := k.rooms[last]
	k.rooms = k.rooms[:last]
	return r
}
