package azure

import (
	"context"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// collect reads a collection at Resource Manager that the SDK's clients do not know, from a whole address on. After an error it returns what
// came before it as well.
func collect[T any](ctx context.Context, pipeline runtime.Pipeline, address string) ([]T, error) {
	var all []T
	for pages := 0; address != ""; pages++ {
		if pages == maxPages {
			return all, endless(pages)
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
