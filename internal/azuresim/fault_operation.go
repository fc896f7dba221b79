package azuresim

import "time"

// fate is what a fault makes of an operation, whatever becomes of the machines.
type fate struct {
	at       time.Time    // it ends then; zero: as it would
	failure  *errorDetail // with this error
	canceled bool
	unknown  bool // nobody has heard of it: polls are answered 404
}

// decide settles the fate of an operation that a request has begun.
func (f *Fault) decide(o *operation, now time.Time) {
	switch f.Operation {
	case "Endless":
		o.endless = true
	case "NotFound":
		o.fate.unknown = true
	case "Canceled":
		o.fate = fate{at: now.Add(f.After), canceled: true, failure: f.operationError("OperationPreempted")}
	case "Failed":
		o.fate = fate{at: now.Add(f.After), failure: f.operationError("InternalExecutionError")}
	}
}

// operationError is the error of an operation: one of its own, or the list of what
// befell its instances.
func (f *Fault) operationError(code string) *errorDetail {
	if f.Code != "" {
		code = f.Code
	}
	e := errorDetail{Code: code, Message: f.Message, Target: f.Target}
	if e.Message == "" {
		e.Message = usualMessage(code)
	}
	for _, d := range f.Details {
		if d.Message == "" {
			d.Message = usualMessage(d.Code)
		}
		e.Details = append(e.Details, errorDetail{Code: d.Code, Message: d.Message, Target: d.Target})
	}
	return &e
}

// failedStatus is the status of an operation that ended and did not succeed.
func (o *operation) failedStatus() string {
	switch {
	case o.becomes != nil:
		return o.becomes.failedStatus()
	case o.fate.canceled:
		return "Canceled"
	}
	return "Failed"
}
