package journal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// value is a JSON value at random, of few keys and ids, so that two of them have some in common.
func value(luck *rand.Rand, depth int) any {
	switch kind := luck.IntN(7); {
	case depth == 0 || kind < 2:
		return []any{nil, true, 1.5, "text", "", []any{}, map[string]any{}, []any{1.0, "x"}}[luck.IntN(8)]
	case kind < 5:
		all := map[string]any{}
		for range luck.IntN(5) {
			all[fmt.Sprint("k", luck.IntN(6))] = value(luck, depth-1)
		}
		return all
	default:
		list := []any{}
		key := idKeys[luck.IntN(len(idKeys))]
		for _, id := range luck.Perm(6)[:luck.IntN(5)] {
			list = append(list, map[string]any{key: fmt.Sprint(id), "v": value(luck, depth-1)})
		}
		return list
	}
}

// TestAPatchMakesOneValueOfAnother takes pairs of values at random, and the patch over the wire.
func TestAPatchMakesOneValueOfAnother(t *testing.T) {
	luck := rand.New(rand.NewPCG(1, 2))
	encode := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for range 20_000 {
		a, b := value(luck, 4), value(luck, 4)
		before, after := encode(a), encode(b)
		var p patch
		if err := json.Unmarshal(encode(patchBetween(before, after)), &p); err != nil {
			t.Fatal(err)
		}
		got, err := p.apply(before)
		if err != nil {
			t.Fatalf("%s -> %s: %v", before, after, err)
		}
		var value any
		if err := json.Unmarshal(got, &value); err != nil || !reflect.DeepEqual(value, b) {
			t.Fatalf("%s -> %s: made %s (%v) by %s", before, after, got, err, encode(p))
		}
	}
}

// TestAMachineThatChangesCostsItselfAlone has one of a thousand machines change its state.
func TestAMachineThatChangesCostsItselfAlone(t *testing.T) {
	type machine struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	type group struct {
		ID        string    `json:"id"`
		Instances []machine `json:"instances"`
	}
	g := group{ID: "agents"}
	for i := range 1000 {
		g.Instances = append(g.Instances, machine{fmt.Sprintf("agents_%04d", i), "running"})
	}
	before, err := json.Marshal([]group{g})
	if err != nil {
		t.Fatal(err)
	}
	g.Instances[17].State = "deleting"
	after, err := json.Marshal([]group{g})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(patchBetween(before, after))
	const want = `{"in":{"agents":{"in":{"instances":{"in":{"agents_0017":{"in":{"state":{"is":"deleting"}}}}}}}}}`
	if err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}
