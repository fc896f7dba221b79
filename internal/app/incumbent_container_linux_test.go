package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is the process of a pod's one container.
type container struct {
	said    *lines
	token   string // of its service account
	address string // of what it serves
	cmd     *exec.Cmd
	ended   chan struct{}
	how     error // once ended is closed
}

// user is who the process is in the image.
const user = 65532

// build is the program, as the image has it.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "sluice")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "sluice.dev/sluice/cmd/sluice")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build sluice: %v: %s", err, out)
	}
	return binary
}

// start runs the pod's container as a kubelet does: in a root directory of its own, which holds the program under both of the image's names and what the pod
// mounts, as the image's user, with the pod's command and environment and no other.
func (f *takeover) start(t *testing.T, m incumbent, pod *corev1.Pod) *container {
	t.Helper()
	c := &container{said: &lines{}, ended: make(chan struct{})}
	root := t.TempDir()
	if err := errors.Join(os.Chmod(root, 0o755), os.Link(f.binary, filepath.Join(root, "cluster-autoscaler")), os.Link(f.binary, filepath.Join(root, "sluice"))); err != nil { // #nosec G302 -- another user reads it
		t.Fatal(err)
	}
	if len(pod.Spec.Containers) != 1 {
		t.Fatalf("%d containers, want one", len(pod.Spec.Containers))
	}
	of := pod.Spec.Containers[0]
	for _, mount := range of.VolumeMounts {
		f.mount(t, c, pod, filepath.Join(root, mount.MountPath), mount.Name)
	}
	env := f.environment(t, pod)
	api, err := url.Parse(f.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c.address = free(t)
	flags := append(slices.Clone(hastened), "--address="+c.address)
	more := []string{"HTTPS_PROXY=" + f.azure.proxy}
	if slices.Contains(env, "ARM_USE_MANAGED_IDENTITY_EXTENSION=true") || len(env) == 0 {
		flags = append(flags, "--azure-metadata-endpoint="+f.azure.metadata)
	}
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil && v.HostPath.Path == authorities }) {
		put(t, root, "authority.pem", f.azure.authority)
		more = append(more, "SSL_CERT_FILE=/authority.pem")
	}
	if m.handBack {
		flags = append(flags, "--hand-back")
	}
	t.Logf("added to %s.yaml: %s %s", m.manifest, strings.Join(flags, " "), strings.Join(more, " "))

	if of.Command == nil {
		of.Command = []string{"/sluice"} // the image's entry point
	}
	line := append(slices.Concat(of.Command, of.Args), flags...)
	c.cmd = exec.Command(line[0], line[1:]...) // #nosec G204 -- it is the test's
	// A kubelet tells a container where the API server is.
	c.cmd.Env = append(env, append(more, "KUBERNETES_SERVICE_HOST="+api.Hostname(), "KUBERNETES_SERVICE_PORT="+api.Port())...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = "/", c.said, c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user, NoSetGroups: true}}
	if os.Getuid() != 0 {
		c.cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		c.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	}
	if err := c.cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			t.Skipf("the kernel lets this user start no process in a root directory of its own: run the test as root, or allow user namespaces: %v", err)
		}
		t.Fatal(err)
	}
	go func() {
		c.how = c.cmd.Wait()
		close(c.ended)
	}()
	f.running = c
	return c
}

// stop tells the container that runs, if one does, to end, and waits for that.
func (f *takeover) stop(t *testing.T) {
	t.Helper()
	c := f.running
	if c == nil {
		return
	}
	f.running = nil
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	<-c.ended
	if c.how != nil {
		t.Errorf("it ended with %v", c.how)
	}
}

// failed is why the container has ended by itself; nil while it has not.
func (c *container) failed() error {
	if c == nil {
		return nil
	}
	select {
	case <-c.ended:
		return fmt.Errorf("it ended by itself: %w", c.how)
	default:
		return nil
	}
}

func (c *container) log() string {
	if c == nil {
		return ""
	}
	return c.said.String()
}

// get is what it answers; 0 when it does not.
func (c *container) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(text)
}

// environment is that of the pod's container, with what it names in Secrets.
func (f *takeover) environment(t *testing.T, pod *corev1.Pod) (all []string) {
	t.Helper()
	for _, e := range pod.Spec.Containers[0].Env {
		switch from := e.ValueFrom; {
		case from == nil:
		case from.SecretKeyRef != nil:
			value, there := f.secret(t, pod.Namespace, from.SecretKeyRef.Name)[from.SecretKeyRef.Key]
			if !there {
				t.Fatalf("%s: secret %s has no key %s", e.Name, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
			}
			e.Value = string(value)
		default:
			t.Fatalf("%s: its value is of no kind that is known here", e.Name)
		}
		all = append(all, e.Name+"="+e.Value)
	}
	return all
}

func (f *takeover) secret(t *testing.T, namespace, name string) map[string][]byte {
	t.Helper()
	s, err := f.admin.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s.Data
}

// mount puts what a volume of the pod holds at a path.
func (f *takeover) mount(t *testing.T, c *container, pod *corev1.Pod, at, volume string) {
	t.Helper()
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if i < 0 {
		t.Fatalf("there is no volume %s", volume)
	}
	switch v := pod.Spec.Volumes[i]; {
	case v.Secret != nil:
		data := f.secret(t, pod.Namespace, v.Secret.SecretName)
		for _, item := range v.Secret.Items {
			put(t, at, item.Path, data[item.Key])
		}
	case v.HostPath != nil && v.HostPath.Path == authorities: // of a machine that trusts the simulated Azure
		put(t, filepath.Dir(at), filepath.Base(at), f.azure.authority)
	case v.HostPath != nil:
		if err := os.MkdirAll(at, 0o755); err != nil { // #nosec G301 -- another user reads it
			t.Fatal(err)
		}
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			f.project(t, c, pod, at, source)
		}
	default:
		t.Fatalf("volume %s is of no kind that is known here", volume)
	}
}

// project puts what admission adds to every pod: its service account's token, and by what the API server is known.
func (f *takeover) project(t *testing.T, c *container, pod *corev1.Pod, at string, source corev1.VolumeProjection) {
	t.Helper()
	switch {
	case source.ServiceAccountToken != nil:
		token, err := f.admin.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{
				ExpirationSeconds: source.ServiceAccountToken.ExpirationSeconds,
				BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.token = token.Status.Token
		put(t, at, source.ServiceAccountToken.Path, []byte(c.token))
	case source.ConfigMap != nil:
		from, err := f.admin.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), source.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range source.ConfigMap.Items {
			put(t, at, item.Path, []byte(from.Data[item.Key]))
		}
	case source.DownwardAPI != nil:
		put(t, at, "namespace", []byte(pod.Namespace))
	}
}

func put(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), text, 0o644)); err != nil { // #nosec G301 G306 -- another user reads it
		t.Fatal(err)
	}
}

// free is an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// beside runs something until the test ends.
func beside(t *testing.T, run func(context.Context) error) {
	t.Helper()
	life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var serve sync.WaitGroup
	serve.Go(func() {
		if err := run(life); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serve.Wait()
	})
}

// lines is what a log has said.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
