package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// links are those to further pages of a list that were followed so far.
type links map[string]bool

// maxPages bounds a list; a page has at least dozens of items and a scale set at most 1000 machines.
const maxPages = 200

// follow notes a link, "" for none. It fails at the second sight of one: such a list has no end, and nobody knows what it lacks.
func (l links) follow(link string) error {
	switch {
	case link == "":
	case l[link]:
		return errors.New("Azure's answer links to a page of the list that was read already: the list counts as incomplete")
	case len(l) == maxPages:
		return fmt.Errorf("Azure's answer has more than %d pages: the list counts as incomplete", maxPages)
	default:
		l[link] = true
	}
	return nil
}

// collect reads a collection at Resource Manager that the SDK's clients do not know, from a whole address on. After an error it returns what
// came before it as well.
func collect[T any](ctx context.Context, pipeline runtime.Pipeline, address string) ([]T, error) {
	var all []T
	links := links{}
	for address != "" {
		if err := links.follow(address); err != nil {
			return all, err
		}
		req, err := runtime.NewRequest(ctx, http.MethodGet, address)
		if err != nil {
			return all, err
		}
		req.Raw().Header.Set("Accept", "application/json")
		resp, err := pipeline.Do(req) //nolint:bodyclose // the pipeline has read and closed it
		if err != nil {
			return all, err
		}
		if resp.StatusCode != http.StatusOK {
			return all, runtime.NewResponseError(resp)
		}
		var page struct {
			Value []T    `json:"value"`
			Next  string `json:"nextLink"`
		}
		if err := runtime.UnmarshalAsJSON(resp, &page); err != nil {
			return all, err
		}
		all = append(all, page.Value...)
		address = page.Next
	}
	return all, nil
}
