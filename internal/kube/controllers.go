package kube

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// Besides is what is read besides what every decision reads. The zero value is nothing: no right to read it is needed.
type Besides struct {
	RankingNamespace string // where the ConfigMap [cluster.RankingName] is; "" for nowhere

	Controllers bool // that ReplicaSets, ReplicationControllers and StatefulSets exist
	Replicas    bool // how many replicas the first two are to have as well, for which they are read as a whole
}

// Which form of objects is asked for. The API server leaves out of a partial object all but its metadata.
const (
	wholeObjects   = runtime.ContentTypeJSON
	partialObjects = runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," + runtime.ContentTypeJSON
	partialLists   = runtime.ContentTypeJSON + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," + runtime.ContentTypeJSON
)

// controller is what is read of a controller's object.
type controller struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32 `json:"replicas"`
	} `json:"spec"`
}

// DeepCopyObject makes it a runtime.Object; nobody copies it.
func (c *controller) DeepCopyObject() runtime.Object {
	own := *c
	return &own
}

// controllers are the kinds of [cluster.Controllers].
type controllers struct {
	replicaSets, replicationControllers, statefulSets resource[*controller]
}

func controllersOf(c kubernetes.Interface, replicas bool) controllers {
	of := func(name, group, path string, counted bool) resource[*controller] {
		reader := custom[controller]{client: c, paths: []string{path}, empty: func() object { return new(controller) }, item: partialObjects, list: partialLists}
		if counted {
			reader.item, reader.list = wholeObjects, wholeObjects
		}
		return resourceOf(name, group, new(controller), reader)
	}
	return controllers{
		replicaSets:            of("replicasets", "apps", "/apis/apps/v1/replicasets", replicas),
		replicationControllers: of("replicationcontrollers", "", "/api/v1/replicationcontrollers", replicas),
		statefulSets:           of("statefulsets", "apps", "/apis/apps/v1/statefulsets", false),
	}
}

// keepController is what is kept of a controller, with its replicas where somebody counts them.
func keepController(counted bool) func(*controller) *cluster.Controller {
	return func(c *controller) *cluster.Controller {
		kept := &cluster.Controller{Namespace: c.Namespace, Name: c.Name, UID: c.UID}
		if counted {
			kept.Replicas = c.Spec.Replicas
		}
		return kept
	}
}

// controllerRecords keeps controllers as records.
func controllerRecords() form[*cluster.Controller] {
	return form[*cluster.Controller]{
		name: func(c *cluster.Controller) name { return name{c.Namespace, c.Name} },
		uid:  func(c *cluster.Controller) types.UID { return c.UID },
		same: (*cluster.Controller).Equal,
	}
}

// controllerFeeds follow them.
type controllerFeeds struct {
	replicaSets, replicationControllers, statefulSets *feed[*controller, *cluster.Controller]
}

func (o *Observer) followControllers(client kubernetes.Interface, with Options) {
	if !with.Controllers {
		return
	}
	of := func(r resource[*controller], counted bool) *feed[*controller, *cluster.Controller] {
		f := newFeed(client, r, with, o.stirred, nil, keepController(counted), controllerRecords())
		o.feeds = append(o.feeds, f)
		return f
	}
	r := controllersOf(client, with.Replicas)
	o.controllers = &controllerFeeds{
		replicaSets:            of(r.replicaSets, with.Replicas),
		replicationControllers: of(r.replicationControllers, with.Replicas),
		statefulSets:           of(r.statefulSets, false),
	}
}

// objects are the controllers as far as the API server has told of them.
func (fs *controllerFeeds) objects() cluster.Controllers {
	if fs == nil {
		return cluster.Controllers{}
	}
	return cluster.Controllers{
		Known: true, ReplicaSets: fs.replicaSets.objects(), ReplicationControllers: fs.replicationControllers.objects(), StatefulSets: fs.statefulSets.objects(),
	}
}
