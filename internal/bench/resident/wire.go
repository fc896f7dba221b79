package resident

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// wire writes objects as an API server does to clients that prefer protobuf, as those of client-go do.
var wire = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// form is the media type that the kind is answered in.
func (k *kind) form() string {
	if k.partial {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeProtobuf
}

// fresh is an empty object of the kind, or a list of such.
func (k *kind) fresh(list bool) (runtime.Object, error) {
	of := k.of
	var o runtime.Object = &metav1.PartialObjectMetadata{}
	if k.partial {
		of = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	}
	if list {
		of.Kind += "List"
		o = &metav1.PartialObjectMetadataList{}
	}
	if !k.partial {
		var err error
		if o, err = scheme.Scheme.New(of); err != nil {
			return nil, err
		}
	}
	o.GetObjectKind().SetGroupVersionKind(of)
	return o, nil
}

// encode writes one object.
func (k *kind) encode(w io.Writer, o runtime.Object) error {
	if k.partial {
		return json.NewEncoder(w).Encode(o)
	}
	return wire.Encode(o, w)
}

// write answers with one object.
func (k *kind) write(w http.ResponseWriter, o runtime.Object) error {
	w.Header().Set("Content-Type", k.form())
	return k.encode(w, o)
}

// send writes one event: in JSON a document, in protobuf a frame, which is its length in four bytes, the highest first, then the event.
func (k *kind) send(w io.Writer, what watch.EventType, o object) error {
	var text bytes.Buffer
	if err := k.encode(&text, o); err != nil {
		return err
	}
	event := metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Raw: text.Bytes()}}
	if k.partial {
		return json.NewEncoder(w).Encode(event)
	}
	frame, err := event.Marshal()
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}
