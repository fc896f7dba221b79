package azuresim

// compute makes machines, stops and starts them, and deletes them, as the compute provider does.
type compute struct {
	store    *store
	seed     uint64
	delays   delays
	network  network
	disks    disks
	events   events
	capacity capacity
	faults   *faults
	beliefs  Beliefs
	awaits   bool // Server.AwaitReports
}

// compute is made of what it needs of the server, with all that it has work for it.
func (s *Server) compute() compute {
	st, lasts := &s.store, delays{s.Seed, s.Boot, s.Delete}
	return compute{
		store: st, seed: s.Seed, delays: lasts, faults: &s.faults, beliefs: s.Beliefs, awaits: s.AwaitReports,
		network:  network{st, s.Seed, s.SubnetAddresses, s.Loopback},
		disks:    disks{st, s.Seed, s.DetachLag},
		events:   events{st, s.Seed, lasts},
		capacity: capacity{st, s.fullZones, s.SpotCapacity, s.Quota},
	}
}
