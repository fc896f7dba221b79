package azure

import (
	"regexp"
	"strconv"
	"strings"
)

// How tools for self-managed clusters name the machines of a pool in an availability set. Only the name of a Linux machine tells the pool.
var (
	linuxName      = regexp.MustCompile(`^[0-9a-zA-Z]{3}-(.+)-([0-9a-fA-F]{8})-{0,2}([0-9]+)$`)
	oldWindowsName = regexp.MustCompile(`^([a-fA-F0-9]{5})([0-9a-zA-Z]{3})([9])([a-zA-Z0-9]{3,5})$`)
	windowsName    = regexp.MustCompile(`^([a-fA-F0-9]{4})([0-9a-zA-Z]{3})([0-9]{3,8})$`)
)

// poolOf is the pool of a machine, by the first of [poolTags] that it has, or else by its name; "" when neither tells one.
func poolOf(name string, tags map[string]*string) string {
	for _, tag := range poolTags {
		for k, v := range tags {
			if strings.EqualFold(k, tag) && val(v) != "" {
				return val(v)
			}
		}
	}
	if m := linuxName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

// indexOf is the number of a machine in its pool, by its name; false when the name tells none.
func indexOf(name string) (int, bool) {
	digits := ""
	if m := linuxName.FindStringSubmatch(name); m != nil {
		digits = m[3]
	} else if m := oldWindowsName.FindStringSubmatch(name); m != nil {
		digits = m[4][2:] // behind 9 and two digits of the pool's number
	} else if m := windowsName.FindStringSubmatch(name); m != nil {
		digits = m[3][2:] // behind two digits of the pool's number
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}

// seriesOf is what the names of a pool's machines have in common: the name without its number.
func seriesOf(name string) string { return strings.ToLower(strings.TrimRight(name, "0123456789")) }
