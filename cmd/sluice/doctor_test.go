package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/internal/kubesim"
)

// reviewed lets a farm's API server answer what an account may do: everything but the verb on the resource that denied names.
func (f *farm) reviewed(denied string) string {
	return f.serve(fromProtobuf(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			f.cluster.ServeHTTP(w, r)
			return
		}
		var review authorizationv1.SelfSubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := review.Spec.ResourceAttributes
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		review.Status.Allowed = a.Verb+" "+a.Resource+"/"+a.Subresource != denied
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	})))
}

func TestDoctorFindsNothingOnAHealthyFarm(t *testing.T) {
	f := newFarm(t)
	got := sluice(t.Context(), f.args("doctor", "--kubeconfig="+kubeconfig(t, f.reviewed("")))...)
	t.Log(got.out)
	got.expect(t, exitNothing, "Nothing is wrong", "works in subscription "+subscription+", resource group farm, westeurope", "client id "+client, "group agents: 1 machine (min 0, max 3)")
	f.untouched()
}

func TestDoctorNamesWhatIsWrongOnALiveFarm(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks func(*farm) []string // flags to add
		want   []string
	}{
		"a right in Azure": {func(f *farm) []string {
			must(f.t, f.azure.Deny(client, "Microsoft.Compute/virtualMachineScaleSets/write"))
			return nil
		}, []string{doctor.RightMissing, "may not perform Microsoft.Compute/virtualMachineScaleSets/write in resource group farm"}},
		"a right in Kubernetes": {func(f *farm) []string {
			return []string{"--kubeconfig=" + kubeconfig(f.t, f.reviewed("create pods/eviction"))}
		}, []string{doctor.KubeRightMissing, "may not create pods/eviction"}},
		"no API server": {func(f *farm) []string {
			return []string{"--kubeconfig=" + kubeconfig(f.t, "http://127.0.0.1:1")}
		}, []string{doctor.ClusterUnreachable, "connection refused"}},
		"an identity that the machine has not got": {func(f *farm) []string {
			f.t.Setenv("ARM_USE_MANAGED_IDENTITY_EXTENSION", "true")
			f.t.Setenv("ARM_USER_ASSIGNED_IDENTITY_ID", "another")
			return nil
		}, []string{doctor.TokenRefused, "client id another"}},
		"no instance metadata": {func(f *farm) []string {
			return []string{"--azure-metadata-endpoint=http://127.0.0.1:1"}
		}, []string{doctor.MetadataSilent}},
		"an endpoint that nobody answers at": {func(f *farm) []string {
			return []string{"--azure-resource-manager-endpoint=http://127.0.0.1:1"}
		}, []string{doctor.EndpointUnreachable, "Resource Manager at 127.0.0.1:1"}},
		"a clock that runs behind": {func(f *farm) []string {
			f.azure.Now = func() time.Time { return time.Now().Add(5 * time.Minute) }
			return nil
		}, []string{doctor.ClockSkewed, "from Azure's"}},
		"a scale set that is not there": {func(f *farm) []string {
			return []string{"--nodes=0:3:agnts"}
		}, []string{doctor.GroupUnreadable, "agnts"}},
		"a setting that does not parse": {func(f *farm) []string {
			f.t.Setenv("ARM_VM_TYPE", "aks")
			return nil
		}, []string{doctor.ConfigurationRefused, "aks"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			line := []string{"doctor", "--kubeconfig=" + kubeconfig(t, f.reviewed(""))}
			got := sluice(t.Context(), f.args(append(line, tc.breaks(f)...)...)...)
			t.Log(got.out)
			got.expect(t, exitActs, tc.want...)
		})
	}
}

func TestDoctorWithoutAnythingSaysOneCause(t *testing.T) {
	nowhere(t)
	got := sluice(t.Context(), "doctor", "--azure-metadata-endpoint=http://"+freeAddress(t))
	got.expect(t, exitActs, doctor.NothingNamed, doctor.Offline, "1 problem, 0 warnings")
	if n := strings.Count(got.out, "\n"); n != 5 {
		t.Errorf("%d lines, want the cause, its remedy, what depends on it, and the sum:\n%s", n, got.out)
	}
	if got := sluice(t.Context(), "doctor", "--timeout=0s"); got.code != exitError || !strings.Contains(got.complaint, "--timeout=0s") {
		t.Errorf("a time of nothing: exit code %d, %s", got.code, got.complaint)
	}
}

// TestDoctorSaysWhatItWaitsFor holds that the line on a terminal tells which of how many checks comes next, and goes with the last one.
func TestDoctorSaysWhatItWaitsFor(t *testing.T) {
	var d doctor.Diagnosis
	if got := awaited(&d, 30*time.Second); !strings.Contains(got, "instance metadata; check 1 of 10, all within 30s") {
		t.Errorf("at first: %q", got)
	}
	d.Next(doctor.Facts{}, func(string) bool { return true })
	if got := awaited(&d, 30*time.Second); got != "" {
		t.Errorf("at the end: %q", got)
	}
}

// TestDoctorAsJSONIsOneDocument holds that every check is in it, and what each that was not made depends on.
func TestDoctorAsJSONIsOneDocument(t *testing.T) {
	f := newFarm(t)
	got := sluice(t.Context(), f.args("doctor", "--kubeconfig="+kubeconfig(t, "http://"+freeAddress(t)), "-o", "json")...)
	got.expect(t, exitActs)
	var o struct {
		Worst    string
		Findings []struct{ Check, Status, Cause string }
	}
	if err := json.Unmarshal([]byte(got.out), &o); err != nil || o.Worst != string(doctor.Problem) {
		t.Fatalf("%v, worst %q:\n%s", err, o.Worst, got.out)
	}
	causes := map[string]string{}
	for _, f := range o.Findings {
		causes[f.Check] = f.Cause
	}
	for _, check := range doctor.Checks {
		if cause, ok := causes[check]; !ok || check == "nodes" && cause != "kubernetes" {
			t.Errorf("%s: told %t, cause %q", check, ok, cause)
		}
	}
}

// TestAFlagThatNamesNoGroupIsTold misspells a group in a flag that is for one.
func TestAFlagThatNamesNoGroupIsTold(t *testing.T) {
	f := newFarm(t)
	config := "--kubeconfig=" + kubeconfig(t, f.reviewed(""))
	const flag = "--schedule=agnets: Mon-Fri 08:00-20:00 UTC min=3"
	if got := sluice(t.Context(), f.args("doctor", config, flag)...); !strings.Contains(got.out, "--schedule names agnets, and there is no such group") {
		t.Errorf("doctor does not tell of it:\n%s", got.out)
	}
	if got := sluice(t.Context(), f.args("plan", config, flag)...); !strings.Contains(got.complaint, "--schedule names agnets") {
		t.Errorf("plan does not tell of it: %s\n%s", got.complaint, got.out)
	}
}

func TestATimeFarAwayIsToldInDays(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for until, want := range map[string]string{
		"2026-01-01T14:00:00Z": ", 2h0m0s from now", "2026-01-03T12:00:00Z": ", 48h0m0s from now", "2026-01-05T13:00:00Z": ", 4 days from now", "some day": "",
	} {
		if got := fromNow(now, until); got != want {
			t.Errorf("%s is%q, want%q", until, got, want)
		}
	}
}

// TestDoctorSaysHowMachinesBecameNodes asks on a live farm for all, for one by each of its names, and for one that is not there.
func TestDoctorSaysHowMachinesBecameNodes(t *testing.T) {
	f := newFarm(t)
	line := []string{"doctor", "--join", "--kubeconfig=" + kubeconfig(t, f.reviewed(""))}
	ask := func(more ...string) said { return sluice(t.Context(), f.args(append(line, more...)...)...) }
	ask().expect(t, exitNothing, "1 node and 1 machine of groups", "Nothing is wrong")
	must(t, kubesim.Edit(f.cluster, "", "agents000000", func(n *corev1.Node) { n.Labels[corev1.LabelTopologyRegion] = "mars" }))
	all := ask()
	t.Log(all.out)
	all.expect(t, exitActs, "NAME", "agents000000  problem  RegionWrong", "kubectl label --overwrite node agents000000")
	one := ask("agents000000")
	t.Log(one.out)
	one.expect(t, exitActs, "machine        ok       node agents000000 is machine agents/0, by its")
	ask("agents/0").expect(t, exitActs, "node agents000000 is machine agents/0")
	if got := ask("agents000009"); got.code != exitError || !strings.Contains(got.complaint, "there is no node agents000009, and no machine of a group") {
		t.Errorf("a stranger: exit code %d, %s", got.code, got.complaint)
	}
	if got := ask("agents000000", "agents/1"); got.code != exitError || !strings.Contains(got.complaint, "takes flags only") {
		t.Errorf("two names: exit code %d, %s", got.code, got.complaint)
	}
	var o struct {
		Worst    string
		Findings []doctor.Finding
	}
	if got := ask("-o", "json"); json.Unmarshal([]byte(got.out), &o) != nil || o.Worst == "" || len(o.Findings) == 0 || o.Findings[0].Check == "" {
		t.Errorf("as JSON: %s", got.out)
	}
	f.untouched()
}

// TestDoctorReadsTheBootLogOfAMachineWithoutANode has a machine that is late tell why, by its number and by its computer name.
func TestDoctorReadsTheBootLogOfAMachineWithoutANode(t *testing.T) {
	f := newFarm(t)
	f.azure.Inject(azuresim.Fault{Console: "k3s[812]: level=fatal msg=\"Node password rejected, duplicate hostname\"\nlogin:\n"})
	must(t, f.azure.SetCapacity("agents", 2))
	f.azure.Now = func() time.Time { return time.Now().Add(-20 * time.Minute) } // it was made then
	must(t, f.azure.SetCapacity("agents", 3))
	f.azure.Now = nil
	line := []string{"doctor", "--join", "--kubeconfig=" + kubeconfig(t, f.reviewed(""))}
	for _, name := range []string{"", "agents/2", "agents000002"} {
		got := sluice(t.Context(), f.args(append(line, strings.Fields(name)...)...)...)
		t.Log(got.out)
		got.expect(t, exitActs, doctor.MachineFails, "another node has its name", "Node password rejected")
	}
	sluice(t.Context(), f.args(append(line, "agents/1")...)...).expect(t, exitNothing, "machine agents/1 (agents000001) is creating, and no node")

	// Who may only read is told what is missing, and all else.
	const action = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/retrievebootdiagnosticsdata/action" // as Azure writes it here
	must(t, f.azure.Deny(client, action))
	got := sluice(t.Context(), f.args(append(line, "agents/2")...)...)
	t.Log(got.out)
	got.expect(t, exitActs, "warning", doctor.MachineWithoutNode, action, "sluice does without")
	if got.complaint != "" {
		t.Errorf("it is told as an error: %s", got.complaint)
	}
}

// TestDoctorJoinsDoWithoutAzure judges nodes alone where no machine can be known.
func TestDoctorJoinsDoWithoutAzure(t *testing.T) {
	for name, breaks := range map[string]func(*farm) string{
		"a setting that does not parse": func(f *farm) string {
			f.t.Setenv("ARM_VM_TYPE", "aks")
			return doctor.ConfigurationRefused
		},
		"no identity": func(f *farm) string {
			f.t.Setenv("ARM_USE_MANAGED_IDENTITY_EXTENSION", "true")
			f.t.Setenv("ARM_USER_ASSIGNED_IDENTITY_ID", "another")
			return doctor.TokenRefused
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t)
			line := []string{"doctor", "--join", "--kubeconfig=" + kubeconfig(t, f.reviewed(""))}
			code := breaks(f)
			got := sluice(t.Context(), f.args(line...)...)
			t.Log(got.out)
			got.expect(t, exitActs, code, "nodes are judged alone")
			got = sluice(t.Context(), f.args(append(line, "agents000000")...)...)
			t.Log(got.out)
			got.expect(t, exitActs, "machines are not known")
		})
	}
	got := sluice(t.Context(), "doctor", "--join", "--kubeconfig="+kubeconfig(t, "http://"+freeAddress(t)), "--azure-metadata-endpoint=http://"+freeAddress(t))
	t.Log(got.out)
	got.expect(t, exitActs, doctor.ClusterUnreachable)
}
