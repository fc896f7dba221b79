package main

import "slices"

// A mutant is a guard outside of package guard that is taken away: where the source has old it has new in its place, in which MUTED says whether this
// mutant is the one that is tried.
type mutant struct {
	property string // of the safety contract
	lost     string // what is taken away
	file     string
	old, new string // old stands in the file once; without new it is "f says words": function f does not return anything with these words any more
	catcher  catcher
}

// catcher is what must fail then.
type catcher struct{ room, test string }

func scenario(name string) catcher { return catcher{"internal/world", "TestScenarios/" + name} }

// mutants are the guards that stand elsewhere: what collects the evidence for package guard, what makes a request conditional, and what keeps the
// properties that are not about a single write.
var mutants = slices.Concat(elsewhere, inFleet)

var elsewhere = []mutant{
	{
		"S-06", "a deletion is remembered as a write", "internal/azure/ledger.go",
		"o.Verb = fleet.Park\n\t}\n\ts.options.Ledger.Observe(o)", "o.Verb = fleet.Park\n\t}\n\tif !MUTED {\n\t\ts.options.Ledger.Observe(o)\n\t}", scenario("takeover-knows-what-went"),
	},
	{
		"S-19", "an eviction empties a node", "internal/actuate/actuate.go",
		"a.emptying(write, evidence)\n\t\treturn a.writer(write, evidence).Evict(", "if !MUTED {\n\t\t\ta.emptying(write, evidence)\n\t\t}\n\t\treturn a.writer(write, evidence).Evict(", scenario("eviction-spends-the-budget"),
	},
	{
		"S-15", "do-not-disrupt for a time counts from the pod's start", "policy/pods.go",
		"if start.IsZero() {", "if start.IsZero() || MUTED {", scenario("do-not-disrupt-from-the-start"),
	},
	{
		"S-18", "a node that is held comes back into service", "plan/remove/phases.go",
		"case d.Held(st.Node) != nil:", "case d.Held(st.Node) != nil && !MUTED:", scenario("held-on-its-way-out"),
	},
	{
		"S-16", "no node leaves while pods that wait were never looked at", "plan/remove/places.go",
		"unseen > 0 {", "unseen > 0 && !MUTED {", scenario("bound-tenant"),
	},
	{
		"S-06", "a ceiling counts what it is about alone", "guard/grow.go",
		"if g.ID != w.Group && ceiling.Covers(g.ID) {", "if g.ID != w.Group && (MUTED || ceiling.Covers(g.ID)) {", scenario("ceiling-counts-its-own-group"),
	},
	{
		"S-01", "this process's own writes to a group are remembered", "internal/actuate/actuate.go",
		"a.lastWrite[id] = a.Now()", "if !MUTED {\n\t\ta.lastWrite[id] = a.Now()\n\t}", catcher{"internal/actuate", "TestAWriteToAGroupMakesOlderReadsOfItNoEvidence"},
	},
	{
		"S-02", "a write rests on a read of the group that is made for it", "internal/actuate/actuate.go",
		"g = a.Policy.Bound(g, a.Now())", "if MUTED {\n\t\tg = decided.Group(id)\n\t}\n\tg = a.Policy.Bound(g, a.Now())", scenario("agent-budget-waits-for-room"),
	},
	{
		"S-04", "a growth is sent on condition of the entity tag", "internal/azure/scaleset.go",
		"&armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{IfMatch: &version})",
		"map[bool]*armcompute.VirtualMachineScaleSetsClientBeginUpdateOptions{false: {IfMatch: &version}}[MUTED])", scenario("foreign-resize-while-writing"),
	},
	{
		"S-05", "the provider refuses a growth to no more", "internal/azure/write.go",
		"case n <= g.Capacity:", "case n <= g.Capacity && !MUTED:", catcher{"internal/azure", "TestAzureKeepsTheContractOverHTTP"},
	},
	{
		"S-06", "what one group was asked for without an answer counts when the next one grows", "internal/actuate/actuate.go",
		"grown.Asked = act.To;", "grown.Asked = map[bool]int{false: act.To}[MUTED];", catcher{"internal/actuate", "TestWhatTheCloudWasAskedForCountsForTheNextGroup"},
	},
	{
		"S-01", "what a process knows of machines is handed on", "internal/azure/resume.go",
		"case o.Verb == verbLedger:", "case o.Verb == verbLedger && !MUTED:", catcher{"internal/azure", "TestARemovalThatEndedStandsForTheProcessThatCameAfter"},
	},
	{
		"S-06", "a machine that was deleted stays so in an older list", "fleet/beyond.go",
		"case c.Gone != 0 || c.leaves() ||", "case !MUTED && (c.Gone != 0 || c.leaves()) ||", scenario("removed-says-azure"),
	},
	{
		"S-06", "a machine that Azure answers a write to be gone is not counted on", "internal/azure/write.go",
		"if id := absent(err); id != \"\"", "if id := absent(err); !MUTED && id != \"\"", scenario("removed-says-azure"),
	},
	{
		"S-06", "what a pool was asked for counts against lists that do not show it", "internal/azure/standard_grow.go",
		"|| g.forgets(s.now()) {", "|| MUTED || g.forgets(s.now()) {", catcher{"internal/azure", "TestAGrowthStandsAgainstReadsThatDoNotShowIt/accepted"},
	},
	{
		"S-06", "the next process knows what a pool was asked for", "internal/azure/resume.go",
		"if tells {", "if tells && !MUTED {", catcher{"internal/azure", "TestAGrowthStandsAgainstReadsThatDoNotShowIt/accepted"},
	},
	{
		"S-02", "provider ids tell which nodes are of a pool", "internal/azure/standard.go",
		"return providerID(id[:len(id)-len(name)]) + series", "return map[bool]string{false: providerID(id[:len(id)-len(name)]) + series}[MUTED]", scenario("pool-list-lacks-one-to-the-next"),
	},
	{
		"S-04", "the next process knows which machines a pool had", "fleet/record.go",
		"return g.counted && n.Ready", "return (g.counted || MUTED) && n.Ready", scenario("pool-k3s-list-lacks-one-to-the-next"),
	},
	{
		"S-06", "a pool that lists have emptied is believed after ten minutes", "internal/azure/standard.go",
		"if s.now().Sub(k.empty) < believeFor {", "if !MUTED && s.now().Sub(k.empty) < believeFor {", catcher{"internal/azure", "TestAPoolThatOthersHaveEmptiedGrowsAgain"},
	},
	{
		"S-04", "no number of a pool is given twice", "internal/azure/standard_grow.go",
		"first = max(first, g.First+g.Machines)", "first = max(first, map[bool]int{false: g.First + g.Machines}[MUTED])", catcher{"internal/azure", "TestNumbersOfAFailedGrowthAreNotGivenAgainWhileReadsAreOld"},
	},
	{
		"S-23", "chores write nothing that the lease may not outlive", "internal/azure/standard_chores.go",
		"return ends, ends.IsZero() || ends.Sub(now) >= taskWriteTimeout", "return ends, MUTED || ends.IsZero() || ends.Sub(now) >= taskWriteTimeout", catcher{"internal/azure", "TestChoresWriteNothingThatTheLeaseMayNotOutlive"},
	},
	{
		"S-06", "what has no answer yet counts for the limits of the cluster", "cluster/group.go",
		"return max(g.Capacity, g.Asked)", "return max(g.Capacity, map[bool]int{false: g.Asked}[MUTED])", catcher{"guard", "TestEachPropertyRefusesItsWrite/more_nodes_than_the_cluster_may_have_with_those_that_another_group_was_asked_for"},
	},
	{
		"S-06", "a machine that was switched off stays so in an older list", "internal/azure/parking.go",
		"if does == verbParked && r.model.parks", "if !MUTED && does == verbParked && r.model.parks", scenario("older-list-returns-parked"),
	},
	{
		"S-11", "the provider compares unique ids", "internal/azure/write.go",
		"case !strings.EqualFold(in.UID, m.UID):", "case !MUTED && !strings.EqualFold(in.UID, m.UID):", catcher{"internal/azure", "TestAzureKeepsTheContractOverHTTP"},
	},
	{
		"S-11", "one deletion of a group is in flight at a time", "internal/azure/write.go",
		"if p.busyDeleting(own.id) {", "if p.busyDeleting(own.id) && !MUTED {", catcher{"internal/azure", "TestEveryErrorHasACode"},
	},
	{
		"S-14", "a Node object is deleted only as the machine that was meant", "internal/kube/bury.go",
		"case n.Status.NodeInfo.SystemUUID != machine:", "case !MUTED && n.Status.NodeInfo.SystemUUID != machine:", catcher{"internal/kube", "TestDeleteNodeTakesAlongWhatTheMachineLeftBehind"},
	},
	{
		"S-14", "a Node object stays as long as its kubelet reports", "cluster/leave.go",
		"if r == nil && Speaks(n.Object) {", "if !MUTED && r == nil && Speaks(n.Object) {", catcher{"guard", "TestEachPropertyRefusesItsWrite/a_Node_object_whose_kubelet_reports_that_it_is_not_Ready"},
	},
	{
		"S-14", "the unique id of a node outweighs the machine that it was marked with", "cluster/leave.go",
		"(uid == \"\" || sameUID(n.Marked.UID, uid))", "(MUTED || uid == \"\" || sameUID(n.Marked.UID, uid))", catcher{"guard", "TestEachPropertyRefusesItsWrite/a_Node_object_whose_unique_id_is_another_machine's"},
	},
	{
		"S-14", "a node of another life is not written to", "internal/kube/cordon.go",
		"case was.UID != uid:", "case was.UID != uid && !MUTED:", catcher{"internal/kube", "TestANodeThatWasMadeAgainIsNotTouched"},
	},
	{
		"S-17", "a control-plane node whose machine is switched off counts for no quorum", "cluster/voters.go",
		"!in.Stopped()", "(MUTED || !in.Stopped())", scenario("control-plane-switched-off"),
	},
	{
		"S-17", "a control-plane node whose machine has gone counts for no quorum", "cluster/voters.go",
		"works := n.Group", "works := MUTED || n.Group", scenario("control-plane-gone-still-ready"),
	},
	{
		"S-17", "the control plane is judged as it was read for the write", "guard/quorum.go",
		"\t\t\tn.Object = e.Looked[name]", "if !MUTED {\n\t\t\t\tn.Object = e.Looked[name]\n\t\t\t}", scenario("control-plane-while-silent"),
	},
	{
		"S-15", "work that somebody else has told to end is not forced away", "policy/leave.go",
		"return !keeps\n", "return MUTED || !keeps\n", scenario("drain-time-spares-work"),
	},
	{
		"S-15", "a daemon's pod that is marked to stay is work", "policy/daemons.go",
		"\tcase marked(pod, now):", "\tcase !MUTED && marked(pod, now):", scenario("daemon-work-marked"),
	},
	{
		"S-15", "a daemon's pod that its group calls work is", "policy/work.go",
		"w.DaemonWork = g.Options.DaemonWork", "w.DaemonWork = map[bool][]cluster.PodSelector{false: g.Options.DaemonWork}[MUTED]", scenario("daemon-work-chosen"),
	},
	{
		"S-31", "a group rests after one of its nodes was emptied in vain", "plan/remove/aborted.go",
		"if !ev.Now.Before(b.Until) {", "if MUTED || !ev.Now.Before(b.Until) {", scenario("emptied-in-vain"),
	},
	{
		"S-31", "a node that a disruption budget holds goes on running dry", "plan/remove/quiescing.go",
		"case qs.evictions.budgetHolds(st) != nil:", "case !MUTED && qs.evictions.budgetHolds(st) != nil:", scenario("run-dry-held-by-budget"),
	},
	{
		"S-18", "a node on which a notice stands is not cordoned for removal", "internal/kube/cordon.go",
		"&& !w.Stopped)", "&& !w.Stopped && !MUTED)", scenario("notice-before-the-cordon"),
	},
	{
		"S-18", "a cordon rests on a read of the last minutes, as somebody may have protected the machine", "internal/actuate/known.go",
		"if i < 0 || ", "if MUTED || i < 0 || ", scenario("steady-machine-protected"),
	},
	{
		"S-15", "an eviction is of the pod that was meant", "internal/kube/writer.go",
		"o := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))}", "o := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(uid))}\n\tif MUTED {\n\t\to.Preconditions = nil\n\t}", catcher{"internal/kube", "TestEvict"},
	},
	{
		"S-15", "what the policy said of a node's pods holds no longer than their controllers and budgets", "plan/planner.go",
		"if p.seen != nil && (", "if !MUTED && p.seen != nil && (", catcher{"plan", "TestTheOrderOfThoseWhoMayGoYieldsToWhatHappens/the_controller_of_those_who_would_go_first_is_gone"},
	},
	{
		"S-19", "a node whose machine is being deleted makes the budget no larger", "fleet/view.go",
		"n.Joined != 0 && may.Has(Here) && !w.goes()", "n.Joined != 0 && (MUTED || may.Has(Here) && !w.goes())", scenario("emptied-beside-a-deletion"),
	},
	{
		"S-19", "what was emptied is remembered", "internal/actuate/known.go",
		"; in != nil {", "; in != nil && !MUTED {", catcher{"internal/actuate", "TestEachStepOfADrainIsCharged"},
	},
	{
		"S-19", "nodes that are emptied in one cycle count for each other", "plan/remove/traffic.go",
		"if !st.counted || !st.exit.Idle {", "if MUTED || !st.counted || !st.exit.Idle {", scenario("idle-cordon-after-restart"),
	},
	{
		"S-20", "the silence of the API server is known", "internal/actuate/known.go",
		"if a.Silent == nil {", "if a.Silent == nil || MUTED {", scenario("api-silent"),
	},
	{
		"S-20", "nodes that were written to and not seen since are known", "internal/actuate/known.go",
		"if err != nil || a.Seen == nil {", "if err != nil || a.Seen == nil || MUTED {", catcher{"internal/actuate", "TestANodeThatWasWrittenToIsUnseenUntilTheAPIServerShowsIt"},
	},
	{
		"S-20", "a list that is shorter than the capacity is not believed", "internal/azure/doubt.go",
		"case staying < capacity:", "case staying < capacity && !MUTED:", scenario("short-list-while-growing"),
	},
	{
		"S-20", "a machine that is suddenly not listed is missing only when two lists agree", "internal/azure/doubt.go",
		`if lacks == "" || r.sameMachines(g.doubted) {`, `if lacks == "" || r.sameMachines(g.doubted) || MUTED {`, catcher{"internal/azure", "TestAReadIsCompleteOnlyWhenNothingContradictsIt"},
	},
	{
		"S-21", "tags that cannot be read leave the last ones in force", "internal/azure/refresh.go",
		"found[k] = true // one that is", "found[k] = !MUTED // one that is", scenario("tags-unreadable"),
	},
	{
		"S-21", "a group is forgotten only when Azure has denied it for an hour", "internal/azure/absence.go",
		"l.asked.Sub(g.presence.since) >= takenFor:", "(l.asked.Sub(g.presence.since) >= takenFor || MUTED):", catcher{"internal/azure", "TestADeniedGroupIsForgottenAfterAnHour"},
	},
	{
		"S-14", "a scale set that Azure denies is deleted only when its machines were seen leaving", "internal/azure/absence.go",
		"g.good != nil && rs.left(g):", "g.good != nil && (rs.left(g) || MUTED):", scenario("group-denied"),
	},
	{
		"S-19", "a cordon that was turned down is charged to nobody", "internal/actuate/actuate.go",
		"if !apierrors.IsTooManyRequests(err)", "if MUTED || !apierrors.IsTooManyRequests(err)", scenario("cordon-fails-uncharged"),
	},
	{
		"S-44", "a node that the min needs comes down from the ladder", "plan/remove/phases.go",
		`case d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1) != nil:`, `case !MUTED && d.Needed(g.GroupFacts, exitOf(st, ""), g.Contract.Leave, 1) != nil:`, catcher{"plan", "TestPlansHeedTheSafetyContract"},
	},
	{
		"S-44", "plan asks the ledger what may go", "plan/node/leaving.go",
		"{ return with.May(e.Verb, e.Target) }", "{\n\tif MUTED {\n\t\treturn nil\n\t}\n\treturn with.May(e.Verb, e.Target)\n}", catcher{"plan", "TestPlansHeedTheSafetyContract"},
	},
	{
		"S-23", "the end of the lease is known", "internal/actuate/known.go",
		"if a.Leads == nil {", "if a.Leads == nil || MUTED {", scenario("lease-ends"),
	},
	{
		"S-23", "no request is given longer than the lease", "internal/actuate/known.go",
		"if leads.IsZero() {", "if MUTED || leads.IsZero() {", catcher{"internal/actuate", "TestNoRequestIsGivenLongerThanTheLease"},
	},
	{
		"S-23", "a lease ends a lease's length after the time that it bears, and no later", "internal/app/lease.go",
		"d.until = r.RenewTime.Add(d.lease)", "d.until = r.RenewTime.Add(d.lease)\n\t\tif MUTED {\n\t\t\td.until = time.Now().Add(2 * d.lease)\n\t\t}", catcher{"internal/app", "TestALeaseEndsALengthAfterTheTimeThatItBears"},
	},
	{
		"S-23", "a lease that another process has had is not taken back", "internal/app/lease.go",
		"if !d.until.IsZero() {\n\t\t\treturn", "if !MUTED && !d.until.IsZero() {\n\t\t\treturn", catcher{"internal/app", "TestALeaseThatAnotherOneHasEndsAtOnce"},
	},
	{
		"S-23", "the clock of another machine may be wrong", "internal/app/lease.go",
		"return ended > wrong && again", "return ended > wrong && again || MUTED && ended > 0", catcher{"internal/app", "TestALeaseThatHasRunOutIsFree"},
	},
	{
		"S-24", "a dry run performs nothing", "internal/actuate/actuate.go",
		"if a.DryRun {", "if a.DryRun && !MUTED {", scenario("dry-run"),
	},
	{
		"S-24", "a provider that only looks grows nothing", "internal/azure/write.go",
		"switch {\n\tcase p.options.ReadOnly:", "switch {\n\tcase p.options.ReadOnly && !MUTED:", catcher{"internal/azure", "TestAProcessThatOnlyLooksWritesNothing"},
	},
	{
		"S-30", "a limit of one scale set holds up that one alone", "internal/azure/throttle.go",
		`case counts(limits, "Resource") ||`, `case !MUTED && counts(limits, "Resource") ||`, catcher{"internal/azure", "TestLimitsOfSingleResourcesShutNoClass"},
	},
	{
		"S-30", "a refusal that does not say what it counts holds up its scale set alone", "internal/azure/throttle.go",
		`case k.resource == "" || counts`, `case MUTED || k.resource == "" || counts`, scenario("three-groups-throttled-lists"),
	},
	{
		"S-30", "scale sets that stay refused hold up the others once", "internal/azure/throttle.go",
		"!(r.alone && other.alone)", "!(!MUTED && r.alone && other.alone)", catcher{"internal/azure", "TestOffendersComeLastAfterAPause"},
	},
	{
		"S-30", "after a pause those that were refused come last", "internal/azure/throttle.go",
		"for resource := range all {\n\t\t\tg.until", "for resource := range all {\n\t\t\tif MUTED {\n\t\t\t\tbreak\n\t\t\t}\n\t\t\tg.until", catcher{"internal/azure", "TestOffendersComeLastAfterAPause"},
	},
	{
		"S-31", "a deletion that keeps failing waits ever longer", "plan/memory/backoff.go",
		"length := max(r.RetryAfter, min(max(2*b.Length, transientPause), max(allowed.Growth.Backoff.Initial, longestRest)))",
		"length := max(r.RetryAfter, min(max(2*b.Length, transientPause), max(allowed.Growth.Backoff.Initial, longestRest)))\n\tif MUTED {\n\t\tlength = 0\n\t}", scenario("delete-fails"),
	},
	{
		"S-32", "a class of requests is shut until its Retry-After", "internal/azure/throttle.go",
		"if shut.until.After(now) {\n\t\tcount.shut++", "if shut.until.After(now) && !MUTED {\n\t\tcount.shut++", catcher{"internal/azure", "TestNoRequestOfAShutClassIsSent"},
	},
	{
		"S-32", "a second refusal that does not say what it counts shuts the class", "internal/azure/throttle.go",
		"resource != k.resource && other.until.After(now)", "!MUTED && resource != k.resource && other.until.After(now)",
		catcher{"internal/azure", "TestASecondResourceRefusedShutsTheClass"},
	},
	{
		"S-33", "a failure that an accepted operation reports counts at once", "plan/grow/failures.go",
		"if !f.At.After(m.Noticed) {", "if !f.At.After(m.Noticed) || MUTED {", scenario("allocation-fails"),
	},
	{
		"S-34", "an older node is believed no more", "cluster/learn.go",
		"!best.Object.CreationTimestamp.Time.Before(l.Born)):", "MUTED || !best.Object.CreationTimestamp.Time.Before(l.Born)):", catcher{"cluster", "TestOlderNodesAreBelievedNoMore"},
	},
	{
		"S-34", "a startup taint that stays is believed", "cluster/learn.go",
		"default:\n\t\tnow.Stuck = awaited", "case !MUTED:\n\t\tnow.Stuck = awaited", scenario("startup-taint-forgotten"),
	},
	{
		"S-34", "a machine that was made since settles what was said anew", "cluster/told.go",
		"if l.Of == before.Of || made", "if MUTED || l.Of == before.Of || made", scenario("label-not-mended"),
	},
	{
		"S-34", "nodes are expected as K3s labels them", "cluster/embedded.go",
		`if by == "" || described`, `if MUTED || by == "" || described`, scenario("k3s-instance-type"),
	},
	{
		"S-34", "nodes are believed about their zone", "cluster/learn.go",
		`case l.Zone == "" || bore == promised:`, `case l.Zone == "" || bore == promised || MUTED:`, scenario("zone-not-labelled"),
	},
	{
		"S-34", "what nodes attach is remembered", "plan/place/machines.go",
		"if m.Attaches.Volumes > 0 &&", "if !MUTED && m.Attaches.Volumes > 0 &&", scenario("disks-fewer-than-described"),
	},
	{
		"S-34", "pods keep the places that were found for them", "plan/place/reservations.go",
		"if len(used) == 0 {\n\t\treturn\n\t}\n\tp := &memory.Places", "if len(used) == 0 || MUTED {\n\t\treturn\n\t}\n\tp := &memory.Places", scenario("coming-machines-keep-their-pods"),
	},
	{
		"S-34", "a growth without an answer is told as one", "internal/actuate/actuate.go",
		"if fault.Kind == cloud.Unanswered {", "if fault.Kind == cloud.Unanswered && !MUTED {", scenario("growth-accepted-late"),
	},
	{
		"S-34", "the provider says what it was asked for and not answered about", "internal/azure/azure.go",
		"out.Problem, out.Unanswered, out.Asked = p.unanswered(g, g.asking).Message, true, g.writing.wanted",
		"out.Problem, out.Unanswered, out.Asked = p.unanswered(g, g.asking).Message, true, map[bool]int{false: g.writing.wanted}[MUTED]", scenario("growth-accepted-late"),
	},
	{
		"S-34", "machines that were asked for without an answer are coming", "plan/place/arrivals.go",
		"if !st.Usable() && !st.AwaitsAnswer() &&", "if !st.Usable() && (MUTED || !st.AwaitsAnswer()) &&", catcher{"plan", "TestWhatWasGrantedCountsWhileTheCloudIsSilent/whether_or_not_it_is_remembered"},
	},
	{
		"S-34", "what was granted is coming while the cloud is silent", "plan/place/arrivals.go",
		"return st.Lapsed() && !m.Noticed", "return !MUTED && st.Lapsed() && !m.Noticed", catcher{"plan", "TestWhatWasGrantedCountsWhileTheCloudIsSilent/the_machine_is_waited_for"},
	},
	{
		"S-34", "the provider tells a cloud that is silent from one that refuses", "internal/azure/group.go",
		"out.Problem, out.Unanswered = g.problem.text, g.problem.unanswered", "out.Problem, out.Unanswered = g.problem.text, g.problem.unanswered && !MUTED", scenario("growth-then-lists-hang"),
	},
	{
		"S-36", "what others undo is counted", "internal/actuate/contest.go",
		"if len(k.undone) < contestTimes {", "if len(k.undone) < contestTimes || MUTED {", scenario("others-undo-each-growth"),
	},
	{
		"S-37", "a tagged disk that something uses is left alone", "internal/azure/standard_sweep.go",
		`case b.user() != "":`, `case b.user() != "" && !MUTED:`, catcher{"internal/azure", "TestATaggedDiskInUseIsLeftAlone"},
	},
	{
		"S-37", "nothing untagged is swept", "internal/azure/standard_sweep.go",
		`if uid == "" {`, `if uid == "" && !MUTED {`, catcher{"internal/azure", "TestARemovalTakesAlongWhatWasMadeWithTheMachine"},
	},
	{
		"S-37", "nodes of a group that is managed no more are given back", "plan/remove/ownership.go",
		"if !ow.handedOver(n) {", "if !ow.handedOver(n) || MUTED {", scenario("handed-over"),
	},
	{
		"S-37", "what is to be given back bears a name", "internal/kube/cordon.go",
		`if w.Owner == "" {`, `if w.Owner == "" || MUTED {`, scenario("handed-over-restart"),
	},
	{
		"S-37", "what bears the name of another sluice is not given back", "plan/remove/ownership.go",
		"cluster.OwnerOf(n.Object) == ow.Policy.Installation &&", "(MUTED || cluster.OwnerOf(n.Object) == ow.Policy.Installation) &&", catcher{"plan", "TestNodesOfAGroupThatIsManagedNoMoreAreGivenBack"},
	},
	{
		"S-38", "a machine that is switched off is no capacity", "internal/azure/condition.go",
		"case switchedOff(power):", "case !MUTED && switchedOff(power):", scenario("machine-stopped"),
	},
	{
		"S-39", "a 403 is told as a missing right", "internal/azure/errors.go",
		`"AuthorizationFailed":                    cloud.Unauthorized,`, `"AuthorizationFailed": map[bool]cloud.Kind{false: cloud.Unauthorized, true: cloud.Transient}[MUTED],`, scenario("missing-rights"),
	},
	{
		"S-35", "a node that is not Ready in its time is a failure of its group", "plan/grow/failures.go",
		"for _, n := range unready {", "for _, n := range unready[:map[bool]int{false: len(unready)}[MUTED]] {", scenario("never-ready-next-group"),
	},
	{
		"S-35", "nodes that are not Ready in their time open the breaker", "plan/grow/breaker.go",
		"for _, n := range unready {", "for _, n := range unready[:map[bool]int{false: len(unready)}[MUTED]] {", scenario("never-ready-breaker"),
	},
	{
		"S-20", "the guard is asked again before the next write of several", "internal/actuate/known.go",
		"if a.Now().Sub(evidence.Newest.Time) < stillNew {", "if MUTED || a.Now().Sub(evidence.Newest.Time) < stillNew {", scenario("slow-and-silent"),
	},
	{
		"S-30", "writes that take long leave the others for the next cycle", "internal/actuate/turns.go",
		"if t.kind == \"\" || a.Now()", "if t.kind == \"\" || MUTED || a.Now()", scenario("api-slow"),
	},
	{
		"S-22", "a machine that has failed may be another cluster's", "cluster/foreign.go",
		"in.State != StateDeleting", "in.State != StateDeleting && (!MUTED || in.State.Expected())", scenario("failed-machine-of-another-cluster"),
	},
	{
		"S-34", "a parked machine that is started is coming, to a process that did not see it", "plan/node/failures.go",
		"StateCreating || WasParked(n))", "StateCreating || !MUTED && WasParked(n))", scenario("lists-lie-about-started-to-the-next"),
	},
	{
		"S-17", "a machine beside control-plane nodes is none that never joined", "plan/remove/machines.go",
		"case g.Servers:", "case g.Servers && !MUTED:", scenario("k3s-servers"),
	},
	{
		"S-22", "the node of a parked machine shows whose its group is", "cluster/learn.go",
		`n.Parked.UID != "")`, `!MUTED && n.Parked.UID != "")`, scenario("parked-nodes-vouch"),
	},
	{
		"S-40", "a write is told before it is asked for", "internal/azure/write.go",
		"if w.options.Ahead == nil {", "if w.options.Ahead == nil || MUTED {", scenario("two-leaders-and-a-lie"),
	},
	{
		"S-01", "a growth that was decided on without what another process has asked for is decided on anew", "internal/azure/resume.go",
		"\treturn ErrAccompanied\n", "\tif MUTED {\n\t\treturn nil\n\t}\n\treturn ErrAccompanied\n", scenario("two-leaders-and-a-lie"),
	},
	{
		"S-40", "operations in flight are handed on", "internal/azure/resume.go",
		"if o.Token != \"\" {\n\t\t\tsaved", "if o.Token != \"\" && !MUTED {\n\t\t\tsaved", scenario("restart-hears-failure"),
	},
	{
		"S-42", "an agent knows how old what it heard is", "internal/agent/answer.go",
		"Asked: a.asked,", "Asked: map[bool]time.Time{false: a.asked, true: a.Now()}[MUTED],", catcher{"internal/agent", "TestARefusalIsPutOnRecordWithItsProperty"},
	},
	{
		"S-42", "an agent heeds its own machine's notices alone", "internal/agent/agent.go",
		"if !h.Names(a.self.Name) || !slices", "if !MUTED && !h.Names(a.self.Name) || !slices", catcher{"internal/agent", "TestNoticesThatAskForNothingChangeNothing"},
	},
	{
		"S-31", "an eviction that fails waits longer each time", "plan/memory/cordoned.go",
		"r.Status == Failed && !c.Refused", "r.Status == Failed && !MUTED && !c.Refused", scenario("evictions-forbidden"),
	},
	{
		"S-33", "a zone without room is passed over by the next process, too", "plan/memory/handover.go",
		"g.Astray = With(g.Astray, zone, b.from(now))", "if !MUTED {\n\t\t\t\tg.Astray = With(g.Astray, zone, b.from(now))\n\t\t\t}", scenario("zone-passed-over-restarts"),
	},
	{
		"S-34", "pods that leave keep no machine that is started from counting", "plan/place/arrivals.go",
		"!p.Daemon() && !p.Leaving() }) {", "!p.Daemon() && (MUTED || !p.Leaving()) }) {", scenario("spot-evicted-starts-once"),
	},
	{
		"S-18", "a machine whose node a person has cordoned is not started", "cluster/leave.go",
		"n.Parked.Group == g.ID && n.Object", "n.Parked.Group == g.ID && !MUTED && n.Object", scenario("person-switches-off-cordoned"),
	},
	{
		"S-35", "a machine that was parked counts from its start", "fleet/observe.go",
		"\t\t\tc.Up = o.At\n", "\t\t\tif !MUTED {\n\t\t\t\tc.Up = o.At\n\t\t\t}\n", scenario("parked-count-from-their-start"),
	},
}
