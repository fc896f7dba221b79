package azure

import (
	"strings"

	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/setting"
)

// The tags of settings that no flag has, as the table of settings lists them.
const (
	// removalTag says what a removal does to the machines of a group: "delete", which is also meant without the tag, or "deallocate". It is
	// read with the model of machines.
	removalTag = setting.Own + "removal"
	modelTag   = setting.Own + "model"
)

// setting takes in what a tag says of the group in the place of a flag. Of several values those that make sense count. Of a tag that nobody
// reads the fault lists the known ones, without the prefix that all of them have.
func (t *reported) setting(tag, prefix, value string) {
	switch row := setting.Tagged(tag); {
	case strings.EqualFold(tag, modelTag):
		t.model = value
	case strings.EqualFold(tag, removalTag):
	case row != nil:
		if wrong, err := policy.ReadTag(row, value, &t.options); err != nil {
			t.fault(tag, wrong, err.Error())
		}
	default:
		var known []string
		for row := range setting.All() {
			if name, ok := strings.CutPrefix(row.Tag, prefix); row.Tag != "" && ok && strings.HasPrefix(row.Tag, setting.Option) == (prefix != "") {
				known = append(known, name)
			}
		}
		last := len(known) - 1
		t.fault(tag, value, "there are "+strings.Join(known[:last], ", ")+" and "+known[last])
	}
}
