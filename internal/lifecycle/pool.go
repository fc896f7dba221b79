package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// The tags by which sluice knows the limits of a pool.
const (
	tagMin = "min"
	tagMax = "max"
)

// Scaled is a pool's scale set.
type Scaled struct {
	Min, Max string // as its tags say
	Capacity int    // machines that it is asked for

	pool clusterfile.Pool
	tags map[string]string
	etag string // that of every write so far
}

// Pool reads a pool's scale set by the pool's name, of a pool that the file has no more as well; false where there is none.
func (c *Cluster) Pool(ctx context.Context, name string) (*Scaled, bool, error) {
	p := clusterfile.Pool{Name: name}
	var set struct {
		Tags map[string]string `json:"tags"`
		SKU  struct {
			Capacity int `json:"capacity"`
		} `json:"sku"`
		Properties struct {
			Mode string `json:"orchestrationMode"`
		} `json:"properties"`
		ETag string `json:"etag"`
	}
	found, err := c.Cloud.Get(ctx, c.scaleSet(&p), computeVersion, &set)
	if err != nil || !found {
		return nil, false, err
	}
	if set.Tags[render.ClusterTag] != c.File.Name {
		return nil, false, fmt.Errorf("scale set %s has not the tag %s=%s: others made it, and it is left alone", c.File.ScaleSet(&p), render.ClusterTag, c.File.Name)
	}
	p.Orchestration = clusterfile.Uniform
	if set.Properties.Mode == "Flexible" {
		p.Orchestration = clusterfile.Flexible
	}
	return &Scaled{Min: set.Tags[tagMin], Max: set.Tags[tagMax], Capacity: set.SKU.Capacity, pool: p, tags: set.Tags, etag: set.ETag}, true, nil
}

// Limit writes a pool's min and max where the running sluice reads them: on the scale set. Its capacity stays: adding and removing is sluice's.
func (c *Cluster) Limit(ctx context.Context, s *Scaled, least, most int) error {
	tags := maps.Clone(s.tags)
	tags[tagMin], tags[tagMax] = strconv.Itoa(least), strconv.Itoa(most)
	if maps.Equal(tags, s.tags) {
		return nil
	}
	if err := c.Cloud.Patch(ctx, c.scaleSet(&s.pool), computeVersion, map[string]any{"tags": tags}); err != nil {
		return fmt.Errorf("min and max of scale set %s are not changed: %w", c.File.ScaleSet(&s.pool), err)
	}
	s.Min, s.Max, s.tags = tags[tagMin], tags[tagMax], tags
	return nil
}

// ErrNotEmpty is that a pool still has machines.
var ErrNotEmpty = errors.New("it has machines")

// errWritten is that a scale set is no more what it was when its machines were listed.
var errWritten = errors.New("somebody has written it meanwhile")

// Retiring is how [Cluster.Retire] waits.
type Retiring struct {
	For time.Duration
	Now func() time.Time
	// Drain asks the running sluice to empty each node of the pool and to delete its machine, as far as it was not asked yet. It returns how many it asked for.
	// nil: nobody is asked, and only machines that are idle go.
	Drain func(ctx context.Context, of func(node string) bool) (int, error)
}

// retirePause is the time between two looks at a pool that becomes empty.
const retirePause = 15 * time.Second

// Retire has the running sluice remove a pool's machines, waits until the last is gone, and deletes the empty scale set. It removes no machine itself. Time
// that runs out is [ErrNotEmpty]; it may be interrupted and called again.
func (c *Cluster) Retire(ctx context.Context, name string, how Retiring) error {
	s, found, err := c.Pool(ctx, name)
	if err != nil {
		return err
	}
	if !found {
		return nil
	}
	if err := c.Limit(ctx, s, 0, 0); err != nil {
		return err
	}
	began, last, deaf := how.Now(), -1, ""
	for {
		left, err := c.machinesLeft(ctx, name)
		if err != nil {
			return err
		}
		if left == 0 {
			if err := c.deleteEmpty(ctx, name); !errors.Is(err, errWritten) || how.Now().Sub(began) >= how.For {
				return err
			}
		}
		if left != last {
			c.Say(fmt.Sprintf("pool %s has %s left", name, Machines(left)))
			last = left
		}
		if how.Drain != nil {
			n, err := how.Drain(ctx, func(node string) bool { return c.isOf(name, node) })
			if n > 0 {
				c.Say(fmt.Sprintf("sluice is asked to drain and remove %s", Machines(n)))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil && err.Error() != deaf {
				deaf = err.Error()
				c.Say("sluice cannot be asked to drain nodes now, and removes idle ones alone: " + deaf)
			}
		}
		if how.Now().Sub(began) >= how.For {
			return fmt.Errorf("scale set %s is not deleted: %w (%d); sluice adds none and removes them", c.File.ScaleSet(&s.pool), ErrNotEmpty, left)
		}
		if err := c.Wait(ctx, retirePause); err != nil {
			return err
		}
	}
}

// Machines is a number of machines in words.
func Machines(n int) string {
	switch n {
	case 0:
		return "no machines"
	case 1:
		return "1 machine"
	}
	return strconv.Itoa(n) + " machines"
}

// isOf says whether a node is of a pool, which may be no more in the file.
func (c *Cluster) isOf(name, node string) bool {
	all := []pool{{Pool: &clusterfile.Pool{Name: name}}}
	for i := range c.File.Pools {
		if p := &c.File.Pools[i]; p.Name != name {
			all = append(all, pool{Pool: p})
		}
	}
	of := poolOf(all, c.File.Name, node)
	return of != nil && of.Name == name
}

// machinesLeft is how many machines a pool has, or is asked for where that is more: what is being made counts.
func (c *Cluster) machinesLeft(ctx context.Context, name string) (int, error) {
	s, found, err := c.Pool(ctx, name)
	if err != nil || !found {
		return 0, err
	}
	all, err := c.machinesOf(ctx, &s.pool)
	if err != nil {
		return 0, err
	}
	return max(len(all), s.Capacity), nil
}

// deleteEmpty deletes a pool's scale set, which Azure would do with its machines as well. With max 0 sluice adds none, but a person may. Azure's
// deletion of a scale set takes no If-Match (Compute 2024-07-01), so that the last request before it reads the set once more: it must be what it was
// before its machines were listed. Beside down nothing else deletes a scale set.
func (c *Cluster) deleteEmpty(ctx context.Context, name string) error {
	before, found, err := c.Pool(ctx, name)
	if err != nil || !found {
		return err
	}
	set := c.File.ScaleSet(&before.pool)
	all, err := c.machinesOf(ctx, &before.pool)
	if err != nil {
		return err
	}
	now, found, err := c.Pool(ctx, name)
	if err != nil || !found {
		return err
	}
	switch left := max(len(all), now.Capacity); {
	case left > 0:
		return fmt.Errorf("scale set %s is not deleted: %w (%d)", set, ErrNotEmpty, left)
	case now.Max != "0":
		return fmt.Errorf("scale set %s is not deleted: somebody has set its max to %s meanwhile", set, now.Max)
	case now.etag != before.etag:
		return fmt.Errorf("scale set %s is not deleted: %w; run the command again", set, errWritten)
	}
	if err := c.Cloud.Delete(ctx, c.scaleSet(&now.pool), computeVersion); err != nil {
		return fmt.Errorf("scale set %s is not deleted: %w", set, err)
	}
	c.Say("scale set " + set + " was empty, and is deleted")
	return nil
}
