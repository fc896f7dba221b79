package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice.dev/sluice/cloud"
)

const (
	mostAsked   = 4               // times that a request is sent of which the answer may be another a moment later
	askAgain    = 5 * time.Second // where the answer names no time
	mostWaited  = 5 * time.Minute // for one request to be sent: who names a longer time is an error
	toldHeldFor = time.Minute     // one line about requests that are held back does for all of this time
)

// patiently has a request made until it has an answer that stays: by what the error says it is held back, or made again, or over. A write
// whose outcome is not known is never made again.
//
//	the request                            it
//	was held back by sluice or by Azure    waits for its time, whatever it is
//	is a read, a question or a deletion    is made again, a bounded number of times
//	is another write                       ends with its error
func (r *Resources) patiently(ctx context.Context, method, doing, path string, do func() error) error {
	for sent := 0; ; {
		err := do()
		if err == nil || r.Tell == nil || ctx.Err() != nil {
			return err
		}
		e := r.client.wrap("", doing, err)
		wait := max(e.RetryAfter, time.Second)
		var shut *shutError
		held := errors.As(err, &shut)
		if !held {
			sent++
			if wait = max(e.RetryAfter, askAgain); sent == mostAsked || !repeatable(method, path) || !passes(e, err) {
				return err
			}
		}
		if wait > mostWaited {
			return err
		}
		if now := r.client.now(); !held {
			r.Tell(fmt.Sprintf("%s; it is asked again in %s", e.Error(), wait.Round(time.Second)))
		} else if now.Sub(r.toldHeld) >= toldHeldFor {
			r.toldHeld = now
			r.Tell(fmt.Sprintf("%s; it is waited for", shut.Error()))
		}
		if err := r.Wait(ctx, wait); err != nil {
			return err
		}
	}
}

// repeatable says whether a request may be made twice without a harm.
func repeatable(method, path string) bool {
	switch method {
	case http.MethodGet, http.MethodDelete:
		return true
	case http.MethodPost:
		return strings.HasSuffix(path, "/whatIf") || strings.HasSuffix(path, "/validate") || strings.HasSuffix(path, "/exportTemplate")
	}
	return false
}

// passes says whether another answer may come a moment later. That nobody is reached at all has another cause.
func passes(e *cloud.Error, err error) bool {
	var refused *azcore.ResponseError
	return e.Kind == cloud.Throttled || e.Kind == cloud.Transient && (errors.As(err, &refused) || e.Code == connectionLost || e.Code == noAnswer)
}
