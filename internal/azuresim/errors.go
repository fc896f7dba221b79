package azuresim

import (
	"fmt"
	"net/http"
)

// errorBody is the envelope of every Resource Manager error.
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Target  string        `json:"target,omitempty"`
	Details []errorDetail `json:"details,omitempty"`
}

// problem is an error answer.
type problem struct {
	status int
	header http.Header
	detail errorDetail
	bare   bool // the compute provider's throttling errors come without the envelope
}

func (p *problem) answer() answer {
	if p.bare {
		return answer{status: p.status, header: p.header, body: p.detail}
	}
	return answer{status: p.status, header: p.header, body: errorBody{p.detail}}
}

func fail(status int, code, format string, args ...any) *problem {
	return &problem{status: status, detail: errorDetail{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// bad is a 400.
func bad(code, format string, args ...any) *problem {
	return fail(http.StatusBadRequest, code, format, args...)
}

func (p *problem) target(t string) *problem {
	p.detail.Target = t
	return p
}

func resourceNotFound(kind, name, group string) *problem {
	return fail(http.StatusNotFound, "ResourceNotFound",
		"The Resource '%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix",
		kind, name, group)
}

func instanceNotFound(ss *scaleSet, id string) *problem {
	return fail(http.StatusNotFound, "NotFound",
		"The entity was not found: instance '%s' of Virtual Machine Scale Set '%s'.", id, ss.name)
}

func staleInstance(id string) *problem {
	return bad("InvalidParameter",
		"The provided instanceId %s is not an active Virtual Machine Scale Set VM instanceId.", id).target("instanceIds")
}

func concurrentRequest() *problem {
	return fail(http.StatusConflict, "Conflict",
		"The request failed due to conflict with a concurrent request. To resolve it, please refer to https://aka.ms/activitylog to get more details on the conflicting requests.")
}

func etagMismatch(given, current string) *problem {
	return fail(http.StatusPreconditionFailed, "PreconditionFailed",
		"Etag provided in if-match header %s does not match etag %s of resource.", given, current)
}

func methodNotAllowed(method string) *problem {
	return fail(http.StatusMethodNotAllowed, "HttpMethodNotAllowed",
		"The requested resource does not support http method '%s'.", method)
}
