package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	restartsAll = "RestartAllContainersOnContainerExits"
	hostUsers   = "UserNamespacesHostNetworkSupport"
)

func declares(features ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{DeclaredFeatures: features}}
}

func restartsTogether(s *corev1.PodSpec) {
	rule := corev1.ContainerRestartRule{Action: corev1.ContainerRestartRuleActionRestartAllContainers}
	s.Containers = []corev1.Container{{RestartPolicyRules: []corev1.ContainerRestartRule{rule}}}
}

func sharesNetwork(s *corev1.PodSpec) { s.HostNetwork, s.HostUsers = true, new(false) }

func TestAKubeletDeclaresWhatPodsNeedOfIt(t *testing.T) {
	both := func(s *corev1.PodSpec) { restartsTogether(s); sharesNetwork(s) }
	for name, c := range map[string]struct {
		needs      func(*corev1.PodSpec)
		node       *corev1.Node
		undeclared []string
	}{
		"a pod that needs nothing goes anywhere":    {needs: func(*corev1.PodSpec) {}, node: declares()},
		"what is declared is there":                 {needs: restartsTogether, node: declares(restartsAll)},
		"what nobody needs is no matter":            {needs: restartsTogether, node: declares("Another", restartsAll, hostUsers)},
		"a kubelet that says nothing has nothing":   {needs: restartsTogether, node: declares(), undeclared: []string{restartsAll}},
		"another feature does not stand in for one": {needs: restartsTogether, node: declares(hostUsers), undeclared: []string{restartsAll}},
		"one of two is too little":                  {needs: both, node: declares(restartsAll), undeclared: []string{hostUsers}},
		"both are named when both lack":             {needs: both, node: declares(), undeclared: []string{restartsAll, hostUsers}},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(1)
			rules := NewRules(table)
			h := table.Node(c.node, nil)
			var spec corev1.PodSpec
			c.needs(&spec)
			demand := rules.Demand(&spec)
			for range 2 { // the second answer is remembered
				if got := rules.Declared(demand, h); got != (c.undeclared == nil) {
					t.Errorf("declared: %t", got)
				}
			}
			if demand != nil && !slices.Equal(demand.Undeclared(c.node), c.undeclared) {
				t.Errorf("undeclared %v, want %v", demand.Undeclared(c.node), c.undeclared)
			}
		})
	}
}

func TestAKubeletThatIsUpdatedIsAskedAgain(t *testing.T) {
	table := NewTable(1)
	rules := NewRules(table)
	h := table.Node(declares(), nil)
	var spec corev1.PodSpec
	sharesNetwork(&spec)
	if rules.Declared(rules.Demand(&spec), h) {
		t.Fatal("a kubelet that declares nothing has the feature")
	}
	table.Replace(h, declares(hostUsers))
	if !rules.Declared(rules.Demand(&spec), h) {
		t.Error("what it declares now is not seen")
	}
}

func TestAMachineDeclaresWhatItsTemplateDoes(t *testing.T) {
	table := NewTable(1)
	rules := NewRules(table)
	var spec corev1.PodSpec
	restartsTogether(&spec)
	demand := rules.Demand(&spec)
	seen, unseen := table.Template(declares(), nil, nil), table.Template(declares(), nil, nil).Unproven()
	if rules.Declared(demand, table.Machine("m0", seen)) {
		t.Error("a group's node declares nothing, and its next machine has the feature")
	}
	if !rules.Declared(demand, table.Machine("m1", unseen)) {
		t.Error("no node has shown what its kubelet declares, and the machine is refused")
	}
	if seen.Digest() == unseen.Digest() {
		t.Error("templates that take other pods count as the same")
	}
}
