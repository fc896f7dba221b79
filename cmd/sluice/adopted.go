package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/setting"
)

// adopted is a Deployment of cluster-autoscaler, and what it gives to its container.
type adopted struct {
	namespace, name, image string

	deployment  *appsv1.Deployment
	container   int        // which of the pod's
	flags       []string   // as --name=value, without those that find the API server and azure.json
	env         []variable // in the container's order
	cloudConfig []byte     // the azure.json, nil when none is given or it is a file of the machine
	unread      []string   // settings that are given and cannot be read from here, in sentences
	declared    *pflag.FlagSet
}

// variable is one of the environment.
type variable struct{ name, value, from string }

// resolve finds flags and environment of the container that runs cluster-autoscaler. Secrets and config maps are read by name.
func (a *adopted) resolve(secret func(string) (map[string][]byte, error), configMap func(string) (map[string]string, error)) error {
	spec := a.deployment.Spec.Template.Spec
	a.container = slices.IndexFunc(spec.Containers, func(c corev1.Container) bool {
		return c.Name == incumbent || strings.Contains(c.Image, incumbent) || len(c.Command) > 0 && path.Base(c.Command[0]) == incumbent
	})
	if a.container < 0 {
		return fmt.Errorf("no container of Deployment %s/%s runs cluster-autoscaler by its name, command or image; give --deployment", a.namespace, a.name)
	}
	c := spec.Containers[a.container]
	words, own := command(append(slices.Clone(c.Command), c.Args...))
	if !own {
		return fmt.Errorf("container %s is started by %s: its arguments cannot be told; start cluster-autoscaler by itself, with its flags as arguments", c.Name, c.Command[0])
	}
	if err := a.environment(c, secret, configMap); err != nil {
		return err
	}
	for i := range words {
		words[i] = a.expand(words[i])
	}
	a.declared = runCommand().Flags()
	a.declared.SetNormalizeFunc(root().GlobalNormalizationFunc())
	err := a.declared.ParseAll(words, func(f *pflag.Flag, value string) error {
		if err := a.declared.Set(f.Name, value); err != nil {
			return err
		}
		switch f.Name {
		case "kubeconfig", "kubernetes":
			a.unread = append(a.unread, "--"+f.Name+" is the pod's own: doctor and plan ask the API server of your kubeconfig")
		case "cloud-config":
			return a.readCloudConfig(c, value, secret, configMap)
		default:
			a.flags = append(a.flags, "--"+f.Name+"="+value)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("arguments of container %s: %w", c.Name, err)
	}
	return nil
}

// reference is $(NAME), by which Kubernetes puts a variable into an argument.
var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// expand puts the container's variables into an argument; those that it does not have stay as they are, as Kubernetes leaves them.
func (a *adopted) expand(word string) string {
	return reference.ReplaceAllStringFunc(word, func(ref string) string {
		if v, given := a.variable(ref[2 : len(ref)-1]); given {
			return v.value
		}
		return ref
	})
}

// variable is the one of that name.
func (a *adopted) variable(name string) (variable, bool) {
	i := slices.IndexFunc(a.env, func(v variable) bool { return v.name == name })
	if i < 0 {
		return variable{}, false
	}
	return a.env[i], true
}

// environment reads the container's variables.
func (a *adopted) environment(c corev1.Container, secret func(string) (map[string][]byte, error), configMap func(string) (map[string]string, error)) error {
	given := func(v variable) {
		a.env = slices.DeleteFunc(a.env, func(was variable) bool { return was.name == v.name })
		a.env = append(a.env, v)
	}
	for _, from := range c.EnvFrom {
		switch {
		case from.SecretRef != nil:
			data, err := secret(from.SecretRef.Name)
			if err != nil {
				return err
			}
			for _, key := range slices.Sorted(maps.Keys(data)) {
				given(variable{from.Prefix + key, string(data[key]), "Secret " + from.SecretRef.Name})
			}
		case from.ConfigMapRef != nil:
			data, err := configMap(from.ConfigMapRef.Name)
			if err != nil {
				return err
			}
			for _, key := range slices.Sorted(maps.Keys(data)) {
				given(variable{from.Prefix + key, data[key], "ConfigMap " + from.ConfigMapRef.Name})
			}
		}
	}
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			given(variable{e.Name, a.expand(e.Value), ""})
		case from.SecretKeyRef != nil:
			data, err := secret(from.SecretKeyRef.Name)
			if err != nil {
				return err
			}
			if value, has := data[from.SecretKeyRef.Key]; has {
				given(variable{e.Name, string(value), "Secret " + from.SecretKeyRef.Name + ", key " + from.SecretKeyRef.Key})
			}
		case from.ConfigMapKeyRef != nil:
			data, err := configMap(from.ConfigMapKeyRef.Name)
			if err != nil {
				return err
			}
			if value, has := data[from.ConfigMapKeyRef.Key]; has {
				given(variable{e.Name, value, "ConfigMap " + from.ConfigMapKeyRef.Name + ", key " + from.ConfigMapKeyRef.Key})
			}
		default:
			a.unread = append(a.unread, "environment variable "+e.Name+" is known in the pod alone")
		}
	}
	return nil
}

// readCloudConfig finds the azure.json in what is mounted.
func (a *adopted) readCloudConfig(c corev1.Container, file string, secret func(string) (map[string][]byte, error), configMap func(string) (map[string]string, error)) error {
	var mount corev1.VolumeMount
	for _, m := range c.VolumeMounts {
		if within := file == m.MountPath || strings.HasPrefix(file, strings.TrimSuffix(m.MountPath, "/")+"/"); within && len(m.MountPath) > len(mount.MountPath) {
			mount = m
		}
	}
	key := strings.Trim(strings.TrimPrefix(file, mount.MountPath), "/")
	if mount.SubPath != "" {
		key = path.Join(mount.SubPath, key)
	}
	named := func(items []corev1.KeyToPath) string {
		for _, item := range items {
			if item.Path == key {
				return item.Key
			}
		}
		return key
	}
	for _, v := range a.deployment.Spec.Template.Spec.Volumes {
		if v.Name != mount.Name {
			continue
		}
		switch {
		case v.Secret != nil:
			data, err := secret(v.Secret.SecretName)
			if err != nil {
				return err
			}
			a.cloudConfig = data[named(v.Secret.Items)]
		case v.ConfigMap != nil:
			data, err := configMap(v.ConfigMap.Name)
			if err != nil {
				return err
			}
			if text, has := data[named(v.ConfigMap.Items)]; has {
				a.cloudConfig = []byte(text)
			}
		}
	}
	if a.cloudConfig == nil {
		a.unread = append(a.unread, "--cloud-config="+file+" is a file of the machine or of the image: doctor and plan do without it; run sluice doctor there")
	}
	return nil
}

// say tells what each setting becomes. Values that may be secret are not shown.
func (a *adopted) say(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Deployment %s/%s, container %s, image %s\n\nFlags\n", a.namespace, a.name, a.at().Name, a.at().Image)
	theirs := map[string]app.TheirFlag{}
	for _, t := range app.TheirFlags {
		theirs[t.Name] = t
	}
	a.declared.Visit(func(f *pflag.Flag) {
		becomes := "the same"
		switch {
		case app.Moot(f):
			becomes = "no effect: " + theirs[f.Name].Why
		case app.RefusedFlag(f) && f.Value.String() != f.DefValue:
			becomes = "REFUSED: " + theirs[f.Name].Why
		case app.Senseless(f) != nil:
			_, advice, _ := strings.Cut(app.Senseless(f).Error(), ": ")
			becomes = "REFUSED: " + advice
		}
		fmt.Fprintf(&b, "  --%s=%s: %s\n", f.Name, f.Value, becomes)
	})
	b.WriteString("\nDefaults that differ; --compat takes cluster-autoscaler's\n")
	for row := range setting.All() {
		if f := a.declared.Lookup(row.Flag); row.There != "" && f != nil && !f.Changed {
			fmt.Fprintf(&b, "  --%s: %s here, %s there: %s\n", row.Flag, orNone(f.DefValue), row.There, row.Why)
		}
	}
	b.WriteString("\nEnvironment\n")
	for _, v := range a.env {
		shown := "=" + v.value
		switch {
		case v.from != "":
			shown = " from " + v.from
		case confidential.MatchString(v.name):
			shown = " (not shown)"
		}
		fmt.Fprintf(&b, "  %s%s: %s\n", v.name, shown, standing(v.name))
	}
	settings, err := config.Parse(a.cloudConfig, "azure.json", func(name string) string {
		v, _ := a.variable(name)
		return v.value
	})
	if err != nil {
		fmt.Fprintf(&b, "  REFUSED: %s\n", err)
	}
	for _, note := range append(settings.Notes, a.unread...) {
		fmt.Fprintf(&b, "  NB: %s\n", note)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// confidential are names of variables whose value is not shown even where the Deployment has it in the clear.
var confidential = regexp.MustCompile(`(?i)secret|password|token|key`)

// standing is what an environment variable becomes.
func standing(name string) string {
	for _, s := range config.Settings {
		if !slices.Contains(s.Variables, name) {
			continue
		}
		switch s.Standing {
		case config.Honoured:
			return "the same"
		case config.Always:
			return "always so: " + s.About
		case config.Refused:
			return "only its default is taken: " + s.About
		}
		return "no effect: " + s.About
	}
	return "no setting of cluster-autoscaler"
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// at is the container.
func (a *adopted) at() *corev1.Container {
	return &a.deployment.Spec.Template.Spec.Containers[a.container]
}

// manifests are the Deployment with sluice in it and sluice's rights for its service account, and the Deployment as it is.
func (a *adopted) manifests() (there, back []byte, err error) {
	was := a.deployment.DeepCopy()
	was.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	was.ObjectMeta = metav1.ObjectMeta{Namespace: was.Namespace, Name: was.Name, Labels: was.Labels, Annotations: maps.Clone(was.Annotations)}
	delete(was.Annotations, "deployment.kubernetes.io/revision")
	delete(was.Annotations, corev1.LastAppliedConfigAnnotation)
	was.Status = appsv1.DeploymentStatus{}
	if back, err = yaml.Marshal(was); err != nil {
		return nil, nil, fmt.Errorf("write the Deployment: %w", err)
	}
	account := was.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	is := was.DeepCopy()
	is.Spec.Template.Spec.Containers[a.container].Image = a.image
	text, err := yaml.Marshal(is)
	if err != nil {
		return nil, nil, fmt.Errorf("write the Deployment: %w", err)
	}
	rights, err := rightsOf(a.namespace, account)
	if err != nil {
		return nil, nil, err
	}
	head := fmt.Sprintf("# sluice in the place of %s/%s, and its rights for the service account %s. %s is the way back.\n", a.namespace, a.name, account, wayBack)
	return slices.Concat([]byte(head), text, rights), slices.Concat([]byte("# cluster-autoscaler as it was before sluice took its place.\n"), back), nil
}

// rightsOf are sluice's roles, bound to another service account than its own.
func rightsOf(namespace, account string) ([]byte, error) {
	var out []byte
	for _, document := range bytes.Split(deploy.RBAC, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, fmt.Errorf("read sluice's rights: %w", err)
		}
		var object any
		subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}}
		switch kind.Kind {
		case "ServiceAccount":
			continue
		case "ClusterRole":
			object = new(rbacv1.ClusterRole)
		case "Role":
			object = &rbacv1.Role{}
		case "ClusterRoleBinding":
			object = &rbacv1.ClusterRoleBinding{}
		case "RoleBinding":
			object = &rbacv1.RoleBinding{}
		default:
			return nil, fmt.Errorf("read sluice's rights: there is a %s among them", kind.Kind)
		}
		if err := yaml.Unmarshal(document, object); err != nil {
			return nil, fmt.Errorf("read sluice's rights: %w", err)
		}
		switch o := object.(type) {
		case *rbacv1.Role:
			o.Namespace = namespace
		case *rbacv1.RoleBinding:
			o.Namespace, o.Subjects = namespace, subjects
		case *rbacv1.ClusterRoleBinding:
			o.Subjects = subjects
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("write sluice's rights: %w", err)
		}
		out = slices.Concat(out, []byte("---\n"), text)
	}
	return out, nil
}
