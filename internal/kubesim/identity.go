package kubesim

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// hash mixes words into 64 bits: FNV-1a, then the finalizer of splitmix64.
func hash(seed uint64, words ...string) uint64 {
	h := uint64(14695981039346656037) ^ seed
	for _, w := range words {
		for i := 0; i < len(w); i++ {
			h = (h ^ uint64(w[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211
	}
	return mix(h)
}

func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// nextUID returns the UID of the object that the next resource version creates.
func (s *store) nextUID(resource, key string) types.UID {
	h := hash(s.seed, "uid", resource, key, fmt.Sprint(s.rv+1))
	l := mix(h + 1)
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(h>>32), uint16(h>>16), h&0xfff, 0x8000|uint16(l>>48)&0x3fff, l&0xffffffffffff))
}

// suffixAlphabet is what generated names are made of: no vowels, so no words.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

func suffix(h uint64, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(suffixAlphabet[h%uint64(len(suffixAlphabet))])
		h = mix(h + 1)
	}
	return b.String()
}

// generatedName returns a free name that begins with prefix.
func (s *store) generatedName(k *kind, namespace, prefix string) string {
	const longest = 63 - 5
	if len(prefix) > longest {
		prefix = prefix[:longest]
	}
	for attempt := 0; ; attempt++ {
		name := prefix + suffix(hash(s.seed, "name", k.resource, namespace, prefix, fmt.Sprint(s.rv+1, attempt)), 5)
		if s.table(k).byKey[key(namespace, name)] == nil {
			return name
		}
	}
}
