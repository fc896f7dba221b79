package app

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/internal/kube"
)

// handBackWithin is how long a process takes for it that was told to stop.
const handBackWithin = 20 * time.Second

// handBack takes everything of sluice off nodes and pods when the process, which leads, was told to stop, while its lease lasts; one that goes on without its
// lease takes nothing off. It returns how the loop ended.
func (o Options) handBack(process context.Context, client kubernetes.Interface, leads func() time.Time, ended error) error {
	if !o.HandBack || o.DryRun || process.Err() == nil {
		return ended
	}
	within := time.Now().Add(handBackWithin)
	if until := leads(); !until.IsZero() && until.Before(within) {
		within = until
	}
	ctx, cancel := context.WithDeadline(context.WithoutCancel(process), within)
	defer cancel()
	err := kube.Operator{Client: client}.Release(ctx, false, func(r kube.Returned) { o.Log.Info("given back", "object", r.Object, "what", r.What) })
	if err != nil {
		o.Log.Warn("not all was given back: sluice uninstall does the rest", "err", err)
	}
	return ended
}
