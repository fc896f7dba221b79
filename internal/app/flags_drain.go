package app

import "sluice.dev/sluice/policy"

// bands is the flag --drain-priority-config.
type bands struct{ to *[]policy.Band }

func (bands) Type() string { return "bands" }

func (b bands) String() string {
	if b.to == nil {
		return ""
	}
	return policy.PrintBands(*b.to)
}

func (b bands) Set(value string) error {
	read, err := policy.ParseBands(value)
	if err != nil {
		return err
	}
	*b.to = read
	return nil
}

func (bands) fault(value string) error {
	_, err := policy.ParseBands(value)
	return err
}

// overdue is the flag --after-drain-time.
type overdue struct{ to *policy.Overdue }

func (overdue) Type() string { return "string" }

func (o overdue) String() string {
	if o.to == nil {
		return ""
	}
	return string(*o.to)
}

func (o overdue) Set(value string) error {
	read, err := policy.ParseOverdue(value)
	if err != nil {
		return err
	}
	*o.to = read
	return nil
}

func (overdue) fault(value string) error {
	_, err := policy.ParseOverdue(value)
	return err
}
