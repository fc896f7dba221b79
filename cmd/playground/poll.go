package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pollEvery is how often a condition is looked at.
const pollEvery = 20 * time.Millisecond

// errPatience says that something did not happen in time.
var errPatience = errors.New("it did not happen in time")

// poll looks at a condition until it holds. When patience is over the error is [errPatience] with the condition's own last error; when
// ctx is done it is the cause of that.
func poll(ctx context.Context, patience time.Duration, holds func() (bool, error)) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			if err != nil {
				return fmt.Errorf("%w (%s): %w", errPatience, patience, err)
			}
			return fmt.Errorf("%w (%s)", errPatience, patience)
		case <-ticker.C:
		}
	}
}
