package policy

// Requests says whether ProvisioningRequests are answered.
type Requests struct {
	Enabled  bool   `json:"enabled,omitempty"`  // --enable-provisioning-requests
	Instance string `json:"instance,omitempty"` // of the class check-capacity only those that name it, or none for "" (--check-capacity-processor-instance)
}

// Buffers says what is done about CapacityBuffers. With Keep alone the status that somebody else has written is believed.
type Buffers struct {
	Translate bool `json:"translate,omitempty"` // work out how many pods like which each is for (--capacity-buffer-controller-enabled)
	Keep      bool `json:"keep,omitempty"`      // keep room for them (--capacity-buffer-pod-injection-enabled)
}
