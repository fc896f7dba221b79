package doctor

// The faults that sluice doctor can name.
const (
	ConfigurationRefused = "ConfigurationRefused"
	ConfigurationNoted   = "ConfigurationNoted"
	NothingNamed         = "NothingNamed"
	ClusterUnnamed       = "ClusterUnnamed"
	MetadataSilent       = "MetadataSilent"
	CloudUnknown         = "CloudUnknown"
	EndpointUnreachable  = "EndpointUnreachable"
	TokenRefused         = "TokenRefused"
	TokenThrottled       = "TokenThrottled"
	ClockSkewed          = "ClockSkewed"
	ClockDrifts          = "ClockDrifts"
	RightMissing         = "RightMissing"
	RightsUnknown        = "RightsUnknown"
	GroupsUnlisted       = "GroupsUnlisted"
	NoGroups             = "NoGroups"
	GroupUnreadable      = "GroupUnreadable"
	GroupIncomplete      = "GroupIncomplete"
	GroupWithoutTemplate = "GroupWithoutTemplate"
	GroupControlPlane    = "GroupControlPlane"
	GroupBelowMin        = "GroupBelowMin"
	GroupAboveMax        = "GroupAboveMax"
	GroupFailed          = "GroupFailed"
	GroupPaused          = "GroupPaused"
	GroupOtherHands      = "GroupOtherHands"
	GroupStranger        = "GroupStranger"
	SizeUnpriced         = "SizeUnpriced"
	TemplateDrifts       = "TemplateDrifts"
	SizesUnlabelled      = "SizesUnlabelled"
	SetLeftOut           = "SetLeftOut"
	GroupNoticed         = "GroupNoticed"
	ClusterUnreachable   = "ClusterUnreachable"
	AccountNotAssumed    = "AccountNotAssumed"
	KubeRightMissing     = "KubeRightMissing"
	KubeRightsUnknown    = "KubeRightsUnknown"
	KubeNewer            = "KubeNewer"
	APIUnread            = "APIUnread"
	NodeAmbiguous        = "NodeAmbiguous"
	MachineWithoutNode   = "MachineWithoutNode"
	MachineStopped       = "MachineStopped"
	NodeWithoutMachine   = "NodeWithoutMachine"
	NodesUnmatched       = "NodesUnmatched"
	NodeTaintStays       = "NodeTaintStays"
	NodeUnrepaired       = "NodeUnrepaired"
)

// Codes are all of them, in the order of [Checks].
var Codes = []string{
	ConfigurationRefused, ConfigurationNoted, NothingNamed, ClusterUnnamed, MetadataSilent, CloudUnknown, EndpointUnreachable, TokenRefused, TokenThrottled, RightMissing, RightsUnknown,
	ClusterUnreachable, AccountNotAssumed, KubeRightMissing, KubeRightsUnknown, KubeNewer, APIUnread, ClockSkewed, ClockDrifts, GroupsUnlisted, NoGroups, GroupUnreadable, GroupIncomplete, GroupWithoutTemplate,
	GroupControlPlane, GroupBelowMin, GroupAboveMax, GroupFailed, GroupPaused, GroupOtherHands, GroupStranger, SizeUnpriced, TemplateDrifts, SizesUnlabelled, SetLeftOut, GroupNoticed,
	NodeAmbiguous, MachineWithoutNode, MachineStopped, NodeWithoutMachine, NodesUnmatched, NodeTaintStays, NodeUnrepaired,
}
