package kubesim

import (
	"fmt"
	"mime"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// servePatch applies a JSON patch, a merge patch or a strategic merge patch. A
// patch that names a resourceVersion or a uid is a precondition on it.
func (s *apiServer) servePatch(q *call) (answer, error) {
	old, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	original := show(http.StatusOK, q.kind, old).body
	patched, err := q.applyPatch(original)
	if err != nil {
		return answer{}, err
	}
	obj, err := q.decode(patched)
	if err != nil {
		return answer{}, err
	}
	if obj.GetName() != q.name {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), q.name))
	}
	return s.serveNewVersion(q, old, obj)
}

func (q *call) applyPatch(original []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(q.contentType)
	if err != nil {
		return nil, unsupportedMedia(q.contentType)
	}
	switch types.PatchType(media) {
	case types.JSONPatchType:
		patch, err := jsonpatch.DecodePatch(q.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		patched, err := patch.Apply(original)
		if err != nil {
			return nil, unprocessable(q, err)
		}
		return patched, nil
	case types.MergePatchType:
		patched, err := jsonpatch.MergePatch(original, q.body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	case types.StrategicMergePatchType:
		if q.kind.custom() { // whose lists have no keys that a patch could go by
			return nil, unsupportedMedia(media)
		}
		patched, err := strategicpatch.StrategicMergePatch(original, q.body, q.kind.prototype)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return patched, nil
	default:
		return nil, unsupportedMedia(media)
	}
}

// unprocessable is what a JSON patch that does not apply gets, a failed test
// among them.
func unprocessable(q *call, err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", q.kind.groupResource(), q.name, err.Error(), 0, false)
}

func unsupportedMedia(media string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s, %s (got %q)",
			types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, media),
	}}
}
