package publish

// volume is where a file is, as far as that decides whether it can be moved from
// one directory to another. Its zero value is for where the system does not say.
type volume struct{ device, mount uint64 }

func (v volume) isKnown() bool { return v != volume{} }
