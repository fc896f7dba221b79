package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// The tags by which cluster-autoscaler is told about nodes; Azure allows no "/" in a tag's name.
const (
	autoscalerTag = "k8s.io_cluster-autoscaler_"
	labelTag      = autoscalerTag + "node-template_label_"
	taintTag      = autoscalerTag + "node-template_taint_"
	resourceTag   = autoscalerTag + "node-template_resources_"
	optionTag     = setting.Option
)

// reported is what the tags of a group say of its nodes. What they say wrongly is in faults, one sentence for each tag, with the remedy; the
// rest of them counts.
type reported struct {
	plain     map[string]string // the tags that can be labels as they are
	labels    map[string]string // in so many words
	taints    []corev1.Taint
	resources corev1.ResourceList
	options   cluster.Options
	model     string // any word: another one says that new machines are made otherwise, in what Azure does not show
	faults    []string
}

// readTags takes a group's tags apart, in the order of their names: of two tags that decode to the same key the later wins.
func readTags(tags map[string]string) reported {
	t := reported{plain: map[string]string{}, labels: map[string]string{}, resources: corev1.ResourceList{}}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		value := tags[tag]
		label, isLabel := strings.CutPrefix(tag, labelTag)
		taint, isTaint := strings.CutPrefix(tag, taintTag)
		resource, isResource := strings.CutPrefix(tag, resourceTag)
		switch {
		case isLabel:
			t.label(tag, decodeKey(label), value)
		case isTaint:
			t.taint(tag, decodeKey(taint), value)
		case isResource:
			t.resource(tag, decodeResource(resource), value)
		case strings.HasPrefix(tag, optionTag):
			t.setting(tag, optionTag, value)
		case strings.HasPrefix(tag, setting.Own):
			t.setting(tag, "", value)
		case !strings.HasPrefix(tag, autoscalerTag) && validLabel(tag, value):
			t.plain[tag] = value
		}
	}
	return t
}

// said is what the tags promise of nodes, and what machines are made of, as [cluster.Group.Reported] has it.
func (t reported) said(made string) map[string]string {
	all := map[string]string{}
	if made += t.model; made != "" {
		all[cluster.AboutModel] = made
	}
	for key, value := range t.labels {
		all[cluster.AboutLabel(key)] = value
	}
	for _, taint := range t.taints {
		all[cluster.AboutTaint(taint)] = taint.Value
	}
	for name, amount := range t.resources {
		all[string(name)] = amount.String()
	}
	return all
}

func (t *reported) fault(tag, value, remedy string) {
	t.faults = append(t.faults, fmt.Sprintf("tag %s=%s has no effect: %s", tag, value, remedy))
}

func (t *reported) label(tag, key, value string) {
	if !validLabel(key, value) {
		t.fault(tag, value, fmt.Sprintf("Kubernetes allows no label %s=%s; give a name and a value that it allows", key, value))
		return
	}
	t.labels[key] = value
}

func (t *reported) taint(tag, key, value string) {
	v, word, _ := strings.Cut(value, ":")
	effect := corev1.TaintEffect(word)
	if effect != corev1.TaintEffectNoSchedule && effect != corev1.TaintEffectNoExecute && effect != corev1.TaintEffectPreferNoSchedule || !validLabel(key, v) {
		t.fault(tag, value, "give value:NoSchedule, value:PreferNoSchedule or value:NoExecute")
		return
	}
	t.taints = append(t.taints, corev1.Taint{Key: key, Value: v, Effect: effect})
}

func (t *reported) resource(tag, name, value string) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() < 0 || len(validation.IsQualifiedName(name)) > 0 {
		t.fault(tag, value, "give a quantity, such as 4 or 16Gi")
		return
	}
	t.resources[corev1.ResourceName(name)] = q
}

// decodeKey turns a tag's "_" into "/" and then "~2" into "_", in that order.
func decodeKey(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "_", "/"), "~2", "_")
}

// decodeResource turns a tag's "_" and "~2" into "/": so cluster-autoscaler reads the names of resources.
func decodeResource(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "_", "/"), "~2", "/")
}

func validLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key)) == 0 && len(validation.IsValidLabelValue(value)) == 0
}
