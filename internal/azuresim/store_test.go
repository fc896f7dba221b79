package azuresim

import (
	"crypto/x509"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim/template"
)

// everything is a store in which every field that refers to something does.
func everything() *store {
	object := func() map[string]any { return map[string]any{"object": map[string]any{"list": []any{"text"}}} }
	wrong := errorDetail{Code: "AllocationFailed", Details: []errorDetail{{Code: "Detail"}}}
	ss := &scaleSet{model: object()}
	i := &instance{
		set: ss, model: object(), taken: taken{tags: map[string]string{"x": "y"}, network: object()},
		provisioning: provisioning{failure: wrong}, deletion: deletion{failure: wrong}, power: power{failure: &wrong},
	}
	n := &networkInterface{model: object(), ips: []string{"10.0.0.4"}, host: i}
	d := &disk{model: object(), holder: i}
	i.nics, i.drives = []*plug{{nic: n}}, []*drive{{disk: d}}
	o := &operation{
		set: ss, creates: []*instance{i}, doomed: []*instance{i}, errors: []errorDetail{wrong},
		becomes: &operation{}, fate: fate{failure: &wrong}, command: &command{},
	}
	ss.instances, ss.operations = []*instance{i}, []*operation{o}
	p := &principal{certificates: []*x509.Certificate{{}}, credentials: []FederatedCredential{{}}, denied: []string{"*"}}
	role := &Role{Actions: []string{"*"}, NotActions: []string{"x"}, DataActions: []string{"y"}, AssignableScopes: []string{"/"}}
	first := &step{resource: &template.Resource{}, op: o, nested: &deployment{caller: p}, refusal: &wrong}
	return &store{
		sets: []*scaleSet{ss}, machines: []*instance{i}, interfaces: []*networkInterface{n}, disks: []*disk{d},
		available: []*availabilitySet{{model: object()}}, generic: generic{list: []*opaque{{model: object()}}, removals: []*removal{{opaque: &opaque{model: object()}, parts: []*opaque{{model: object()}}}}}, groups: []*resourceGroup{{tags: object()}}, empty: []string{"x"},
		deployments: []*deployment{{
			content:   deploymentProperties{Template: []byte("1"), Parameters: []byte("1"), TemplateLink: []byte("1"), ParametersLink: []byte("1")},
			evaluated: &template.Deployment{}, steps: []*step{first, {waits: []*step{first}}}, caller: p,
		}},
		principals: []*principal{p},
		rights: rights{
			roles: []*Role{role}, assignments: []*assignment{{role: role}, {role: builtInRoles[0]}},
			governed: map[string]bool{"x": true}, locks: []*lock{{}},
		},
		events: []*event{{machine: i}}, listening: map[string]listening{"x": {}}, skus: []*SKU{{}},
		autoscale: []*autoscaleSetting{{model: object()}}, operations: operations{byID: map[string]*operation{"x": o}},
	}
}

// immutable are types that nobody changes once a value is made, and fields that
// hold such values: a past may share them with the present.
var immutable = []string{
	"azuresim.errorDetail", "azuresim.SKU", "azuresim.deploymentProperties", "template.Deployment", "template.Resource", "time.Time",
	"principal.certificates", "principal.credentials", "Role.Actions", "Role.NotActions", "Role.DataActions", "Role.AssignableScopes", "taken.network",
}

// references finds all that a value refers to, by where it is; and the fields of
// pointers, slices and maps that refer to nothing anywhere.
type references struct {
	found map[uintptr]string // the path of one way to it
	empty map[string]bool    // fields by name; false: one is not
}

func (r *references) follow(v reflect.Value, path string) {
	if slices.Contains(immutable, v.Type().String()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Pointer && (slices.Contains(immutable, v.Type().Elem().String()) || builtIn(v)) {
			return
		}
		if _, seen := r.found[v.Pointer()]; seen {
			return
		}
		r.found[v.Pointer()] = path
	case reflect.Interface:
		if !v.IsNil() {
			r.follow(v.Elem(), path)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		r.follow(v.Elem(), path)
	case reflect.Slice:
		for n := range v.Len() {
			r.follow(v.Index(n), fmt.Sprintf("%s[%d]", path, n))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			r.follow(value, path+"["+key.String()+"]")
		}
	case reflect.Struct:
		for n := range v.NumField() {
			f, name := v.Field(n), v.Type().Name()+"."+v.Type().Field(n).Name
			switch f.Kind() {
			case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan:
				before, known := r.empty[name]
				r.empty[name] = f.IsNil() && (before || !known)
			}
			if !slices.Contains(immutable, name) {
				r.follow(f, path+"."+v.Type().Field(n).Name)
			}
		}
	}
}

func builtIn(v reflect.Value) bool {
	return slices.ContainsFunc(builtInRoles, func(r *Role) bool { return reflect.ValueOf(r).Pointer() == v.Pointer() })
}

func TestACopyOfTheStoreIsEqualAndSharesNothingThatChanges(t *testing.T) {
	original := everything()
	cloned := original.clone()
	if !reflect.DeepEqual(*original, cloned) {
		t.Error("the copy differs")
	}
	from, to := references{map[uintptr]string{}, map[string]bool{}}, references{map[uintptr]string{}, map[string]bool{}}
	from.follow(reflect.ValueOf(original).Elem(), "store")
	to.follow(reflect.ValueOf(&cloned).Elem(), "store")
	if len(from.found) < 50 {
		t.Fatalf("only %d references were followed", len(from.found))
	}
	for _, field := range slices.Sorted(maps.Keys(from.empty)) {
		if from.empty[field] {
			t.Errorf("%s refers to nothing in this test: fill it in everything, so that its copy is looked at", field)
		}
	}
	for at, path := range from.found {
		if other, shared := to.found[at]; shared {
			t.Errorf("%s of the original is %s of the copy: clone it, or say why it may be shared", strings.TrimPrefix(path, "store."), strings.TrimPrefix(other, "store."))
		}
	}
}

func TestTheBuiltInRolesStayThemselvesInACopy(t *testing.T) {
	cloned := everything().clone()
	if got := cloned.rights.assignments[1].role; got != builtInRoles[0] {
		t.Errorf("the assignment of a built-in role has another: %v", got)
	}
	if cloned.rights.assignments[0].role != cloned.rights.roles[0] {
		t.Error("the assignment of a custom role has another than the list")
	}
}

func BenchmarkRemember(b *testing.B) {
	s := &Server{Now: func() time.Time { return time.Unix(0, 0) }}
	for n := range 20 {
		d := ScaleSet{Subscription: "sub", ResourceGroup: "rg", Name: fmt.Sprint("set-", n), Location: "westeurope", Size: "Standard_D2s_v5", Capacity: 50}
		if err := s.AddScaleSet(d); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s.store.clone()
	}
}
