package imds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const instanceVersion = "2021-02-01"

// Instance is what a machine knows of itself. An empty field means that Azure says nothing about it.
type Instance struct {
	Subscription  string
	ResourceGroup string
	Location      string // such as "westeurope"
	Name          string // "<scale set>_<instance id>" in a uniform scale set
	ResourceID    string
	VMID          string // unique for ever, lower case as Azure gives it
	Size          string // such as "Standard_D4s_v5"
	ScaleSet      string // "" for a machine of its own
	Zone          string // "1", "2", "3"; "" without zones
	FaultDomain   string
	Priority      string // "Spot", "Regular", ""
	ComputerName  string
	Environment   string // "AzurePublicCloud" and its siblings
	Tags          map[string]string
	PrivateIPs    []string // IPv4
}

// instanceWire is the answer of /metadata/instance; every primitive is a string and an absent one is "".
type instanceWire struct {
	Compute struct {
		Environment   string `json:"azEnvironment"`
		Location      string `json:"location"`
		Name          string `json:"name"`
		VMID          string `json:"vmId"`
		VMSize        string `json:"vmSize"`
		Zone          string `json:"zone"`
		ResourceGroup string `json:"resourceGroupName"`
		Subscription  string `json:"subscriptionId"`
		ResourceID    string `json:"resourceId"`
		ScaleSet      string `json:"vmScaleSetName"`
		FaultDomain   string `json:"platformFaultDomain"`
		Priority      string `json:"priority"`
		OSProfile     struct {
			ComputerName string `json:"computerName"`
		} `json:"osProfile"`
		Tags []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"tagsList"`
	} `json:"compute"`
	Network struct {
		Interfaces []struct {
			IPv4 struct {
				Addresses []struct {
					Private string `json:"privateIpAddress"`
				} `json:"ipAddress"`
			} `json:"ipv4"`
		} `json:"interface"`
	} `json:"network"`
}

// pauses are the waits between tries; together they outlast the 70 seconds for which the service answers 410 while it is updated.
var pauses = []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 20 * time.Second, 25 * time.Second}

// Instance asks for this machine's metadata, api-version 2021-02-01. A service that is away, overloaded or failing (410, 429, 5xx)
// is asked again at most six times within 75 seconds, and the log is told each time; nothing else is repeated. Every error is or wraps an [*Error], or is the context's.
func (c *Client) Instance(ctx context.Context) (Instance, error) {
	var w instanceWire
	for try := 0; ; try++ {
		err := c.get(ctx, "/metadata/instance", url.Values{"api-version": {instanceVersion}}, &w)
		if err == nil {
			return w.instance(), nil
		}
		var e *Error
		if !errors.As(err, &e) || e.Status == 0 || !e.Temporary() {
			return Instance{}, err
		}
		if try == len(pauses) {
			return Instance{}, e.after(try + 1)
		}
		if c.Log != nil {
			c.Log.Warn("instance metadata is busy and is asked again", "err", e, "next", time.Now().Add(pauses[try]).UTC().Format(time.RFC3339))
		}
		wait := time.NewTimer(pauses[try])
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return Instance{}, fmt.Errorf("%w, and there was no time to ask again (%w)", e, ctx.Err())
		}
	}
}

// after is the error of a question that was asked so often, with the remedy where another process of the machine may be the cause.
func (e *Error) after(tries int) *Error {
	last := *e
	last.Message = fmt.Sprintf("%s, %d times in a row", strings.TrimSuffix(e.Message, "."), tries)
	if e.Status == http.StatusTooManyRequests {
		last.Remedy = "find what else asks it on this machine, which may send five requests a second"
	}
	return &last
}

func (w *instanceWire) instance() Instance {
	c := w.Compute
	in := Instance{
		Subscription: c.Subscription, ResourceGroup: c.ResourceGroup, Location: c.Location, Name: c.Name, ResourceID: c.ResourceID,
		VMID: c.VMID, Size: c.VMSize, ScaleSet: c.ScaleSet, Zone: c.Zone, FaultDomain: c.FaultDomain, Priority: c.Priority,
		ComputerName: c.OSProfile.ComputerName, Environment: c.Environment,
	}
	for _, t := range c.Tags {
		if in.Tags == nil {
			in.Tags = map[string]string{}
		}
		in.Tags[t.Name] = t.Value
	}
	for _, i := range w.Network.Interfaces {
		for _, a := range i.IPv4.Addresses {
			if a.Private != "" {
				in.PrivateIPs = append(in.PrivateIPs, a.Private)
			}
		}
	}
	return in
}
