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

func (s *Server) compute() compute {
	return compute{
		store: &s.store, seed: s.Seed, delays: s.delays(), network: s.network(), disks: s.disks(), events: s.events(), capacity: s.capacity(),
		faults: &s.faults, beliefs: s.Beliefs, awaits: s.AwaitReports,
	}
}
