package azure

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
)

// forced is a kind whose machines Azure deletes without shutting them down first.
type forced struct {
	kind
	sets *scaleSets
}

// isolated are the sizes that have a host of their own, of which Azure does not force deletions.
var isolated = []string{
	"standard_e80ids_v4", "standard_e80is_v4", "standard_e104i_v5", "standard_e104is_v5", "standard_e104id_v5", "standard_e104ids_v5",
	"standard_m192is_v2", "standard_m192ims_v2", "standard_m192ids_v2", "standard_m192idms_v2", "standard_f72s_v2", "standard_m128ms",
}

// forcible says whether Azure can delete machines of the scale set by force: those on dedicated hosts it cannot.
func forcible(set *armcompute.VirtualMachineScaleSet) bool {
	size, hosted := "", set.Properties != nil && set.Properties.HostGroup != nil
	if set.SKU != nil {
		size = strings.ToLower(val(set.SKU.Name))
	}
	return !hosted && !slices.Contains(isolated, size)
}

// remove deletes by force, and without it when Azure does not allow that.
func (f *forced) remove(ctx context.Context, name, version string, ids []string) (*accepted, error) {
	a, err := f.sets.removeBy(ctx, name, ids, true)
	var refused *azcore.ResponseError
	if errors.As(err, &refused) && refused.StatusCode == http.StatusConflict && refused.ErrorCode == "OperationNotAllowed" {
		return f.kind.remove(ctx, name, version, ids)
	}
	return a, err
}
