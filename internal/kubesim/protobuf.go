package kubesim

import (
	"encoding/binary"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Watches may be asked for in protobuf, as client-go's typed clients ask for them where nobody says otherwise: reading events is most of
// what a client of the API does, and protobuf takes it a fraction of the time. All else is answered in JSON, which every client accepts.

// magic opens an object in protobuf.
const magic = "k8s\x00"

// accepts reports whether an Accept header asks for protobuf before anything else.
func accepts(header string) bool {
	first, _, _ := strings.Cut(header, ",")
	return strings.HasPrefix(first, runtime.ContentTypeProtobuf)
}

// marshaler is an object that has a form in protobuf; those of custom resources have none.
type marshaler interface{ Marshal() ([]byte, error) }

// message is an object in protobuf, in the envelope that says what it is.
func message(of metav1.TypeMeta, o marshaler) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: of.APIVersion, Kind: of.Kind}, Raw: mustMarshal(o)}
	return append([]byte(magic), mustMarshal(&unknown)...)
}

func mustMarshal(o marshaler) []byte {
	b, err := o.Marshal()
	if err != nil {
		panic("kubesim: " + err.Error())
	}
	return b
}

// framed appends a watch event: its length in four bytes, the highest first, then itself.
func framed(b []byte, typ string, object []byte) []byte {
	event := mustMarshal(&metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}})
	b = binary.BigEndian.AppendUint32(b, uint32(len(event)))
	return append(b, event...)
}

// message returns the object in protobuf as kind k shows it.
func (e *entry) message(k *kind) []byte {
	of := metav1.TypeMeta{APIVersion: k.apiVersion(), Kind: k.name}
	if k.stored != nil {
		return message(of, viewAs(k, e.obj).(marshaler))
	}
	e.marshal.Do(func() { e.protobuf = message(of, e.obj.(marshaler)) })
	return e.protobuf
}
