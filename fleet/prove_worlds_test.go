package fleet_test

// upTo is 0, 1, ... n-1.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

var once = []int{0}

// growths are the growths to so many, with each fate.
func growths(to ...int) (all []int) {
	for _, n := range to {
		for f := range fates {
			all = append(all, n*fates+f)
		}
	}
	return all
}

// worlds are what is searched: each is about one idea.
var worlds = []*earth{
	{
		name: "one machine", boxes: 1, ready: 1, max: 2, leads: 1, faults: 3,
		kinds: []letter{
			{lists, []int{fresh, aged, empty, cut}}, {deletion, upTo(fates)}, {ends, upTo(operationsEnds)}, {joins, once}, {silences, once}, {unlinks, once},
			{works, once}, {rests, once}, {doubted, once}, {foreign, []int{0}}, {says, once}, {passes, []int{minutes, ticks, watched, mistaken}},
		},
	},
	{
		name: "two machines", boxes: 2, ready: 2, max: 2, leads: 1, faults: 2,
		kinds: []letter{
			{lists, []int{fresh, aged, empty, lacks}}, {deletion, []int{accepted, done, refused, unknownWrite}}, {both, []int{accepted}}, {ends, upTo(operationsEnds)}, {silences, once}, {unlinks, once},
			{growth, growths(1, 2)}, {foreign, []int{0}}, {passes, []int{minutes, ticks, watched, mistaken}},
		},
	},
	{
		name: "loss", boxes: 3, ready: 3, max: 3, leads: 1, faults: 3,
		kinds: []letter{
			{lists, []int{fresh}}, {deletion, []int{accepted, done, refused}}, {both, []int{accepted}}, {ends, []int{succeeds, fails}}, {joins, once}, {silences, upTo(2)}, {unlinks, once},
			{works, once}, {foreign, []int{0}}, {says, once}, {passes, []int{minutes, ticks, hours}},
		},
	},
	{
		name: "min", boxes: 2, ready: 2, min: 1, max: 2, leads: 1, faults: 3,
		kinds: []letter{
			{lists, []int{fresh, aged, lacks, cut}}, {deletion, upTo(fates)}, {ends, upTo(operationsEnds)}, {joins, once}, {silences, upTo(2)}, {foreign, []int{0, 1}},
			{passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "lying capacity", boxes: 3, ready: 1, max: 2, leads: 1, faults: 3,
		kinds: []letter{
			{lists, []int{fresh, aged, empty, zero, low, absurd, cut}}, {growth, growths(1, 2, 3)}, {grown, upTo(operationsEnds)}, {deletion, []int{accepted, refused, unsent}}, {ends, []int{succeeds, failsUnheard}},
			{joins, once}, {makes, once}, {passes, []int{minutes, ticks, watched, mistaken}},
		},
	},
	{
		name: "no number", boxes: 3, ready: 1, max: 3, leads: 1, faults: 3, uncounted: true,
		kinds: []letter{
			{lists, []int{fresh, aged, empty, lacks, cut}}, {growth, growths(1)}, {grown, upTo(operationsEnds)}, {deletion, []int{accepted, done, unsent}}, {ends, []int{succeeds, fails}},
			{joins, once}, {silences, once}, {unlinks, once}, {passes, []int{minutes, ticks, watched, mistaken}},
		},
	},
	{
		name: "park and start", boxes: 3, ready: 1, off: 1, max: 2, leads: 1, faults: 2,
		kinds: []letter{
			{lists, []int{fresh, aged, lacks}}, {parking, upTo(fates)}, {starting, upTo(fates)}, {deletion, []int{accepted, unknownWrite}}, {ends, upTo(operationsEnds)}, {growth, []int{3*fates + done, 2*fates + done}},
			{joins, once}, {foreign, []int{1, 2}}, {passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "two leaders", boxes: 3, ready: 2, min: 1, max: 2, leads: 2, faults: 2,
		kinds: []letter{
			{lists, []int{fresh, aged}}, {deletion, []int{accepted, done, unknownWrite}}, {ends, []int{succeeds, failsUnheard}}, {growth, []int{2*fates + accepted, 2*fates + unknownWrite, 3*fates + done, 2*fates + done}},
			{grown, []int{succeeds}}, {silences, once}, {records, once}, {passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "killed", boxes: 2, ready: 2, max: 2, leads: 1, faults: 3, restores: true,
		kinds: []letter{
			{lists, []int{fresh, aged, empty}}, {deletion, []int{accepted, unknownWrite}}, {ends, []int{succeeds, failsUnheard}}, {silences, once}, {unlinks, once}, {joins, once}, {works, once},
			{growth, []int{2*fates + done, 2*fates + unknownWrite, fates + done}}, {grown, []int{succeeds}},
			{records, once}, {kills, once}, {begins, upTo(3)}, {looks, once}, {passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "begun latched", boxes: 3, ready: 3, max: 3, leads: 1, faults: 2,
		seed: []event{{kind: works, box: 0}, {kind: silences, box: 0}, {kind: silences, box: 1}, {kind: records}},
		kinds: []letter{
			{lists, []int{fresh}}, {deletion, []int{accepted, done, refused}}, {both, []int{accepted}}, {ends, []int{succeeds}}, {joins, once}, {unlinks, once}, {foreign, []int{0}},
			{kills, once}, {begins, upTo(2)}, {looks, once}, {says, once}, {passes, []int{minutes, ticks, hours}},
		},
	},
	{
		name: "begun an hour after a loss", boxes: 3, ready: 3, max: 3, leads: 1, faults: 2,
		seed: []event{{kind: silences, box: 0}, {kind: silences, box: 1}, {kind: passes, arg: hours}, {kind: lists}},
		kinds: []letter{
			{lists, []int{fresh}}, {deletion, []int{accepted, done, refused, unsent}}, {both, []int{accepted}}, {joins, once}, {silences, once}, {foreign, []int{0}},
			{kills, once}, {begins, upTo(2)}, {looks, once}, {says, once}, {passes, []int{ticks, watched, hours}},
		},
	},
	{
		name: "begun after a removal", boxes: 3, ready: 3, max: 3, leads: 1, faults: 2, restores: true,
		seed: []event{{kind: silences, box: 0}, {kind: silences, box: 1}, {kind: says}, {kind: lists}, {kind: deletion, box: 0, arg: done}, {kind: kills}},
		kinds: []letter{
			{lists, []int{fresh}}, {deletion, []int{accepted, done}}, {joins, once}, {silences, once}, {kills, once}, {begins, upTo(3)}, {looks, once}, {says, once},
			{passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "begun with a write unknown", boxes: 2, ready: 2, max: 2, leads: 1, faults: 2,
		seed: []event{{kind: deletion, box: 0, arg: unknownWrite}},
		kinds: []letter{
			{lists, []int{fresh, aged, lacks}}, {deletion, []int{accepted, done, refused, unsent}}, {parking, []int{done}}, {ends, []int{succeeds, succeedsAlone, fails, failsUnheard}}, {silences, once},
			{kills, once}, {begins, upTo(2)}, {looks, once}, {growth, []int{2*fates + done, fates + done}}, {passes, []int{minutes, ticks, watched}},
		},
	},
	{
		name: "begun with one off", boxes: 3, ready: 2, min: 1, max: 2, leads: 1, faults: 2,
		seed: []event{{kind: parking, box: 0, arg: done}, {kind: lists}},
		kinds: []letter{
			{lists, []int{fresh, aged, lacks}}, {deletion, []int{accepted, unknownWrite}}, {starting, []int{accepted, unsent, unknownWrite}}, {ends, []int{succeeds, fails, failsUnheard}}, {joins, once},
			{foreign, []int{1, 2}}, {kills, once}, {begins, upTo(2)}, {looks, once}, {growth, []int{3*fates + done, 2*fates + done}}, {passes, []int{ticks, watched}},
		},
	},
	{
		name: "begun with an older record", boxes: 3, ready: 3, min: 1, max: 3, leads: 1, faults: 2, restores: true,
		seed: []event{{kind: records}, {kind: deletion, box: 0, arg: accepted}, {kind: kills}, {kind: begins, arg: 2}},
		kinds: []letter{
			{lists, []int{fresh, aged, empty}}, {deletion, []int{accepted, done, refused}}, {ends, []int{succeedsAlone, failsUnheard}}, {silences, once}, {unlinks, once}, {looks, once},
			{growth, []int{2*fates + done, 3*fates + done}}, {records, once}, {passes, []int{minutes, ticks, watched}},
		},
	},
}
