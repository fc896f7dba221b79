package azuresim

import (
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// past is the store as it was before a change.
type past struct {
	until  time.Time // of the change
	change int       // its number; see [Server.remember]
	store  *Server
}

// remember keeps the store as it is before something changes it, for as long as
// a fault may ask for it: reads that tell of the past are the past's own answers,
// because every state follows from the store and the time. Without such a fault
// it only counts.
func (s *Server) remember(now time.Time) {
	s.changes++
	keep, oldest := false, now
	for _, f := range s.faults {
		switch {
		case f.Frozen:
			keep, oldest = true, time.Time{}
		case f.Stale > 0:
			keep = true
			if t := now.Add(-f.Stale); t.Before(oldest) {
				oldest = t
			}
		}
	}
	if !keep {
		s.past = nil
		return
	}
	s.past = slices.DeleteFunc(s.past, func(p past) bool { return p.until.Before(oldest) })
	s.past = append(s.past, past{now, s.changes, s.snapshot()})
}

// rewind lets a read see the store as it was: when its fault began, or so long
// ago, whichever is later.
func (q *request) rewind() {
	f, s := q.cause, q.server
	began := later(f.Injected, f.From)
	t := q.now.Add(-f.Stale)
	if f.Frozen || t.Before(began) {
		t = began
	}
	for _, p := range s.past {
		// What changed at the moment the fault began, but after its injection, is not seen yet.
		if p.change > f.origin && (p.until.After(t) || p.until.Equal(t) && t.Equal(began)) {
			q.server = p.store
			break
		}
	}
	q.now = t
}

// snapshot is a copy of the store that shares nothing with it. It answers reads,
// and has no faults and no log.
func (s *Server) snapshot() *Server {
	var c Server
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(&c).Elem()
	seen := map[unsafe.Pointer]reflect.Value{unsafe.Pointer(s): reflect.ValueOf(&c)}
	for n := range from.NumField() {
		switch from.Type().Field(n).Name {
		case "mu", "journal", "faults", "past", "pending", "acts":
			continue
		}
		exposed(to.Field(n)).Set(copied(exposed(from.Field(n)), seen))
	}
	return &c
}

// exposed is an addressable field in a form that may be read and set although it
// is not exported.
func exposed(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// copied is a deep copy. What is reached twice is copied once, so that cycles
// hold. Times and functions are not taken apart. Copying by reflection keeps a
// kind of resource that joins the store from being forgotten here.
func copied(v reflect.Value, seen map[unsafe.Pointer]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() == "time" {
			return v
		}
		if c, ok := seen[v.UnsafePointer()]; ok && c.Type() == v.Type() {
			return c
		}
		c := reflect.New(v.Type().Elem())
		seen[v.UnsafePointer()] = c
		c.Elem().Set(copied(v.Elem(), seen))
		return c
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		if !v.CanAddr() {
			addressable := reflect.New(v.Type()).Elem()
			addressable.Set(v)
			v = addressable
		}
		for n := range v.NumField() {
			exposed(c.Field(n)).Set(copied(exposed(v.Field(n)), seen))
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for n := range v.Len() {
			c.Index(n).Set(copied(v.Index(n), seen))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			c.SetMapIndex(key, copied(value, seen))
		}
		return c
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		c.Set(copied(v.Elem(), seen))
		return c
	}
	return v
}
