package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/web"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// host is the address of the pods: one for documentation, which this machine answers for.
const host = "192.0.2.1"

// podAt reaches a pod where it listens.
func podAt(address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return net.Dial("tcp4", net.JoinHostPort("127.0.0.1", port))
}

// key lets in who shows it.
type key string

func (k key) May(_ context.Context, token, _ string) error {
	if token == string(k) {
		return nil
	}
	return web.ErrUnknown
}

// steady is a cycle in which group agents is steady.
func steady() journal.Entry {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	g := &cluster.Group{ID: "agents", Max: 3, Capacity: 1, Read: cluster.Read{At: now, Complete: true}}
	because := []reason.Reason{reason.New(reason.GroupSteady, reason.Group("agents"), "nodes", 1, "capacity", 1, "min", 0, "max", 3)}
	return journal.Entry{
		Cycle: 7, Seen: cluster.New(now, cluster.Objects{}, []*cluster.Group{g}), Policy: &policy.Policy{},
		Plan: action.Plan{Time: now, Verdicts: []action.Verdict{{Subject: reason.Group("agents"), Outcome: action.GroupSteady, Because: because}}},
	}
}

// TestARealAPIServerLeadsToSluice has a replica that stands by behind the service, in a pod, and one that leads in another: in the clear, and over TLS
// with --web-authorization. It has an administrator ask, and people with the rights of deploy/reader.yaml and with none.
func TestARealAPIServerLeadsToSluice(t *testing.T) {
	nowhere(t)
	config := controlplanetest.StartThrough(t, podAt)
	admin, err := kubernetes.NewForConfig(config)
	must(t, err)
	_, err = admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	// replica is a pod that answers.
	replica := func(name string, h http.Handler, secure bool) (port int32) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		must(t, err)
		s := httptest.NewUnstartedServer(h)
		_ = s.Listener.Close()
		if s.Listener = l; secure {
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		_, number, _ := net.SplitHostPort(l.Addr().String())
		n, err := strconv.ParseInt(number, 10, 32)
		must(t, err)
		port = int32(n)
		pods := admin.CoreV1().Pods(deploy.Namespace)
		pod, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "sluice", Image: "sluice", Ports: []corev1.ContainerPort{{ContainerPort: port}}}}},
		}, metav1.CreateOptions{})
		must(t, err)
		pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host, PodIPs: []corev1.PodIP{{IP: host}}}
		_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		must(t, err)
		return port
	}
	// service leads to a pod.
	service := func(name, pod string, port int32) {
		meta := metav1.ObjectMeta{Name: name}
		_, err := admin.CoreV1().Services(deploy.Namespace).Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 8085}}}}, metav1.CreateOptions{})
		must(t, err)
		_, err = admin.CoreV1().Endpoints(deploy.Namespace).Create(t.Context(), &corev1.Endpoints{ObjectMeta: meta, Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: deploy.Namespace, Name: pod}}},
			Ports:     []corev1.EndpointPort{{Name: "http", Port: port}},
		}}}, metav1.CreateOptions{})
		must(t, err)
	}
	leads := func(o web.Options) http.Handler {
		s := web.New(o)
		s.Report(steady())
		return s.Handler()
	}
	replica("leader-0", leads(web.Options{}), false)
	service("sluice", "standby-0", replica("standby-0", standby("leader-0_0a0a0a0a_0b0b0b0b"), false))
	service("locked", "locked-0", replica("locked-0", leads(web.Options{Access: key("open")}), true))
	grantReader(t, admin)
	service("alone", "alone-0", replica("alone-0", leads(web.Options{}), false))

	mine := kubeconfigOf(t, config)
	ask := func(line ...string) said { return sluice(t.Context(), append(line, "--kubeconfig="+mine)...) }
	ask("plan").expect(t, exitNothing, "2026-03-01 12:00:00 UTC: nothing to do", "agents  steady")
	ask("explain", "group", "agents").expect(t, exitNothing, "group agents: steady", "cycle 7")
	ask("explain", "group", "agnts").complains(t, "did you mean agents?")
	ask("plan", "--server=kube-system/locked").complains(t, "--web-authorization", "--token")
	ask("plan", "--server=kube-system/locked", "--token=open").expect(t, exitNothing, "agents  steady")
	ask("plan", "--server=kube-system/locked", "--token=forged").complains(t, "refuses --token", "does not know this token")
	ask("plan", "--server=kube-system/absent").complains(t, "--server=kube-system/absent", "there is no service kube-system/absent")
	ask("top").expect(t, exitNothing, "x LAST", " agents ", "the last is of 2026-03-01 12:00:00 UTC")
	ask("top", "--server=kube-system/locked").complains(t, "--web-authorization", "--token")
	ask("top", "--server=kube-system/locked", "--token=open").expect(t, exitNothing, " agents ")
	ask("top", "--as=bob").complains(t, `User "bob" cannot get resource "services/proxy"`, "apply deploy/reader.yaml", "rolebinding sluice-readers --role=sluice-reader")
	ask("plan", "--as=bob").complains(t, `User "bob" cannot get resource "services/proxy"`, "deploy/reader.yaml")
	var got said
	for { // the API server's authorizer hears of the new binding by a watch
		if got = ask("plan", "--as=jane"); !strings.Contains(got.complaint, "forbidden") || t.Context().Err() != nil {
			break
		}
	}
	got.complains(t, "stands by: ask leader-0_0a0a0a0a_0b0b0b0b, which leads") // her right leads to the service alone, behind which is no other replica here
	ask("plan", "--as=jane", "--server=kube-system/alone").complains(t, `services "http:alone:8085" is forbidden`)
}

// grantReader binds jane to the Role of deploy/reader.yaml.
func grantReader(t *testing.T, admin kubernetes.Interface) {
	t.Helper()
	var role rbacv1.Role
	must(t, utilyaml.UnmarshalStrict(deploy.Reader, &role))
	_, err := admin.RbacV1().Roles(deploy.Namespace).Create(t.Context(), &role, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.RbacV1().RoleBindings(deploy.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}},
	}, metav1.CreateOptions{})
	must(t, err)
}

// kubeconfigOf writes a configuration as a user has it.
func kubeconfigOf(t *testing.T, c *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"c": {Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {Token: c.BearerToken, ClientCertificate: c.CertFile, ClientKey: c.KeyFile, ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}},
		Contexts:  map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	}, file))
	return file
}
