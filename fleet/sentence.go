package fleet

import (
	"cmp"
	"fmt"
	"time"
)

// Acknowledge is the command by which a person says that he knows what a group has lost.
func Acknowledge(id GroupID) string { return "sluice acknowledge " + string(id) }

// Sentence is why the ledger of machines forbids a write to a group, in one sentence with the numbers compared.
func (r Refusal) Sentence(id GroupID) string {
	until := ""
	if r.Until != 0 {
		until = "; not before " + r.Until.Time().Truncate(time.Second).Format(time.RFC3339)
	}
	switch r.Code {
	case LostTogether:
		return fmt.Sprintf("%d nodes of group %s were lost together (limit %d)%s; %s ends that", r.Have, id, r.Limit, until, Acknowledge(id))
	case NodesHidden:
		return fmt.Sprintf("%d of %d Node objects of group %s are gone and their machines run; %s ends that", r.Have, r.Limit, id, Acknowledge(id))
	case NotLostYet:
		return fmt.Sprintf("machine %s of group %s is lost and may still work%s; %s ends that", r.machine(), id, until, Acknowledge(id))
	case OverBudget:
		return fmt.Sprintf("%d machines of group %s would leave within --emptied-window (limit %d, --max-emptied-percentage)%s", r.Have, id, r.Limit, until)
	case MemoryShort:
		return fmt.Sprintf("what left group %s before this process began is not known%s", id, until)
	case IdleTogether:
		return fmt.Sprintf("%d machines of group %s would leave after their pods were taken away together (limit %d)", r.Have, id, r.Limit)
	case WritePending:
		return fmt.Sprintf("what machine %s of group %s was asked to do before does not show yet", r.machine(), id)
	case NotListed:
		return fmt.Sprintf("machine %s is not in a fresh list of group %s", r.machine(), id)
	case OtherMachine:
		return fmt.Sprintf("the instance id %s of group %s belongs to another machine now", r.machine(), id)
	case IsLeaving:
		return fmt.Sprintf("machine %s of group %s is being deleted, or is gone", r.machine(), id)
	case IsHeld:
		return fmt.Sprintf("machine %s of group %s is protected in the cloud", r.machine(), id)
	case Ambiguous:
		return fmt.Sprintf("more than one machine could be the node of machine %s of group %s", r.machine(), id)
	case StillComing:
		return fmt.Sprintf("machine %s of group %s is still coming%s", r.machine(), id, until)
	case CapacityShort:
		return fmt.Sprintf("group %s says capacity %d but has %d machines", id, r.Have, r.Limit)
	case BelowMin:
		if r.Property == "S-06" {
			return fmt.Sprintf("group %s would keep %d machines (min %d)", id, r.Have, r.Limit)
		}
		return fmt.Sprintf("group %s would keep %d Ready nodes (min %d)", id, r.Have, r.Limit)
	case BelowMachines:
		return fmt.Sprintf("a request for %d machines could delete some of group %s, which may have %d; Azure's answers do not show all of them", r.Have, id, r.Limit)
	case AboveMax:
		return fmt.Sprintf("group %s would have %d machines (max %d)", id, r.Have, r.Limit)
	case TooManyStrays:
		return fmt.Sprintf("%d machines of group %s run and are no nodes (limit %d)", r.Have, id, r.Limit)
	case NotOff:
		return fmt.Sprintf("machine %s of group %s is not switched off for certain", r.machine(), id)
	case ReadMissing:
		return fmt.Sprintf("Azure has not answered about group %s since this process began", id)
	case NodesMissing:
		return fmt.Sprintf("the nodes of group %s are not listed yet", id)
	case ReadPartial:
		return fmt.Sprintf("Azure's last answer about group %s is not whole", id)
	case ReadOld:
		return fmt.Sprintf("Azure's last answer about group %s is too old", id)
	case ReadBeforeWrite:
		return fmt.Sprintf("Azure's last answer about group %s is from before the last write to it", id)
	case MachinesHidden:
		return fmt.Sprintf("Azure's list lacks %d of %d machines of group %s, and nobody saw them leave", r.Have, r.Limit, id)
	}
	return fmt.Sprintf("machine %s of group %s may not go (%s): %d, limit %d%s", r.machine(), id, r.Code, r.Have, r.Limit, until)
}

// machine is how people call the machine.
func (r Refusal) machine() string { return cmp.Or(r.ID, string(r.UID)) }
