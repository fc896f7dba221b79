package traces

import (
	"fmt"
	"os"
)

// Openb is the openb trace as a static set: all pods at once, in the order of the file. A share of a GPU counts as a whole one.
func (d *Data) Openb() ([]Pod, error) {
	var pods []Pod
	err := d.read(openbFile, func(t *table) {
		pods = append(pods, Pod{
			Name: t.text("name"), Asks: Vector{t.int("cpu_milli"), t.int("memory_mib"), t.int("num_gpu")},
			Evictable: t.text("qos") == "LS",
		})
	}, "name", "cpu_milli", "memory_mib", "num_gpu", "qos")
	return pods, err
}

// Sizes are the sizes with a price, in the order of the file.
func (d *Data) Sizes() ([]Size, error) {
	var sizes []Size
	err := d.read(pricesFile, func(t *table) {
		sizes = append(sizes, Size{
			Name:            t.text("sku"),
			Machine:         Vector{1000 * t.int("vcpu"), t.int("mem_mib"), t.int("gpu")},
			PriceUSDPerHour: t.float("usd_per_h"),
		})
	}, "sku", "vcpu", "mem_mib", "gpu", "usd_per_h")
	return sizes, err
}

func (d *Data) read(name string, row func(*table), columns ...string) error {
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	t, err := readTable(f, columns...)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	for t.next() {
		row(t)
	}
	if t.err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), t.err)
	}
	return nil
}
