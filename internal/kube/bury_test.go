package kube

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// left is a cluster with node a of a distribution, a volume attached to it, and the passwords of a and b.
func left(t *testing.T, version string) (*kubesim.Cluster, []cluster.Attachment) {
	t.Helper()
	c := &kubesim.Cluster{}
	n := node("a")
	n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.SystemUUID = version, "vm-a"
	volume := "disk"
	create(
		t, c, n,
		&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "csi-a"}, Spec: storagev1.VolumeAttachmentSpec{
			Attacher: "disk.csi.azure.com", NodeName: "a", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "a.node-password.k3s"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "b.node-password.k3s"}},
	)
	return c, []cluster.Attachment{{Name: "csi-a", UID: uidOf[*storagev1.VolumeAttachment](t, c, "", "csi-a")}}
}

// remains are what of it is there.
func remains(c *kubesim.Cluster) (all []string) {
	for _, n := range kubesim.All[*corev1.Node](c, "") {
		all = append(all, n.Name)
	}
	for _, a := range kubesim.All[*storagev1.VolumeAttachment](c, "") {
		all = append(all, a.Name)
	}
	for _, s := range kubesim.All[*corev1.Secret](c, "kube-system") {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return all
}

func TestDeleteNodeTakesAlongWhatTheMachineLeftBehind(t *testing.T) {
	everything := []string{"a", "a.node-password.k3s", "b.node-password.k3s", "csi-a"}
	for name, test := range map[string]struct {
		version, machine string
		uid              types.UID // "" means the node's own
		attachments      bool
		kind             error
		want             []string
	}{
		"of K3s":                            {"v1.34.1+k3s1", "vm-a", "", true, nil, []string{"b.node-password.k3s"}},
		"of another distribution":           {"v1.34.1", "vm-a", "", true, nil, []string{"a.node-password.k3s", "b.node-password.k3s"}},
		"of RKE2, which names it otherwise": {"v1.34.1+rke2r1", "vm-a", "", true, nil, []string{"a.node-password.k3s", "b.node-password.k3s"}},
		"attachments that nobody named":     {"v1.34.1+k3s1", "vm-a", "", false, nil, []string{"b.node-password.k3s", "csi-a"}},
		"another node of the name":          {"v1.34.1+k3s1", "vm-a", "another-uid", true, nil, everything},
		"another machine took the node":     {"v1.34.1+k3s1", "vm-before", "", true, ErrConflict, everything},
	} {
		t.Run(name, func(t *testing.T) {
			c, attachments := left(t, test.version)
			if !test.attachments {
				attachments = nil
			}
			uid := test.uid
			if uid == "" {
				uid = uidOf[*corev1.Node](t, c, "", "a")
			}
			for range 2 { // it may be repeated
				err := Writer{Client: clientOf(t, c)}.DeleteNode(t.Context(), "a", uid, test.machine, attachments)
				if !errors.Is(err, test.kind) || (err == nil) != (test.kind == nil) {
					t.Fatalf("got %v, want %v", err, test.kind)
				}
			}
			if diff := cmp.Diff(test.want, remains(c)); diff != "" {
				t.Error("left (-want +got)\n" + diff)
			}
		})
	}
}

func TestANodeIsDeletedWithoutTheRightToItsPassword(t *testing.T) {
	c, attachments := left(t, "v1.34.1+k3s1")
	c.Inject(kubesim.Fault{Verb: "delete", Resource: "secrets", Code: 403, Reason: metav1.StatusReasonForbidden})
	err := Writer{Client: clientOf(t, c)}.DeleteNode(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), "vm-a", attachments)
	if !errors.Is(err, ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a.node-password.k3s", "b.node-password.k3s"}, remains(c)); diff != "" {
		t.Error("left (-want +got)\n" + diff)
	}
}

// TestTheNodeGoesLast keeps the Node object, by which the next leader goes on, while anything else fails.
func TestTheNodeGoesLast(t *testing.T) {
	for _, resource := range []string{"volumeattachments", "secrets"} {
		c, attachments := left(t, "v1.34.1+k3s1")
		c.Inject(kubesim.Fault{Verb: "delete", Resource: resource, Code: 500})
		if err := (Writer{Client: clientOf(t, c)}).DeleteNode(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), "vm-a", attachments); err == nil {
			t.Errorf("%s: no error", resource)
		}
		if _, there := kubesim.Find[*corev1.Node](c, "", "a"); !there {
			t.Errorf("%s could not be deleted, and the node was", resource)
		}
	}
}

// TestADeletionOfSeveralWritesIsAskedForBeforeEach has the permission end before each of the three in turn.
func TestADeletionOfSeveralWritesIsAskedForBeforeEach(t *testing.T) {
	over := errors.New("it is over")
	for writes, want := range [][]string{
		{"a", "a.node-password.k3s", "b.node-password.k3s", "csi-a"},
		{"a", "a.node-password.k3s", "b.node-password.k3s"},
		{"a", "b.node-password.k3s"},
		{"b.node-password.k3s"},
	} {
		c, attachments := left(t, "v1.34.1+k3s1")
		n := 0
		w := Writer{Client: clientOf(t, c), Still: func() error {
			if n++; n > writes {
				return over
			}
			return nil
		}}
		err := w.DeleteNode(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), "vm-a", attachments)
		if errors.Is(err, over) != (writes < 3) {
			t.Errorf("after %d writes: %v", writes, err)
		}
		if diff := cmp.Diff(want, remains(c)); diff != "" {
			t.Errorf("after %d writes (-want +got)\n%s", writes, diff)
		}
	}
}

// TestANodeThatIsTakenOverMeanwhileIsKept lets another machine register between the read and the deletion.
func TestANodeThatIsTakenOverMeanwhileIsKept(t *testing.T) {
	c, _ := left(t, "v1.34.1")
	w := writerBehind(t, c, "DELETE", func() {
		edit(t, c, "", "a", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "vm-new" })
	})
	err := w.DeleteNode(t.Context(), "a", uidOf[*corev1.Node](t, c, "", "a"), "vm-a", nil)
	if _, there := kubesim.Find[*corev1.Node](c, "", "a"); !there || !errors.Is(err, ErrConflict) {
		t.Errorf("there: %t, error %v", there, err)
	}
}

// TestANodeThatFinalizersHoldIsDeletedOnce deletes a node that stays until its finalizer is gone.
func TestANodeThatFinalizersHoldIsDeletedOnce(t *testing.T) {
	c, _ := left(t, "v1.36.3+k3s1")
	if err := kubesim.Edit(c, "", "a", func(n *corev1.Node) { n.Finalizers = []string{"wrangler.cattle.io/node"} }); err != nil {
		t.Fatal(err)
	}
	uid, writer := uidOf[*corev1.Node](t, c, "", "a"), Writer{Client: clientOf(t, c)}
	erase := func() {
		t.Helper()
		if err := writer.DeleteNode(t.Context(), "a", uid, "vm-a", nil); err != nil {
			t.Fatal(err)
		}
		if n, there := kubesim.Find[*corev1.Node](c, "", "a"); !there || n.DeletionTimestamp == nil {
			t.Fatalf("the node is there: %t", there)
		}
	}
	erase()
	create(t, c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "a.node-password.k3s"}})
	erase()
	if _, there := kubesim.Find[*corev1.Secret](c, "kube-system", "a.node-password.k3s"); !there {
		t.Error("the second deletion has deleted again what belongs to the node")
	}
}
