package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// The key of the join door is in the vault alone, and on the server once it has fetched it. What up does where the vault has it not:
//
//	there is                                        up
//	the vault, deleted and not purged               recovers it, with its secrets; it purges none
//	the vault, and the key was never stored         makes a new key: the server had none to fetch
//	the vault without the key, or with another      is refused: new machines trust the key that the server may have
//	no vault                                        makes one without the key, and says so

// keeper keeps the key of the join door.
type keeper struct{ *Cluster }

// deletedVault is a vault that was deleted, as Azure keeps it for some days.
type deletedVault struct {
	Properties struct {
		Vault    string            `json:"vaultId"`
		Location string            `json:"location"`
		Tags     map[string]string `json:"tags"`
	} `json:"properties"`
}

// deletedVaults are the cluster's. Who may not look for them is told by the deployment that there is one.
func (c keeper) deletedVaults(ctx context.Context) (all []deletedVault, err error) {
	if c.File.Secrets != clusterfile.KeyVault {
		return nil, nil
	}
	raw, err := c.Cloud.List(ctx, c.subscription()+"/providers/Microsoft.KeyVault/deletedVaults", versionOf["microsoft.keyvault"], nil)
	if cloud.KindOf(err) == cloud.Unauthorized {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, one := range raw {
		var v deletedVault
		if err := json.Unmarshal(one, &v); err != nil {
			return nil, fmt.Errorf("read the deleted vaults: %w", err)
		}
		if (Resource{v.Properties.Vault}).in(c.group(c.File.ResourceGroup)) && v.Properties.Tags[render.ClusterTag] == c.File.Name {
			all = append(all, v)
		}
	}
	return all, nil
}

// bringVault recovers the cluster's vault where it was deleted: a new one of its name is refused, and the key in it may be the only copy.
func (c keeper) bringVault(ctx context.Context) error {
	all, err := c.deletedVaults(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		about := Resource{v.Properties.Vault}
		var of struct {
			Tenant string `json:"tenantId"`
		}
		if _, err := c.Cloud.Get(ctx, c.subscription(), subscriptionsVersion, &of); err != nil {
			return err
		}
		body := map[string]any{"location": v.Properties.Location, "tags": v.Properties.Tags, "properties": map[string]any{
			"createMode": "recover", "tenantId": of.Tenant, "sku": map[string]any{"family": "A", "name": "standard"}, // both must be there, and are not looked at
		}}
		if err := c.Cloud.Put(ctx, about.ID, about.version(), body); err != nil {
			return fmt.Errorf("%s was deleted before and is not recovered (az keyvault recover --name %s does it): %w", about, about.Name(), err)
		}
		c.Say(fmt.Sprintf("%s, which was deleted before, is recovered", about))
	}
	return nil
}

// lookAtVault reads whether a vault has the key, and of which door.
func (c keeper) lookAtVault(ctx context.Context, t *there, vault string) (err error) {
	var secret listed
	t.vault = vault
	t.secret, err = c.Cloud.Get(ctx, vault+"/secrets/"+render.JoinSecret, Resource{vault}.version(), &secret)
	t.stored = secret.Tags[render.JoinTag]
	return err
}

// neverStored says whether the last deployment brought a key that the vault did not take: it failed at the secret, or at a new server
// before it.
func (c keeper) neverStored(ctx context.Context) (bool, error) {
	was, found, err := c.recorded(ctx)
	if err != nil || !found || !was.ended() || was.Properties.State == "Succeeded" {
		return false, err
	}
	if isNew, ok := was.Properties.Parameters[render.ParameterNew].Value.([]any); ok && slices.Contains(isNew, any(render.NewServer)) {
		return true, nil
	}
	steps, err := c.Cloud.List(ctx, c.deployment()+"/operations", deploymentsVersion, nil)
	if err != nil {
		return false, err
	}
	for _, raw := range steps {
		var s step
		if json.Unmarshal(raw, &s) == nil && s.Properties.Target != nil && s.Properties.State != "Succeeded" &&
			strings.HasSuffix(strings.ToLower(s.Properties.Target.ID), "/secrets/"+render.JoinSecret) {
			return true, nil
		}
	}
	return false, nil
}

// door chooses the door of a deployment: the one that machines know already, or a fresh one with its key.
func (c keeper) door(ctx context.Context, now *there, fresh Door, before string) (Door, error) {
	switch {
	case now.fingerprint == "" && now.secret && before != "":
		return Door{Fingerprint: before}, nil // of a deployment that failed: pools that it made go by it
	case now.fingerprint == "":
		return fresh, nil
	case now.secret || c.File.Secrets != clusterfile.KeyVault:
		return Door{Fingerprint: now.fingerprint}, nil
	}
	never, err := c.neverStored(ctx)
	if never {
		return fresh, err
	}
	return Door{Fingerprint: now.fingerprint}, err
}

// tagServer has a server that is there tell the door: a deployment leaves its machine as it is.
func (c keeper) tagServer(ctx context.Context, now *there, door Door) error {
	if now.server == nil || now.fingerprint == door.Fingerprint {
		return nil
	}
	tags := maps.Clone(now.server)
	tags[render.JoinTag] = door.Fingerprint
	if err := c.Cloud.Patch(ctx, c.serverID(), computeVersion, map[string]any{"tags": tags}); err != nil {
		return fmt.Errorf("tag %s of %s is not written: %w", render.JoinTag, Resource{c.serverID()}, err)
	}
	if door.PEM != "" {
		c.Say("the vault has no key of the join door, and a new one is made")
	}
	return nil
}

// differencesOfDoor are what is wrong with the key of a server that fetches it from the vault.
func (c comparison) differencesOfDoor(ctx context.Context, now *there, m memory) ([]difference, error) {
	if c.File.Secrets != clusterfile.KeyVault || now.fingerprint == "" || m.server != nil && m.server.Secrets != clusterfile.KeyVault {
		return nil, nil
	}
	const onServer = "/etc/sluice/join/tls.pem"
	secret := Resource{now.vault + "/secrets/" + render.JoinSecret}
	switch {
	case now.vault == "":
		all, err := keeper(c).deletedVaults(ctx)
		if len(all) > 0 {
			of := Resource{all[0].Properties.Vault}
			return []difference{{of: of, verb: verbCreate, says: of.String() + " was deleted: up recovers it with the key of the join door"}}, err
		}
		return []difference{{of: Resource{c.serverID()}, verb: verbStays, says: "the vault with the key of the join door is gone: up makes it without the key"}}, err
	case now.secret && now.stored != "" && now.stored != now.fingerprint:
		says := fmt.Sprintf("the vault has the key of another join door (%.12s) than the server's (%.12s)", now.stored, now.fingerprint)
		return []difference{{secret, verbRefused, says, "set " + secret.String() + " to " + onServer + " of the server"}}, nil
	case now.secret:
		return nil, nil
	}
	never, err := keeper(c).neverStored(ctx)
	if never || err != nil {
		return []difference{{of: secret, verb: verbCreate, says: "the key of the join door was never stored: up makes a new one"}}, err
	}
	vault := Resource{now.vault}.Name()
	return []difference{{
		secret, verbRefused, "vault " + vault + " has no key of the join door: secret " + render.JoinSecret + " is missing",
		fmt.Sprintf("az keyvault secret recover --vault-name %s --name %s, or set it to %s of the server; where neither is there, remove the server's tag %s: up makes a new key",
			vault, render.JoinSecret, onServer, render.JoinTag),
	}}, nil
}
