package join

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"
)

// challengeLife is how long a challenge is good.
const challengeLife = 2 * time.Minute

// mostUsed bounds the memory of used challenges. Only documents that Azure has signed for a machine of the subscription fill it.
const mostUsed = 20_000

// challenges makes and checks nonces. One is 20 bytes, written as 32 letters and digits: until when it is good, chance, and a code for both and the address that
// asked. Strangers can have as many as they like: nothing is kept of them.
type challenges struct {
	key [sha256.Size]byte
	now func() time.Time

	mu   sync.Mutex
	used map[string]time.Time // until when they are remembered
}

func newChallenges(key []byte, now func() time.Time) *challenges {
	return &challenges{key: sha256.Sum256(append([]byte("sluice join challenge 1\x00"), key...)), now: now, used: map[string]time.Time{}}
}

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// make is a new challenge for an address.
func (c *challenges) make(source netip.Addr) string {
	var b [20]byte
	binary.BigEndian.PutUint32(b[:4], uint32(c.now().Add(challengeLife).Unix())) //nolint:gosec // until 2106
	rand.Read(b[4:8])
	copy(b[8:], c.sum(b[:8], source))
	return letters.EncodeToString(b[:])
}

func (c *challenges) sum(head []byte, source netip.Addr) []byte {
	mac := hmac.New(sha256.New, c.key[:])
	mac.Write(head)
	address := source.As16()
	mac.Write(address[:])
	return mac.Sum(nil)[:12]
}

// check says whether a challenge is one of ours, for this address, good and not used.
func (c *challenges) check(nonce string, source netip.Addr) *refusal {
	b, err := letters.DecodeString(nonce)
	if err != nil || len(b) != 20 || !hmac.Equal(b[8:], c.sum(b[:8], source)) {
		return refuse(ChallengeUnknown, "the door gave %s no such challenge", source)
	}
	if until := time.Unix(int64(binary.BigEndian.Uint32(b[:4])), 0); c.now().After(until) {
		return refuse(ChallengeExpired, "the challenge ended %s ago", c.now().Sub(until).Round(time.Second))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.used[nonce]; used {
		return refuse(ChallengeUsed, "the challenge was answered already")
	}
	return nil
}

// use takes a challenge that was checked: of several answers one is the first.
func (c *challenges) use(nonce string) *refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if _, used := c.used[nonce]; used {
		return refuse(ChallengeUsed, "the challenge was answered already")
	}
	if len(c.used) >= mostUsed {
		for n, until := range c.used {
			if now.After(until) {
				delete(c.used, n)
			}
		}
		if len(c.used) >= mostUsed {
			return refuse(Busy, "too many challenges were answered in the last minutes")
		}
	}
	c.used[nonce] = now.Add(challengeLife + time.Minute)
	return nil
}
