package main

import (
	"github.com/spf13/pflag"
)

// eventSource is whom Events name as their source: cluster-autoscaler where the program runs in its place, by its name or with --compat, since scripts
// look for that; else "" for sluice.
func eventSource(called string, f *pflag.FlagSet) string {
	compat := f.Lookup("compat")
	if calledBy(called) == incumbent || compat != nil && compat.Value.String() == "true" {
		return incumbent
	}
	return ""
}
