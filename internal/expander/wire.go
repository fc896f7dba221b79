package expander

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"sluice.dev/sluice/cluster"
)

// The messages of the protocol:
//
//	BestOptionsRequest  { repeated Option options = 1; map<string, bytes> nodeBytesMap = 3 }  // by group, a v1.Node each
//	BestOptionsResponse { repeated Option options = 1 }
//	Option              { string nodeGroupId = 1; int32 nodeCount = 2; string debug = 3; repeated bytes podBytes = 5 }  // a v1.Pod each
const (
	fieldOptions  = 1
	fieldNodes    = 3
	fieldGroup    = 1
	fieldCount    = 2
	fieldDebug    = 3
	fieldPod      = 5
	fieldMapKey   = 1
	fieldMapValue = 2
)

// request is a BestOptionsRequest.
func request(offers []Offer) ([]byte, error) {
	var out []byte
	for _, o := range offers {
		option, err := encode(o)
		if err != nil {
			return nil, err
		}
		out = nested(out, fieldOptions, option)
	}
	for _, o := range offers {
		if o.Node == nil {
			continue
		}
		node, err := o.Node.Marshal()
		if err != nil {
			return nil, fmt.Errorf("write the template of group %s: %w", o.Group, err)
		}
		out = nested(out, fieldNodes, nested(nested(nil, fieldMapKey, []byte(o.Group)), fieldMapValue, node))
	}
	return out, nil
}

func encode(o Offer) ([]byte, error) {
	out := nested(nil, fieldGroup, []byte(o.Group))
	out = protowire.AppendVarint(protowire.AppendTag(out, fieldCount, protowire.VarintType), uint64(o.Nodes))
	out = nested(out, fieldDebug, fmt.Appendf(nil, "%s (%d machines for %d pods)", o.Group, o.Nodes, len(o.Pods)))
	for _, p := range o.Pods {
		pod, err := p.Marshal()
		if err != nil {
			return nil, fmt.Errorf("write pod %s/%s: %w", p.Namespace, p.Name, err)
		}
		out = nested(out, fieldPod, pod)
	}
	return out, nil
}

// nested appends a field whose value has a length: a message, bytes or a string.
func nested(out []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), value)
}

// groups are the names in a BestOptionsResponse, in its order.
func groups(response []byte) ([]cluster.GroupID, error) {
	var all []cluster.GroupID
	err := fields(response, func(field protowire.Number, option []byte) error {
		if field != fieldOptions {
			return nil
		}
		return fields(option, func(field protowire.Number, value []byte) error {
			if field == fieldGroup {
				all = append(all, cluster.GroupID(value))
			}
			return nil
		})
	})
	return all, err
}

// fields hands out the fields of a message that have a length. Others are passed over.
func fields(message []byte, each func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
				return protowire.ParseError(n)
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := each(field, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// wire passes messages on as they were written above. It has the name of the usual codec, so that servers see nothing unusual.
type wire struct{}

func (wire) Name() string { return "proto" }

func (wire) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("write a %T: it is no message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

func (wire) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("read into a %T: it is no message", v)
	}
	*message = data.Materialize()
	return nil
}
