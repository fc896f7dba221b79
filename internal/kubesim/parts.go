package kubesim

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
)

// part is what of an object a write may change.
type part int

const (
	wholeObject  part = iota
	allButStatus      // a write to the resource itself
	onlyStatus        // a write to its status subresource; labels and annotations count in
)

// restrict undoes in obj what a write to this part may not change from was.
func (p part) restrict(obj, was object) {
	if p == wholeObject {
		return
	}
	to, from := reflect.ValueOf(obj).Elem(), reflect.ValueOf(was.DeepCopyObject()).Elem()
	for i := range to.NumField() {
		name := to.Type().Field(i).Name
		if name == "TypeMeta" || name == "ObjectMeta" {
			continue
		}
		if (name == "Status") == (p == allButStatus) {
			to.Field(i).Set(from.Field(i))
		}
	}
	if p == onlyStatus {
		obj.SetOwnerReferences(was.GetOwnerReferences())
		obj.SetFinalizers(was.GetFinalizers())
	}
}

func clearStatus(obj object) {
	reflect.ValueOf(obj).Elem().FieldByName("Status").SetZero()
}

// specChanged reports whether two objects of one kind differ in spec.
func specChanged(a, b object) bool {
	return !equality.Semantic.DeepEqual(
		reflect.ValueOf(a).Elem().FieldByName("Spec").Interface(),
		reflect.ValueOf(b).Elem().FieldByName("Spec").Interface())
}
