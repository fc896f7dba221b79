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

// compute is made of what it, and what works for it, need of the server.
func (s *Server) compute() compute {
	st, d := &s.store, delays{s.Seed, s.Boot, s.Delete}
	return compute{
		store: st, seed: s.Seed, delays: d, faults: &s.faults, beliefs: s.Beliefs, awaits: s.AwaitReports,
		network:  network{st, s.Seed, s.SubnetAddresses, s.Loopback},
		disks:    disks{st, s.Seed, s.DetachLag},
		events:   events{st, s.Seed, d},
		capacity: capacity{st, s.fullZones, s.SpotCapacity, s.Quota},
	}
}
