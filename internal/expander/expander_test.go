package expander

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// protocol describes the service as a server's generated code would have it, so that both sides agree on more than this package's view.
func protocol(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	type kind = descriptorpb.FieldDescriptorProto_Type
	const (
		text    = descriptorpb.FieldDescriptorProto_TYPE_STRING
		number  = descriptorpb.FieldDescriptorProto_TYPE_INT32
		octets  = descriptorpb.FieldDescriptorProto_TYPE_BYTES
		message = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	field := func(name string, n int32, k kind, repeated bool, of string) *descriptorpb.FieldDescriptorProto {
		label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		if repeated {
			label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		}
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &n, Type: &k, Label: &label}
		if of != "" {
			f.TypeName = &of
		}
		return f
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("expander.proto"), Package: proto.String("grpcplugin"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{
				Name: proto.String("BestOptionsRequest"),
				Field: []*descriptorpb.FieldDescriptorProto{
					field("options", 1, message, true, ".grpcplugin.Option"),
					field("nodeBytesMap", 3, message, true, ".grpcplugin.BestOptionsRequest.NodeBytesMapEntry"),
				},
				NestedType: []*descriptorpb.DescriptorProto{{
					Name: proto.String("NodeBytesMapEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
					Field: []*descriptorpb.FieldDescriptorProto{field("key", 1, text, false, ""), field("value", 2, octets, false, "")},
				}},
			},
			{Name: proto.String("BestOptionsResponse"), Field: []*descriptorpb.FieldDescriptorProto{field("options", 1, message, true, ".grpcplugin.Option")}},
			{Name: proto.String("Option"), Field: []*descriptorpb.FieldDescriptorProto{
				field("nodeGroupId", 1, text, false, ""), field("nodeCount", 2, number, false, ""),
				field("debug", 3, text, false, ""), field("podBytes", 5, octets, true, ""),
			}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// get is a field of a message.
func get(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

// serve answers with the groups that choose names, over TLS. It returns the address and the file of its certificate.
func serve(t *testing.T, choose func(question *dynamicpb.Message) ([]string, error)) (address, certificate string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "expander"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = filepath.Join(t.TempDir(), "server.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	messages := protocol(t).Messages()
	handler := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		question := dynamicpb.NewMessage(messages.ByName("BestOptionsRequest"))
		if err := decode(question); err != nil {
			return nil, err
		}
		chosen, err := choose(question)
		if err != nil {
			return nil, err
		}
		answer := dynamicpb.NewMessage(messages.ByName("BestOptionsResponse"))
		options := answer.Mutable(answer.Descriptor().Fields().ByName("options")).List()
		for _, name := range chosen {
			option := options.AppendMutable().Message()
			option.Set(option.Descriptor().Fields().ByName("nodeGroupId"), protoreflect.ValueOfString(name))
			option.Set(option.Descriptor().Fields().ByName("nodeCount"), protoreflect.ValueOfInt32(7))
		}
		return answer, nil
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "grpcplugin.Expander", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "BestOptions", Handler: handler}},
	}, struct{}{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(server.Stop)
	return listener.Addr().String(), certificate
}

func offers() []Offer {
	pod, node := &corev1.Pod{}, &corev1.Node{}
	pod.Name, pod.Namespace, node.Labels = "web-0", "default", map[string]string{"disk": "ssd"}
	return []Offer{{Group: "agents", Nodes: 3, Pods: []*corev1.Pod{pod}, Node: node}, {Group: "render", Nodes: 1}}
}

func TestARealServerUnderstandsTheQuestion(t *testing.T) {
	address, certificate := serve(t, func(q *dynamicpb.Message) ([]string, error) {
		options := get(q, "options").List()
		if options.Len() != 2 {
			t.Fatalf("%d options, want 2", options.Len())
		}
		first := options.Get(0).Message()
		if id, count, debug := get(first, "nodeGroupId").String(), get(first, "nodeCount").Int(), get(first, "debug").String(); id != "agents" || count != 3 || debug != "agents (3 machines for 1 pods)" {
			t.Errorf("the first option is %s, %d, %q", id, count, debug)
		}
		var pod corev1.Pod
		if pods := get(first, "podBytes").List(); pods.Len() != 1 || pod.Unmarshal(pods.Get(0).Bytes()) != nil || pod.Name != "web-0" {
			t.Errorf("its pods are %v", pods)
		}
		nodes := get(q, "nodeBytesMap").Map()
		var node corev1.Node
		if raw := nodes.Get(protoreflect.ValueOfString("agents").MapKey()); nodes.Len() != 1 || node.Unmarshal(raw.Bytes()) != nil || node.Labels["disk"] != "ssd" {
			t.Errorf("the nodes are %v", nodes)
		}
		return []string{"render", "agents"}, nil
	})
	c, err := Dial(address, certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	chosen, err := c.Best(t.Context(), offers())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]cluster.GroupID{"render", "agents"}, chosen); d != "" {
		t.Errorf("the answer (-want +got):\n%s", d)
	}
}

func TestAnEmptyAnswerNamesNobody(t *testing.T) {
	address, certificate := serve(t, func(*dynamicpb.Message) ([]string, error) { return nil, nil })
	c, err := Dial(address, certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	if chosen, err := c.Best(t.Context(), offers()); err != nil || len(chosen) > 0 {
		t.Errorf("the answer is %v, %v", chosen, err)
	}
}

func TestAServerThatDoesNotAnswerIsAnError(t *testing.T) {
	address, certificate := serve(t, func(*dynamicpb.Message) ([]string, error) { return nil, status.Error(codes.Internal, "out of ideas") })
	_, strangers := serve(t, func(*dynamicpb.Message) ([]string, error) { return nil, nil })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx                  context.Context
		address, certificate string
		want                 string
	}{
		"it fails":                        {t.Context(), address, certificate, "out of ideas"},
		"its certificate is a stranger's": {t.Context(), address, strangers, "certificate"},
		"time is up":                      {over, address, certificate, "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(tc.address, tc.certificate)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // nothing is lost with it
			if chosen, err := c.Best(tc.ctx, offers()); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.address) {
				t.Errorf("%v, error %v, want one that says %q and where", chosen, err, tc.want)
			}
		})
	}
}

func TestADamagedAnswerIsAnError(t *testing.T) {
	for name, raw := range map[string][]byte{"cut in a tag": {0x80}, "cut in an option": {0x0a, 0x05, 0x0a}, "cut in a name": {0x0a, 0x03, 0x0a, 0x05, 'a'}, "cut in a number": {0x10, 0x80}} {
		if all, err := groups(raw); err == nil {
			t.Errorf("%s: read as %v", name, all)
		}
	}
}

func TestWhatAServerNeedsIsSaid(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ url, certificate, want string }{
		{"", "x", "--grpc-expander-url is empty"},
		{"a:7000", "", "--grpc-expander-cert is empty"},
		{"a:7000", "/nowhere.pem", "--grpc-expander-cert=/nowhere.pem"},
		{"a:7000", empty, "at least one certificate"},
	} {
		if _, err := Dial(tc.url, tc.certificate); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, %q: error %v, want one that says %q", tc.url, tc.certificate, err, tc.want)
		}
	}
}
