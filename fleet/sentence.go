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
	case BelowMin:
		return fmt.Sprintf("group %s would keep %d Ready nodes (min %d)", id, r.Have, r.Limit)
	case MachinesHidden:
		return fmt.Sprintf("Azure's list lacks %d of %d machines of group %s, and nobody saw them leave", r.Have, r.Limit, id)
	}
	return fmt.Sprintf("machine %s of group %s may not go (%s): %d, limit %d%s", r.machine(), id, r.Code, r.Have, r.Limit, until)
}

// machine is how people call the machine.
func (r Refusal) machine() string { return cmp.Or(r.ID, string(r.UID)) }
