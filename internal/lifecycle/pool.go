package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
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
	if err != nil {
		return nil, false, err
	}
	if !found {
		return nil, false, c.elsewhere(ctx)
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
	// API is how the running sluice is asked. nil: nobody is asked, and only machines that are idle go.
	API API
}

// API is the API server of the cluster, as far as a pool's removal needs it.
type API interface {
	// Nodes are the nodes of the cluster.
	Nodes(ctx context.Context) ([]corev1.Node, error)
	// Drain asks the running sluice to empty a node and to delete its machine.
	Drain(ctx context.Context, node string) error
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
	began, last, deaf, unseen := how.Now(), -1, "", false
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
		if how.API != nil {
			nodes, n, err := c.drain(ctx, s, how.API)
			if err == nil && nodes == 0 && left > 0 && !unseen {
				unseen = true
				c.Say("the API server has no node of these machines, so that none is drained; sluice removes machines that do not become nodes in time")
			}
			if n > 0 {
				c.Say(fmt.Sprintf("sluice is asked to drain and remove %s", Machines(n)))
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if foreign := foreignError(""); errors.As(err, &foreign) {
				return err
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

// drain asks for each node of a pool that was not asked for yet, and says how many nodes there are and for how many it has asked.
func (c *Cluster) drain(ctx context.Context, s *Scaled, api API) (members, asked int, err error) {
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return 0, 0, err
	}
	of, err := c.members(ctx, s, nodes)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range of {
		if n.Annotations[cluster.DrainAnnotation] != "" {
			continue
		}
		if err := api.Drain(ctx, n.Name); err != nil {
			return len(of), asked, err
		}
		asked++
	}
	return len(of), asked, nil
}

// Acquainted looks whether an API server is that of the cluster with this pool's scale set, before anything is written. One that does not
// answer is not refused: [Cluster.Retire] asks again.
func (c *Cluster) Acquainted(ctx context.Context, s *Scaled, api API) error {
	nodes, err := api.Nodes(ctx)
	if err != nil {
		return ctx.Err()
	}
	_, err = c.members(ctx, s, nodes)
	return err
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
