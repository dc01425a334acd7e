package link

// Settings tells whether the settings of a session are still those with which the connector opens connections. Outside transactions, the
// same statement does the same in any two sessions whose are. They never become so again once a statement has changed one: that another
// statement has changed it back is not noticed. What a hook of the connector may have changed is compared.
type Settings struct {
	rare  *Rare
	state settings
}

type settings byte

const (
	settingsAsOpened settings = iota
	settingsUnknown           // a hook may have changed them since they were compared
	settingsOther             // a hook has
	settingsChanged           // a statement may have, or code with the parent's connection
)

func (o *Settings) become(s settings) {
	o.state = s
	o.rare.Put(ChangedSettings, s != settingsAsOpened)
}

// Change notes that a statement may have changed them, or that code has been given the parent's connection.
func (o *Settings) Change() { o.become(settingsChanged) }

// Hook notes that a hook of the connector may have changed them.
func (o *Settings) Hook() {
	if o.state != settingsChanged {
		o.become(settingsUnknown)
	}
}

// Compare notes whether they are those of the connector's first session.
func (o *Settings) Compare(same bool) {
	switch {
	case o.state != settingsUnknown:
	case same:
		o.become(settingsAsOpened)
	default:
		o.become(settingsOther)
	}
}
