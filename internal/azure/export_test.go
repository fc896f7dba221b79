package azure

// AwaitErrands returns when every question that nobody waits for has been answered.
func (p *Provider) AwaitErrands() { p.background.Wait() }
