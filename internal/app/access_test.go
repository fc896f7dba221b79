package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"sluice.dev/sluice/internal/web"
)

// bench is an API server that knows one token, and what its owner may get.
func bench(may ...string) (*access, *fake.Clientset) {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		if review.Spec.Token == "known" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "prometheus", Groups: []string{"viewers"}}}
		}
		return true, review, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		s := review.Spec
		review.Status.Allowed = s.User == "prometheus" && slices.Equal(s.Groups, []string{"viewers"}) && s.NonResourceAttributes.Verb == "get" && slices.Contains(may, s.NonResourceAttributes.Path)
		return true, review, nil
	})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &access{client: client, now: func() time.Time { return now }}, client
}

func TestTheAPIServerSaysWhoMayRead(t *testing.T) {
	a, client := bench("/metrics")
	for range 3 {
		if err := a.May(t.Context(), "known", "/metrics"); err != nil {
			t.Errorf("who may: %v", err)
		}
		if err := a.May(t.Context(), "known", "/api/v1/entry"); !errors.Is(err, web.ErrForbidden) || !strings.Contains(err.Error(), "prometheus may not get /api/v1/entry: give it a ClusterRole with /sluice/api/v1/entry") {
			t.Errorf("who may elsewhere: %v", err)
		}
		if err := a.May(t.Context(), "forged", "/metrics"); !errors.Is(err, web.ErrUnknown) {
			t.Errorf("whom nobody knows: %v", err)
		}
	}
	if got := len(client.Actions()); got != 5 { // two reviews a visit of the known one, one of the other
		t.Errorf("%d questions for three visits, want 5: %v", got, client.Actions())
	}
	later := a.now().Add(accessServes)
	a.now = func() time.Time { return later }
	if err := a.May(t.Context(), "known", "/metrics"); err != nil || len(client.Actions()) != 7 {
		t.Errorf("a minute later: %v after %d questions, want it to be asked again", err, len(client.Actions()))
	}
}

func TestAnAPIServerThatWillNotSayIsAskedAgain(t *testing.T) {
	a, client := bench("/metrics")
	client.PrependReactor("create", "tokenreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "tokenreviews"}, "", nil)
	})
	for i := range 2 {
		err := a.May(t.Context(), "known", "/metrics")
		if err == nil || errors.Is(err, web.ErrUnknown) || errors.Is(err, web.ErrForbidden) || !strings.Contains(err.Error(), "system:auth-delegator") {
			t.Errorf("a missing right: %v, want the remedy", err)
		}
		if got := len(client.Actions()); got != i+1 {
			t.Errorf("%d questions, want %d: what was not answered is not known", got, i+1)
		}
	}
}

func TestWhatIsKeptOfStrangersIsBounded(t *testing.T) {
	a, _ := bench()
	for i := range 3 * accessKept {
		_ = a.May(t.Context(), strings.Repeat("x", i%5000), strings.Repeat("/", i/5000))
	}
	if len(a.known) > accessKept {
		t.Errorf("%d answers are kept, want at most %d", len(a.known), accessKept)
	}
}

// TestTokensTravelUnderTLSAlone: with authorization the port speaks TLS, also where no certificate was given.
func TestTokensTravelUnderTLSAlone(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Listener: listener, Authorize: true, Log: slog.New(slog.DiscardHandler)}
	ctx, fail := context.WithCancelCause(t.Context())
	stop, err := Serve(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }), fail)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	plain, err := http.Get("http://" + listener.Addr().String())
	if err == nil {
		defer plain.Body.Close()
		if plain.StatusCode != http.StatusBadRequest {
			t.Errorf("in the clear: %s, want a refusal", plain.Status)
		}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig.InsecureSkipVerify = true //nolint:gosec // the certificate is the process's own
	defer transport.CloseIdleConnections()
	secure, err := (&http.Client{Transport: transport}).Get("https://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer secure.Body.Close()
	if secure.StatusCode != http.StatusOK || ctx.Err() != nil {
		t.Errorf("over TLS: %s, %v", secure.Status, context.Cause(ctx))
	}
}
